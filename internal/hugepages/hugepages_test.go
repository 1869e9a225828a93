package hugepages

import "testing"

func TestWhole(t *testing.T) {
	for _, c := range []struct{ from, to, start, length uintptr }{
		{0, size, 0, size},
		{1, size, size, 0},
		{1, 3*size + 5, size, 2 * size},
		{5 * size, 7*size - 1, 5 * size, size},
		{10, 20, size, 0},
	} {
		if start, length := whole(c.from, c.to); length != c.length || length > 0 && start != c.start {
			t.Errorf("%#x to %#x: %#x bytes from %#x, want %#x from %#x", c.from, c.to, length, start, c.length, c.start)
		}
	}
}

package schedule

import (
	"testing"
	"unsafe"
)

// A circulant's tables are one line of a processor's cache.
func TestCirculantLayout(t *testing.T) {
	if size := unsafe.Sizeof(circulant{}); size > 64 {
		t.Errorf("a circulant has %d bytes", size)
	}
}

// skip computes what skips has as a table.
func TestCirculantSkip(t *testing.T) {
	for _, members := range []int{2, 3, 17, 1000, 1<<19 + 1, MaxMembers} {
		table := skips(members)
		c := circulant{members: int32(members), q: int8(len(table) - 1)}
		for i, want := range table {
			if got := c.skip(i); int(got) != want {
				t.Errorf("of %d members, skip %d is %d, want %d", members, i, got, want)
			}
		}
	}
}

package cast

import (
	"testing"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Every byte of the contents counts, and so do its place and its message.
func TestContents(t *testing.T) {
	for size := range 70 {
		b := make([]byte, size)
		fill(b, mix(1, 2))
		if err := check(b, mix(1, 2)); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		for i := range b {
			b[i] ^= 1
			if check(b, mix(1, 2)) == nil {
				t.Fatalf("%d bytes: nobody notices that byte %d is wrong", size, i)
			}
			b[i] ^= 1
		}
		if size >= 8 && (check(b, mix(1, 3)) == nil || check(b, mix(2, 2)) == nil || check(b[8:], mix(1, 2)) == nil && size >= 16) {
			t.Fatalf("%d bytes: another message, or another place, looks the same", size)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	data := make([]byte, 1<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		fill(data, 7)
	}
}

func BenchmarkCheck(b *testing.B) {
	data := make([]byte, 1<<20)
	fill(data, 7)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := check(data, 7); err != nil {
			b.Fatal(err)
		}
	}
}

package prefetch

import (
	"testing"
	"unsafe"
)

// Whatever is asked for, nothing changes and nothing fails.
func TestMemory(t *testing.T) {
	b := make([]byte, 1000)
	for i := range b {
		b[i] = byte(i)
	}
	for _, from := range []int{0, 1, 63, 64, 500} {
		for _, size := range []uintptr{0, 1, 64, 65, 400} {
			Memory(unsafe.Pointer(&b[from]), size)
		}
	}
	Memory(nil, 0)
	Memory(nil, 200)
	for i := range b {
		if b[i] != byte(i) {
			t.Fatalf("byte %d is %d", i, b[i])
		}
	}
}

func BenchmarkMemory(b *testing.B) {
	var lines [512]byte
	for b.Loop() {
		Memory(unsafe.Pointer(&lines), unsafe.Sizeof(lines))
	}
}

package target

import (
	"os"
	"path/filepath"
	"testing"
)

const benchBlock = 1 << 20

// benchDir is in memory where that can be.
func benchDir(b *testing.B) string {
	dir, err := os.MkdirTemp("/dev/shm", "target-bench-")
	if err != nil {
		return b.TempDir()
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// BenchmarkWrite writes the blocks of a file, to be compared with BenchmarkPwrite.
func BenchmarkWrite(b *testing.B) {
	p := pack(b, file("f", make([]byte, 64*benchBlock)))
	r, err := OpenRoot(benchDir(b))
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	o := p.order(".")
	o.Block = benchBlock
	b.SetBytes(int64(len(p.content)))
	for b.Loop() {
		if _, err := p.deliver(r, o); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		os.Remove(filepath.Join(r.dir, "f"))
		b.StartTimer()
	}
}

// BenchmarkPwrite writes the same with nothing around it.
func BenchmarkPwrite(b *testing.B) {
	data := make([]byte, 64*benchBlock)
	path := filepath.Join(benchDir(b), "f")
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		for at := 0; at < len(data); at += benchBlock {
			f.WriteAt(data[at:at+benchBlock], int64(at))
		}
		f.Close()
		b.StopTimer()
		os.Remove(path)
		b.StartTimer()
	}
}

package source_test

import (
	"testing"

	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/source"
)

// BenchmarkFill reads, hashes and seals a large file that is in memory.
func BenchmarkFill(b *testing.B) {
	path := quick(b) + "/file"
	write(b, path, pattern(64<<20))
	s := scan(b, path)
	for _, size := range []int{64 << 10, 256 << 10, 1 << 20} {
		l := manifest.NewLayout(manifest.ContentStream, s.Summary().Content, size)
		b.Run(sizeName(size), func(b *testing.B) { fillAll(b, s, l) })
	}
}

func sizeName(size int) string {
	return map[int]string{64 << 10: "64KiB", 256 << 10: "256KiB", 1 << 20: "1MiB"}[size]
}

func fillAll(b *testing.B, s *source.Source, l manifest.Layout) {
	seal, _ := signer()
	into := memory(l, 0)
	b.SetBytes(int64(l.Size))
	for b.Loop() {
		h := source.NewHasher(s, seal, l)
		for page := range l.Pages() {
			if _, err := h.Fill(page, into); err != nil {
				b.Fatal(err)
			}
		}
	}
}

package manifest

import (
	"bytes"
	"fmt"
	"testing"
)

// million is a manifest of a million files in a thousand directories.
func million(b *testing.B) []byte {
	var out bytes.Buffer
	w := NewWriter(&out)
	add := func(e Entry) {
		if err := w.Add(&e); err != nil {
			b.Fatal(err)
		}
	}
	for d := range 1000 {
		dir := fmt.Sprintf("project/directory-%04d", d)
		if d == 0 {
			add(Entry{Path: "project", Kind: Directory, Mode: 0o755, ModTime: 1e18})
		}
		add(Entry{Path: dir, Kind: Directory, Mode: 0o755, ModTime: 1e18})
		for i := range 1000 {
			add(Entry{Path: fmt.Sprintf("%s/file-%06d.dat", dir, i), Kind: File, Mode: 0o644, ModTime: 1e18 + int64(i)*1e9, Size: 5000})
		}
	}
	if _, err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

func BenchmarkOpenMillion(b *testing.B) {
	m := million(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(m)))
	for b.Loop() {
		x, _, err := Open(bytes.NewReader(m), int64(len(m)))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(x.places)*24), "index-bytes")
	}
}

func BenchmarkPieces(b *testing.B) {
	m := million(b)
	x, s, err := Open(bytes.NewReader(m), int64(len(m)))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for at := uint64(0); b.Loop(); at = (at + 64<<10*1001) % (s.Content - 64<<10) {
		if err := x.Pieces(at, 64<<10, func(Piece) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTakePage(b *testing.B) {
	s, v := pair(1)
	l := NewLayout(ContentStream, 1<<20, 64<<10)
	pages, _ := sealed(s, l)
	table := NewPages(l, v)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewPages(l, v).Take(0, pages[0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			if _, err := table.Take(0, pages[0]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// written is a manifest of these entries.
func written(t rapid.TB, entries ...Entry) ([]byte, Summary) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	for i := range entries {
		if err := w.Add(&entries[i]); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), s
}

func opened(t rapid.TB, b []byte) (*Index, Summary) {
	t.Helper()
	x, s, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return x, s
}

// all is a copy of all entries, and where their bytes begin.
func all(t rapid.TB, x *Index) (entries []Entry, at []uint64) {
	t.Helper()
	err := x.Entries(func(number, start uint64, e *Entry) error {
		if number != uint64(len(entries)) {
			t.Fatalf("entry %d has number %d", len(entries), number)
		}
		kept := *e
		kept.Extents = slices.Clone(e.Extents)
		entries, at = append(entries, kept), append(at, start)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries, at
}

// walk draws a tree in the order of a walk, below a path that ends in a slash or is empty.
func walk(t *rapid.T, below string, depth int) (entries []Entry) {
	for i := range rapid.IntRange(0, 6).Draw(t, "entries") {
		name := rapid.StringMatching(`[a-z\xff\n ]{0,5}`).Draw(t, "name")
		e := entryOf(t, fmt.Sprintf("%s%d%s", below, i, name))
		entries = append(entries, e)
		if e.Kind == Directory && depth > 0 {
			entries = append(entries, walk(t, e.Path+"/", depth-1)...)
		}
	}
	return entries
}

func entryOf(t *rapid.T, path string) Entry {
	e := Entry{
		Path: path, Kind: rapid.SampledFrom([]Kind{File, File, Directory, Symlink, Hardlink}).Draw(t, "kind"),
		Mode: rapid.SampledFrom([]uint32{0o644, 0o7777}).Draw(t, "mode"), UID: rapid.Uint32().Draw(t, "owner"),
		ModTime: rapid.Int64().Draw(t, "time"),
	}
	switch e.Kind {
	case File:
		e.Size = rapid.Uint64Range(0, 100).Draw(t, "size")
		if rapid.Bool().Draw(t, "sparse") {
			e.Extents = extentsOf(t, e.Size)
		}
	case Symlink:
		e.Link = "../" + path
	case Hardlink:
		e.Link = path + "x"
	}
	return e
}

func extentsOf(t *rapid.T, size uint64) []Extent {
	extents := []Extent{}
	for at := uint64(0); at < size; {
		gap, length := rapid.Uint64Range(0, size).Draw(t, "gap"), rapid.Uint64Range(1, size).Draw(t, "length")
		if at+gap+length > size {
			break
		}
		extents = append(extents, Extent{at + gap, length})
		at += gap + length
	}
	return extents
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := walk(t, "", 3)
		b, want := written(t, entries...)
		x, got := opened(t, b)
		if !got.Equal(&want) || got.Hash != HashOf(b) || got.Size != uint64(len(b)) {
			t.Fatalf("summary %+v, want %+v", got, want)
		}
		back, at := all(t, x)
		if len(back) != len(entries) || len(back) > 0 && !reflect.DeepEqual(back, entries) {
			t.Fatalf("read %+v, want %+v", back, entries)
		}
		start := uint64(0)
		for i := range back {
			if at[i] != start {
				t.Fatalf("%q begins at %d, want %d", back[i].Path, at[i], start)
			}
			start += back[i].Content()
		}
	})
}

// Every byte of the content belongs to one byte of one file, and pieces of any window say which.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := walk(t, "", 2)
		b, s := written(t, entries...)
		x, _ := opened(t, b)
		type byteOf struct{ number, at uint64 }
		var want []byteOf
		for number, e := range entries {
			for _, extent := range dataOf(&e) {
				for i := range extent.Length {
					want = append(want, byteOf{uint64(number), extent.Offset + i})
				}
			}
		}
		offset := rapid.Uint64Range(0, s.Content).Draw(t, "offset")
		length := rapid.Uint64Range(0, s.Content-offset).Draw(t, "length")
		var got []byteOf
		err := x.Pieces(offset, length, func(p Piece) error {
			if p.Entry.Path != entries[p.Number].Path || p.Start != offset+uint64(len(got)) || p.Length == 0 {
				t.Fatalf("piece %+v of %q after %d bytes", p, p.Entry.Path, len(got))
			}
			for i := range p.Length {
				got = append(got, byteOf{p.Number, p.At + i})
			}
			return nil
		})
		if err != nil || !slices.Equal(got, want[offset:offset+length]) {
			t.Fatalf("%v, got %v, want %v", err, got, want[offset:offset+length])
		}
	})
}

func dataOf(e *Entry) []Extent {
	if e.Extents == nil {
		return []Extent{{0, e.Size}}
	}
	return e.Extents
}

func TestPiecesBeyondTheEnd(t *testing.T) {
	b, _ := written(t, Entry{Path: "a", Kind: File, Size: 10})
	x, _ := opened(t, b)
	for _, w := range [][2]uint64{{11, 0}, {0, 11}, {10, 1}, {1, 1<<64 - 1}} {
		if err := x.Pieces(w[0], w[1], func(Piece) error { return nil }); err == nil {
			t.Errorf("pieces of %d bytes at %d of 10", w[1], w[0])
		}
	}
}

func TestVisitorsErrorEndsTheScan(t *testing.T) {
	b, _ := written(t, Entry{Path: "a", Kind: File, Size: 10}, Entry{Path: "b", Kind: File, Size: 10})
	x, _ := opened(t, b)
	stop, calls := errors.New("stop"), 0
	err := x.Entries(func(uint64, uint64, *Entry) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%v after %d entries", err, calls)
	}
	if err := x.Pieces(0, 20, func(Piece) error { calls++; return stop }); !errors.Is(err, stop) || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// Many chunks, full by number and full by bytes.
func TestManyChunks(t *testing.T) {
	var entries []Entry
	for i := range 3000 {
		e := Entry{Path: fmt.Sprintf("f%06d", i), Kind: File, Size: uint64(i % 3)}
		if i%7 == 0 {
			e.Kind, e.Size, e.Link = Symlink, 0, strings.Repeat("x", MaxPath)
		}
		entries = append(entries, e)
	}
	b, s := written(t, entries...)
	x, _ := opened(t, b)
	if back, _ := all(t, x); !reflect.DeepEqual(back, entries) {
		t.Fatal("not what was written")
	}
	seen := uint64(0)
	for offset := range s.Content {
		err := x.Pieces(offset, 1, func(p Piece) error {
			seen += p.Length
			if p.Entry.Path != entries[p.Number].Path {
				t.Errorf("byte %d is of %q, number %d", offset, p.Entry.Path, p.Number)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen != s.Content || len(s.Tops) != MaxTops {
		t.Errorf("%d of %d bytes, %d tops", seen, s.Content, len(s.Tops))
	}
}

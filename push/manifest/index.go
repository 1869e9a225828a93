package manifest

import (
	"errors"
	"fmt"
	"io"
	"sort"
)

// Index finds entries in a manifest that was checked. It keeps where chunks are, about a byte for ten entries, and reads the rest when it
// is asked. Safe for concurrent use, as far as what it reads from is.
type Index struct {
	from    io.ReaderAt
	size    uint64
	content uint64
	places  []place
}

// Content is how many bytes all files have.
func (x *Index) Content() uint64 { return x.content }

// Entries goes through all entries in their order. At is where the entry's bytes begin in the content. The entry is valid during
// visit only; its strings may be kept.
func (x *Index) Entries(visit func(number, at uint64, e *Entry) error) error {
	return x.scan(0, 0, func(at place, e *Entry) error { return visit(at.number, at.content, e) })
}

// Piece is a part of a file, and of the content.
type Piece struct {
	Number uint64 // of the entry
	Entry  *Entry // valid during visit only; its strings may be kept
	At     uint64 // in the file
	Start  uint64 // in the content
	Length uint64
}

// Pieces tells which parts of which files a part of the content consists of, in order. Files without data have no piece.
func (x *Index) Pieces(offset, length uint64, visit func(Piece) error) error {
	if offset > x.content || length > x.content-offset {
		return fmt.Errorf("no %d bytes at %d in a content of %d", length, offset, x.content)
	}
	if length == 0 {
		return nil
	}
	// The last chunk that begins at or before the offset: those before it that begin there, too, have no content.
	chunk := sort.Search(len(x.places), func(i int) bool { return x.places[i].content > offset }) - 1
	window := window{offset, offset + length}
	return x.scan(chunk, offset, func(at place, e *Entry) error {
		if at.content >= window.end {
			return errEnough
		}
		return window.pieces(at, e, visit)
	})
}

// errEnough ends a scan.
var errEnough = errors.New("enough")

// scan goes through the entries from a chunk on, but for those whose bytes end before skip.
func (x *Index) scan(chunk int, skip uint64, visit func(place, *Entry) error) error {
	if chunk >= len(x.places) {
		return nil
	}
	r := reader{from: x.from, size: x.size, next: x.places[chunk], skip: skip}
	for {
		count, err := r.chunk()
		if err != nil || count == 0 {
			return err
		}
		if err := r.entries(count, visit); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// window is a part of the content, from begin up to, not including, end.
type window struct{ begin, end uint64 }

// pieces tells which parts of an entry are in the window.
func (w window) pieces(at place, e *Entry, visit func(Piece) error) error {
	extents := e.Extents
	if extents == nil {
		extents = []Extent{{0, e.Size}}
	}
	start := at.content
	for _, x := range extents {
		from, to := max(start, w.begin), min(start+x.Length, w.end)
		if from < to {
			piece := Piece{Number: at.number, Entry: e, At: x.Offset + from - start, Start: from, Length: to - from}
			if err := visit(piece); err != nil {
				return err
			}
		}
		start += x.Length
	}
	return nil
}

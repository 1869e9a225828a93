package manifest

import (
	"encoding/binary"
	"math"

	"github.com/weft-fabric/weft/internal/cursor"
)

// The first byte of an entry is its kind, and these.
const (
	flagSame   = 0x10 // mode and owner are those of the entry before
	flagSparse = 0x20 // extents follow
	kindBits   = 0x0f
)

// front is what an entry shares with the one before it in its chunk. The zero front is that of a chunk's first entry.
type front struct {
	path  []byte
	link  []byte // what was decoded, within the chunk
	owner owner
	any   bool // there was one before
}

// owner is what entries often have in common.
type owner struct{ mode, uid, gid uint32 }

func ownerOf(e *Entry) owner { return owner{e.Mode, e.UID, e.GID} }

// name gives an entry that was decoded its strings, which are left out until somebody wants to see it.
func (f *front) name(e *Entry) { e.Path, e.Link = string(f.path), string(f.link) }

// shared is how many bytes a path has in common with the one before.
func (f *front) shared(path string) int {
	n := 0
	for n < len(path) && n < len(f.path) && path[n] == f.path[n] {
		n++
	}
	return n
}

// encode appends an entry that was checked.
func (f *front) encode(to []byte, e *Entry) []byte {
	first, same := byte(e.Kind), f.any && f.owner == ownerOf(e)
	if same {
		first |= flagSame
	}
	if e.Extents != nil {
		first |= flagSparse
	}
	shared := f.shared(e.Path)
	to = binary.AppendUvarint(append(to, first), uint64(shared))
	to = appendText(to, e.Path[shared:])
	if !same {
		for _, n := range [...]uint32{e.Mode, e.UID, e.GID} {
			to = binary.AppendUvarint(to, uint64(n))
		}
	}
	f.path, f.owner, f.any = append(f.path[:shared], e.Path[shared:]...), ownerOf(e), true
	return appendKind(binary.AppendVarint(to, e.ModTime), e)
}

// appendKind appends what only entries of this kind have.
func appendKind(to []byte, e *Entry) []byte {
	switch e.Kind {
	case File:
		to = binary.AppendUvarint(to, e.Size)
		if e.Extents != nil {
			to = appendExtents(to, e.Extents)
		}
	case Symlink, Hardlink:
		to = appendText(to, e.Link)
	}
	return to
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// appendExtents says of each extent how far it is from the end of the one before, and how long it is.
func appendExtents(to []byte, extents []Extent) []byte {
	to = binary.AppendUvarint(to, uint64(len(extents)))
	end := uint64(0)
	for _, x := range extents {
		to = binary.AppendUvarint(binary.AppendUvarint(to, x.Offset-end), x.Length)
		end = x.Offset + x.Length
	}
	return to
}

// decode reads the next entry, but for its strings, which are for name. It may be anything: Check has not seen it. Memory of the entry
// that e was is used again.
func (f *front) decode(c *cursor.Cursor, e *Entry) {
	first := c.Uint8("kind")
	extents := e.Extents[:0]
	*e = Entry{Kind: Kind(first & kindBits), Mode: f.owner.mode, UID: f.owner.uid, GID: f.owner.gid}
	if first&^(kindBits|flagSame|flagSparse) != 0 || first&flagSame != 0 && !f.any || first&flagSparse != 0 && e.Kind != File {
		c.Fail("no entry begins with %#x here", first)
	}
	f.decodePath(c)
	if first&flagSame == 0 {
		e.Mode, e.UID, e.GID = number(c, "mode"), number(c, "owner"), number(c, "group")
	}
	if first&flagSame == 0 && f.any && f.owner == ownerOf(e) {
		c.Fail("mode and owner are repeated")
	}
	e.ModTime = signed(c.Uvarint("time"))
	f.owner, f.any = ownerOf(e), true
	f.decodeKind(c, e, first&flagSparse != 0, extents)
}

func (f *front) decodePath(c *cursor.Cursor) {
	shared := c.Uvarint("shared part of a path")
	rest := text(c, "path")
	if shared > uint64(len(f.path)) {
		c.Fail("a path shares %d bytes with one of %d", shared, len(f.path))
		return
	}
	if int(shared) < len(f.path) && len(rest) > 0 && rest[0] == f.path[shared] {
		c.Fail("a path shares more than %d bytes with the one before", shared)
	}
	f.path = append(f.path[:shared], rest...)
}

func (f *front) decodeKind(c *cursor.Cursor, e *Entry, sparse bool, extents []Extent) {
	f.link = nil
	switch e.Kind {
	case File:
		if e.Size = c.Uvarint("size"); sparse {
			e.Extents = decodeExtents(c, extents)
		}
	case Symlink, Hardlink:
		f.link = text(c, "target")
	}
}

func decodeExtents(c *cursor.Cursor, into []Extent) []Extent {
	if into == nil {
		into = []Extent{}
	}
	end := uint64(0)
	for n := limited(c, "number of extents", MaxExtents); n > 0 && c.Err() == nil; n-- {
		gap, length := limited(c, "gap", MaxSize), limited(c, "length", MaxSize)
		if gap > MaxSize-end || length > MaxSize-end-gap {
			c.Fail("an extent ends beyond the longest file")
			break
		}
		into = append(into, Extent{end + gap, length})
		end += gap + length
	}
	return into
}

func text(c *cursor.Cursor, what string) []byte { return c.Take(what, int(limited(c, what, MaxPath))) }

func number(c *cursor.Cursor, what string) uint32 { return uint32(limited(c, what, math.MaxUint32)) }

// limited reads a number that must not be greater than limit.
func limited(c *cursor.Cursor, what string, limit uint64) uint64 {
	n := c.Uvarint(what)
	if n > limit {
		c.Fail("%s is %d, allowed are %d", what, n, limit)
		return 0
	}
	return n
}

// signed undoes the folding by which binary.AppendVarint makes numbers positive.
func signed(folded uint64) int64 { return int64(folded>>1) ^ -int64(folded&1) }

package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/weft-fabric/weft/internal/cursor"
)

// ErrManifest: the bytes are not a manifest.
var ErrManifest = errors.New("malformed manifest")

// place is where a chunk is.
type place struct {
	position uint64 // of its header, in the manifest
	number   uint64 // of its first entry
	content  uint64 // offset of that entry's bytes in the content
}

// reader goes through a manifest chunk by chunk.
type reader struct {
	from io.ReaderAt
	size uint64
	next place
	skip uint64 // entries whose bytes end before this place in the content are not visited

	header [chunkHeader]byte // of the present chunk
	body   []byte            //
}

// chunk reads the next chunk: its header, and its body. The end of the manifest is a chunk without entries.
func (r *reader) chunk() (count int, err error) {
	if err := r.read(r.header[:]); err != nil {
		return 0, err
	}
	length, n := binary.BigEndian.Uint32(r.header[:]), binary.BigEndian.Uint32(r.header[4:])
	if length > maxChunk || n > chunkEntries || (length == 0) != (n == 0) {
		return 0, r.wrong("a chunk of %d entries in %d bytes", n, length)
	}
	if cap(r.body) < int(length) {
		r.body = make([]byte, length)
	}
	r.body = r.body[:length]
	return int(n), r.read(r.body)
}

// read fills b with the bytes at the next position, and moves on.
func (r *reader) read(b []byte) error {
	if r.next.position > r.size || uint64(len(b)) > r.size-r.next.position {
		return r.wrong("it is cut off")
	}
	if n, err := r.from.ReadAt(b, int64(r.next.position)); n < len(b) {
		return fmt.Errorf("read the manifest: %w", err)
	}
	r.next.position += uint64(len(b))
	return nil
}

func (r *reader) wrong(format string, args ...any) error {
	return fmt.Errorf("%w, at byte %d: %s", ErrManifest, r.next.position, fmt.Sprintf(format, args...))
}

// entries decodes the present chunk.
func (r *reader) entries(count int, visit func(place, *Entry) error) error {
	var f front
	var e Entry
	var spare []Extent
	c := cursor.New(r.body)
	for i := range count {
		if full(i, len(r.body)-c.Left()) {
			return r.wrong("a chunk goes on when it is full")
		}
		e.Extents = spare
		f.decode(c, &e)
		if err := c.Err(); err != nil {
			return r.wrong("%v", err)
		}
		if e.Extents != nil {
			spare = e.Extents
		}
		if err := r.visit(&f, &e, visit); err != nil {
			return err
		}
	}
	if err := c.End(); err != nil {
		return r.wrong("%v", err)
	}
	return nil
}

// visit shows the entry that was decoded, unless it is skipped, and moves on.
func (r *reader) visit(f *front, e *Entry, visit func(place, *Entry) error) error {
	at, content := r.next, e.Content()
	r.next.number++
	r.next.content += content
	if r.next.content < r.skip {
		return nil
	}
	f.name(e)
	return visit(at, e)
}

package manifest

import (
	"bytes"
	"fmt"
	"io"

	"github.com/zeebo/blake3"
)

// opener is what Open checks and keeps while it reads.
type opener struct {
	reader
	hash    *blake3.Hasher
	order   order
	summary Summary
	places  []place
	short   bool // a chunk was not full: it must be the last
}

// Open reads a manifest of size bytes once, checks all of it, and keeps where its chunks are. What comes from elsewhere may be anything: it
// gets an error.
//
// That no path comes twice, and that a hard link names an earlier file, is not checked: both need all names at hand.
func Open(r io.ReaderAt, size int64) (*Index, Summary, error) {
	r, err := smallInMemory(r, size)
	if err != nil {
		return nil, Summary{}, err
	}
	o := &opener{reader: reader{from: r, size: uint64(max(size, 0))}, hash: blake3.New()}
	if err := o.all(); err != nil {
		return nil, Summary{}, err
	}
	o.summary.Size = o.size
	o.hash.Sum(o.summary.Hash[:0])
	return &Index{from: r, size: o.size, content: o.summary.Content, places: o.places}, o.summary, nil
}

// smallSize is that of a manifest which is kept in memory: for each block of the content somebody asks for the files that it belongs to.
const smallSize = 256 << 10

// smallInMemory reads a small manifest.
func smallInMemory(r io.ReaderAt, size int64) (io.ReaderAt, error) {
	if size <= 0 || size > smallSize {
		return r, nil
	}
	all := make([]byte, size)
	if n, err := r.ReadAt(all, 0); n < len(all) {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	return bytes.NewReader(all), nil
}

func (o *opener) all() error {
	word := make([]byte, len(magic))
	if err := o.read(word); err != nil {
		return err
	}
	if string(word) != magic {
		return fmt.Errorf("%w: it begins with %q, not with %q", ErrManifest, word, magic)
	}
	_, _ = o.hash.Write(word) // never fails
	for {
		more, err := o.one()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if o.next.position != o.size {
		return o.wrong("%d bytes follow its end", o.size-o.next.position)
	}
	return nil
}

// one takes the next chunk, and reports whether there may be more.
func (o *opener) one() (more bool, err error) {
	start := o.next
	count, err := o.chunk()
	if err != nil {
		return false, err
	}
	_, _ = o.hash.Write(o.header[:]) // never fails
	_, _ = o.hash.Write(o.body)      //
	if count == 0 {
		return false, nil
	}
	if o.short {
		return false, o.wrong("the chunk before is not full")
	}
	o.short = !full(count, len(o.body))
	o.places = append(o.places, start)
	return true, o.entries(count, o.check)
}

// check judges an entry as a Writer does.
func (o *opener) check(at place, e *Entry) error {
	if err := admit(e, &o.order, &o.summary); err != nil {
		return fmt.Errorf("%w, entry %d: %w", ErrManifest, at.number, err)
	}
	o.summary.count(e)
	return nil
}

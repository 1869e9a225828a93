package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/blake3"
)

// Measures of the format.
const (
	magic        = "weftman1"
	chunkHeader  = 8         // length and number of entries, 4 bytes each
	chunkEntries = 256       // a chunk is full when it has so many
	chunkBytes   = 32 << 10  // or so many bytes
	maxChunk     = 160 << 10 // bytes that a full chunk may have: the last entry may be a long one
	MaxEntries   = 1 << 27   // of a manifest: bounds the memory of an index
)

var errWriterClosed = errors.New("manifest: the writer is closed")

// Writer writes a manifest. It takes the memory of one chunk, however many entries there are. Not for concurrent use.
type Writer struct {
	to      io.Writer
	hash    *blake3.Hasher
	chunk   []byte // header and entries
	count   int    // entries in the chunk
	front   front
	order   order
	summary Summary
	err     error // the first that happened: a manifest with a gap is of no use
}

// NewWriter begins a manifest.
func NewWriter(w io.Writer) *Writer {
	m := &Writer{to: w, hash: blake3.New()}
	m.write([]byte(magic))
	m.reset()
	return m
}

func (w *Writer) reset() {
	w.chunk, w.count, w.front = append(w.chunk[:0], make([]byte, chunkHeader)...), 0, front{}
}

// Add adds an entry. The entry stays the caller's.
func (w *Writer) Add(e *Entry) error {
	if w.err == nil {
		w.err = admit(e, &w.order, &w.summary)
	}
	if w.err != nil {
		return w.err
	}
	w.chunk = w.front.encode(w.chunk, e)
	w.count++
	w.summary.count(e)
	if full(w.count, len(w.chunk)-chunkHeader) {
		w.flush()
	}
	return w.err
}

// admit judges whether an entry may come next.
func admit(e *Entry, o *order, soFar *Summary) error {
	if err := e.Check(); err != nil {
		return err
	}
	if err := o.next(e); err != nil {
		return err
	}
	return soFar.room(e)
}

// full reports whether a chunk takes no more.
func full(entries, bytes int) bool { return entries >= chunkEntries || bytes >= chunkBytes }

// room refuses an entry for which a manifest has no room.
func (s *Summary) room(e *Entry) error {
	if s.Entries >= MaxEntries {
		return e.wrong("a manifest has at most %d entries", MaxEntries)
	}
	if e.Content() > MaxSize-s.Content {
		return e.wrong("all files together have more than %d bytes", uint64(MaxSize))
	}
	return nil
}

func (w *Writer) flush() {
	binary.BigEndian.PutUint32(w.chunk, uint32(len(w.chunk)-chunkHeader))
	binary.BigEndian.PutUint32(w.chunk[4:], uint32(w.count))
	w.write(w.chunk)
	w.reset()
}

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	if _, err := w.to.Write(b); err != nil {
		w.err = fmt.Errorf("write the manifest: %w", err)
		return
	}
	_, _ = w.hash.Write(b) // never fails
	w.summary.Size += uint64(len(b))
}

// Close writes the end of the manifest. It does not close what is written to.
func (w *Writer) Close() (Summary, error) {
	if w.count > 0 {
		w.flush()
	}
	w.flush() // the end: a chunk of nothing
	if w.err != nil {
		return Summary{}, w.err
	}
	w.err = errWriterClosed
	w.hash.Sum(w.summary.Hash[:0])
	return w.summary, nil
}

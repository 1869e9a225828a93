package source

import (
	"fmt"
	"sync"

	"github.com/weft-fabric/weft/push/manifest"
)

// Hasher hashes the blocks of a stream, ahead of their sending, and seals pages. Its methods may be called by several goroutines at
// a time.
type Hasher struct {
	source *Source
	signer *manifest.Signer
	layout manifest.Layout

	mutex  sync.Mutex // of what follows
	table  *table
	origin *Cache // where the first hashes came from; nil: all were read here
	wrong  bool   // a hash in the table is not that of the source

	digest digest // with a lock of its own: it takes long
}

// NewHasher makes the hasher of a stream.
func NewHasher(s *Source, signer *manifest.Signer, l manifest.Layout) *Hasher {
	return &Hasher{source: s, signer: signer, layout: l, table: newTable(l.Blocks())}
}

// Fill reads all blocks of a page, in order: into[i] becomes header‖payload of the page's block i. It may be called again for a
// page: then the source must have stayed the same. The header is that of all the page's blocks.
func (h *Hasher) Fill(page int, into [][]byte) (header []byte, err error) {
	if page < 0 || page >= h.layout.Pages() {
		return nil, fmt.Errorf("there is no page %d: the stream has %d", page, h.layout.Pages())
	}
	first, end := h.layout.PageRange(page)
	if len(into) != end-first {
		return nil, fmt.Errorf("page %d has %d blocks, and there is room for %d", page, end-first, len(into))
	}
	payloads := make([][]byte, len(into))
	for i := range into {
		if payloads[i], err = h.payload(first+i, into[i]); err != nil {
			return nil, err
		}
	}
	if err := h.readAll(first, payloads); err != nil {
		return nil, err
	}
	if header, err = h.Header(page); err != nil {
		return nil, err
	}
	for i := range into {
		copy(into[i], header)
	}
	return header, nil
}

// Fetch reads one block, as it goes on the wire: header‖payload. Of a page that is not known it reads the other blocks too.
func (h *Hasher) Fetch(block int, into []byte) error {
	if block < 0 || block >= h.layout.Blocks() {
		return fmt.Errorf("there is no block %d: the stream has %d", block, h.layout.Blocks())
	}
	payload, err := h.payload(block, into)
	if err != nil {
		return err
	}
	page := h.layout.Page(block)
	if err := h.know(page); err != nil {
		return err
	}
	if err := h.hash(block, payload); err != nil {
		return err
	}
	header, err := h.Header(page)
	copy(into, header)
	return err
}

// know hashes the blocks of a page that are not known.
func (h *Hasher) know(page int) error {
	var scratch []byte
	first, end := h.layout.PageRange(page)
	for block := first; block < end; block++ {
		if _, known := h.Hash(block); known {
			continue
		}
		if scratch == nil {
			scratch = make([]byte, h.layout.Len(first)) // the first of a page is never shorter than another
		}
		if err := h.hash(block, scratch[:h.layout.Len(block)]); err != nil {
			return err
		}
	}
	return nil
}

// payload is the part of a block's memory that is behind the header.
func (h *Hasher) payload(block int, wire []byte) ([]byte, error) {
	start, length := h.layout.Header(), h.layout.Len(block)
	if len(wire) < start+length {
		return nil, fmt.Errorf("block %d takes %d bytes, and there is room for %d", block, start+length, len(wire))
	}
	return wire[start : start+length], nil
}

// Header seals a page of which all hashes are known.
func (h *Hasher) Header(page int) ([]byte, error) {
	first, end := h.layout.PageRange(page)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if !h.table.knows(first, end) {
		return nil, fmt.Errorf("page %d is not hashed yet", page)
	}
	return h.signer.Seal(h.layout, page, h.table.hashes[first:end]), nil
}

// Hash returns the hash of a block, if it is known.
func (h *Hasher) Hash(block int) (manifest.Hash, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.table.hashes[block], h.table.known(block)
}

// Root is the hash of the object, when all blocks are known.
func (h *Hasher) Root() (root manifest.Hash, known bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.table.count < len(h.table.hashes) {
		return manifest.Hash{}, false
	}
	sum := manifest.NewRoot(h.source.summary.Hash, h.layout)
	for _, hash := range h.table.hashes {
		sum.Add(hash)
	}
	return sum.Sum(), true
}

// hash reads a block, and learns its hash or compares it with the known one.
func (h *Hasher) hash(block int, payload []byte) error {
	if err := h.source.Read(h.layout, block, payload); err != nil {
		return err
	}
	hash := manifest.HashOf(payload)
	h.mutex.Lock()
	same := h.table.learn(block, hash)
	h.mutex.Unlock()
	if !same {
		return h.changed(block)
	}
	return nil
}

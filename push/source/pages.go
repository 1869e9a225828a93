package source

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/weft-fabric/weft/push/manifest"
)

// HashAll hashes all pages that are not known yet, without sending them. Progress may be nil.
func (h *Hasher) HashAll(ctx context.Context, progress func(done, total uint64)) error {
	var memory []byte
	for page := range h.layout.Pages() {
		if err := ctx.Err(); err != nil {
			return err
		}
		first, end := h.layout.PageRange(page)
		if !h.knows(first, end) {
			if memory == nil {
				memory = make([]byte, min(uint64(h.layout.PageBlocks)*uint64(h.layout.Block), h.layout.Size))
			}
			if err := h.readAll(first, h.cut(memory, first, end)); err != nil {
				return err
			}
		}
		if progress != nil {
			progress(min(uint64(end)*uint64(h.layout.Block), h.layout.Size), h.layout.Size)
		}
	}
	return nil
}

func (h *Hasher) knows(first, end int) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.table.knows(first, end)
}

// cut gives each of some blocks its part of memory.
func (h *Hasher) cut(memory []byte, first, end int) (payloads [][]byte) {
	for block := first; block < end; block++ {
		length := h.layout.Len(block)
		payloads = append(payloads, memory[:length:length])
		memory = memory[length:]
	}
	return payloads
}

// readAll reads and hashes blocks that follow each other, by as many processors as that is worth.
func (h *Hasher) readAll(first int, payloads [][]byte) error {
	var next atomic.Int64
	err := together(workers(len(payloads)*h.layout.Block, len(payloads)), func() error {
		for i := int(next.Add(1)) - 1; i < len(payloads); i = int(next.Add(1)) - 1 {
			if err := h.hash(first+i, payloads[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.follow(first, payloads)
}

// worthIt is how many bytes one processor should have to hash, so that starting another pays.
const worthIt = 256 << 10

func workers(bytes, blocks int) int {
	return max(1, min(bytes/worthIt, blocks, runtime.GOMAXPROCS(0), 4))
}

// together runs work so many times at once, waits for all, and returns the first error.
func together(times int, work func() error) error {
	if times == 1 {
		return work()
	}
	errors := make(chan error, times)
	for range times {
		go func() { errors <- work() }()
	}
	var first error
	for range times {
		if err := <-errors; first == nil {
			first = err
		}
	}
	return first
}

// changed is about a block whose bytes are others than before although no time of a file tells. If the old hash was a remembered one, it is
// forgotten, so that the next push does better.
func (h *Hasher) changed(block int) error {
	h.mutex.Lock()
	h.wrong = true
	if h.origin != nil {
		h.origin.forget(h.key())
	}
	h.mutex.Unlock()
	return h.source.changedBlock(h.layout, block)
}

// changedBlock is the error about a block whose bytes are not those that were hashed first. It names a file of it.
func (s *Source) changedBlock(l manifest.Layout, block int) error {
	e := &Error{Path: "the manifest", Reason: ErrChanged, Detail: "its bytes are others than when they were hashed first"}
	if l.Stream != manifest.ContentStream {
		return e
	}
	files := 0
	err := s.index.Pieces(l.Offset(block), uint64(l.Len(block)), func(p manifest.Piece) error {
		if files++; files > 1 {
			e.Detail = "its bytes, or those of a file next to it, are others than when they were hashed first"
			return nil
		}
		seen, err := s.sightOf(p.Number)
		if err == nil {
			e.Path = s.roots[seen.root].path(p.Entry.Path)
		}
		return err
	})
	if err != nil {
		return err
	}
	return e
}

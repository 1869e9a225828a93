package link

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// blockSlots is how many slots are made at a time.
const blockSlots = 64

// Slot is memory for one message: of the hub's receives, or for a message to be sent.
type Slot struct {
	memory *verbs.Memory // of its block, of which the slot is a piece: its bytes are there as long as it can be reached
	room   []byte        // these bytes
	span   verbs.Span    // the same
	index  int
	pool   *slots
	link   *Link // what it was received on, or sends on; nil: none
	length int   // of the message that was received
	kept   bool  // a receive was kept for it: it gives no credit back
	out    *Outgoing

	holding *holding // that counts it; nil: it has a place in the window
}

// Bytes is the message that lies in the slot. It is valid until the slot is released.
func (s *Slot) Bytes() []byte { return s.room[:s.length:s.length] }

// piece is the slot's memory from begin to end.
func (s *Slot) piece(begin, end int) verbs.Span {
	return s.span.Sub(uint32(begin), uint32(end-begin))
}

// slots are slots in blocks of registered memory, which no peer may touch by itself.
type slots struct {
	hub    *Hub
	size   int // bytes of each
	blocks []*verbs.Memory
	list   []*Slot
	free   []*Slot // of those to be sent from
}

func newSlots(h *Hub, size int) slots { return slots{hub: h, size: size} }

func (s *slots) count() int { return len(s.list) }

func (s *slots) at(i int) *Slot { return s.list[i] }

// extend makes another block.
func (s *slots) extend() error {
	limit, size := s.hub.config.MaxSlots, s.size
	n := min(blockSlots, limit-len(s.list))
	if n <= 0 {
		return fmt.Errorf("%d slots: %w", limit, ErrFull)
	}
	memory, err := s.hub.config.Domain.Alloc(n*size, 0)
	if err != nil {
		return err
	}
	s.blocks = append(s.blocks, memory)
	for i := range n {
		at := i * size
		s.list = append(s.list, &Slot{memory: memory, room: memory.Bytes()[at : at+size : at+size], span: memory.Span(at, size), index: len(s.list), pool: s})
	}
	return nil
}

// take returns a free slot, or nil if there are no more.
func (s *slots) take() *Slot {
	if !s.hasFree() {
		return nil
	}
	last := len(s.free) - 1
	slot := s.free[last]
	s.free = s.free[:last]
	return slot
}

// hasFree reports whether there is a free slot, and makes some if need be.
func (s *slots) hasFree() bool { return len(s.free) > 0 || s.refill() }

func (s *slots) refill() bool {
	first := len(s.list)
	if s.extend() != nil {
		return false
	}
	s.free = append(s.free, s.list[first:]...)
	return true
}

// give takes a slot back. The hub's scratch is never taken.
func (s *slots) give(slot *Slot) {
	slot.link, slot.out = nil, nil
	if slot != s.hub.scratch {
		s.free = append(s.free, slot)
	}
}

// held is how many have a message that the program has.
func (s *slots) held() (n int) {
	for _, slot := range s.list {
		if slot.link != nil {
			n++
		}
	}
	return n
}

// close frees the blocks. One with a message that the program still has stays until nobody can reach that any more.
func (s *slots) close() (failed error) {
	held := make(map[*verbs.Memory]bool)
	for _, slot := range s.list {
		if slot.link != nil {
			held[slot.memory] = true
		}
	}
	for _, memory := range s.blocks {
		if held[memory] {
			failed = errors.Join(failed, memory.Retire())
		} else {
			failed = errors.Join(failed, memory.Close())
		}
	}
	s.blocks, s.list, s.free = nil, nil, nil // or nothing could be freed as long as the hub can be reached
	return failed
}

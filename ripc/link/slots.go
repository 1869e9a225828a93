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
	memory *verbs.Memory // of its block
	offset int           // in it
	size   int
	index  int
	link   *Link  // what it was received on, or sends on; nil: none
	bytes  []byte // of the message that was received
	kept   bool   // a receive was kept for it: it gives no credit back
	out    *Outgoing
}

// Bytes is the message that lies in the slot. It is valid until the slot is released.
func (s *Slot) Bytes() []byte { return s.bytes }

func (s *Slot) whole() verbs.Span         { return s.memory.Span(s.offset, s.size) }
func (s *Slot) span(at, n int) verbs.Span { return s.memory.Span(s.offset+at, n) }
func (s *Slot) room() []byte              { return s.memory.Bytes()[s.offset : s.offset+s.size : s.offset+s.size] }
func (s *Slot) received(n uint32)         { s.bytes = s.room()[:n:n] }

// slots are slots in blocks of registered memory, which no peer may touch by itself.
type slots struct {
	hub    *Hub
	limit  int
	blocks []*verbs.Memory
	list   []*Slot
	free   []*Slot // of those to be sent from
}

func newSlots(h *Hub, limit int) slots { return slots{hub: h, limit: limit} }

func (s *slots) count() int { return len(s.list) }

func (s *slots) at(i int) *Slot { return s.list[i] }

// extend makes another block.
func (s *slots) extend() error {
	n := min(blockSlots, s.limit-len(s.list))
	if n <= 0 {
		return fmt.Errorf("%d slots: %w", s.limit, ErrFull)
	}
	size := s.hub.config.SlotSize
	memory, err := s.hub.config.Domain.Alloc(n*size, 0)
	if err != nil {
		return err
	}
	s.blocks = append(s.blocks, memory)
	for i := range n {
		s.list = append(s.list, &Slot{memory: memory, offset: i * size, size: size, index: len(s.list)})
	}
	return nil
}

// take returns a free slot, or nil if there are no more.
func (s *slots) take() *Slot {
	if len(s.free) == 0 {
		first := len(s.list)
		if s.extend() != nil {
			return nil
		}
		s.free = append(s.free, s.list[first:]...)
	}
	last := len(s.free) - 1
	slot := s.free[last]
	s.free = s.free[:last]
	return slot
}

func (s *slots) give(slot *Slot) {
	slot.link, slot.out = nil, nil
	s.free = append(s.free, slot)
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

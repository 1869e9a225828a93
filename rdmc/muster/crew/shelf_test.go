package crew

import (
	"errors"

	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// shelfSlots is how many blocks a shelf has memory for: few, so that it is often full.
const shelfSlots = 8

// shelf gives memory for blocks, and keeps what came in books of its own. It sees that no block comes twice.
type shelf struct {
	squad  *squad
	memory *verbs.Memory
	free   []int
	asked  int // how often for memory
	hold   int // from this time on it gives none; 0: it always does
	hungry bool
	books  map[uint64]*book
}

// book is one message.
type book struct {
	content []byte
	have    schedule.Set
}

func (s *shelf) open() (err error) {
	s.hold, s.asked = s.squad.order.Hold, 0
	if s.memory != nil {
		return nil
	}
	s.memory, err = s.squad.member.domain.Alloc(shelfSlots*s.squad.order.BlockSize, 0)
	for i := range shelfSlots {
		s.free = append(s.free, i)
	}
	return err
}

func (s *shelf) close() error {
	if len(s.free) != shelfSlots {
		s.squad.member.wrong(s.squad.order.Name, "%d blocks were not released", shelfSlots-len(s.free))
	}
	return s.memory.Close()
}

func (s *shelf) book(m rdmc.Message) *book {
	b := s.books[m.Number]
	if b == nil {
		b = &book{content: make([]byte, m.Size), have: schedule.NewSet(m.Blocks())}
		s.books[m.Number] = b
	}
	return b
}

// take gives memory, unless it is time to hold back, or there is none.
func (s *shelf) take() (verbs.Span, bool) {
	s.asked++
	if s.hold > 0 && s.asked >= s.hold {
		if s.asked == s.hold {
			s.squad.member.report(report{Kind: kindHolding, Group: s.squad.order.Name})
		}
		return verbs.Span{}, false
	}
	if len(s.free) == 0 {
		s.hungry = true
		return verbs.Span{}, false
	}
	slot := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	size := s.squad.order.BlockSize
	return s.memory.Span(slot*size, size), true
}

// slot finds the bytes of a span.
func (s *shelf) slot(at verbs.Span) (slot int, bytes []byte) {
	offset := int(at.Address - s.memory.Span(0, 1).Address)
	return offset / s.squad.order.BlockSize, s.memory.Bytes()[offset : offset+int(at.Length)]
}

// Acquire implements rdmc.Store.
func (s *shelf) Acquire(uint64, int) (verbs.Span, bool) {
	s.squad.check("Acquire")
	return s.take()
}

// Arrived implements rdmc.Store.
func (s *shelf) Arrived(m rdmc.Message, block int, at verbs.Span) {
	s.squad.check("Arrived")
	b := s.book(m)
	if b.have.Has(block) {
		s.squad.member.wrong(s.squad.order.Name, "block %d of message %d came twice", block, m.Number)
	}
	_, bytes := s.slot(at)
	if len(bytes) != m.BlockLen(block) {
		s.squad.member.wrong(s.squad.order.Name, "block %d of message %d has %d bytes", block, m.Number, len(bytes))
	}
	copy(b.content[block*m.BlockSize:], bytes)
	if !s.squad.order.Gate {
		b.have.Add(block)
		return
	}
	g := s.squad.group
	if err := s.squad.member.loop.Do(func() { s.accept(g, m, block) }); err != nil {
		s.squad.member.wrong(s.squad.order.Name, "accept block %d: %v", block, err)
	}
}

// accept lets a block pass the gate, in a later turn. Only then is it held: if the group has ended meanwhile, it comes again.
func (s *shelf) accept(g *rdmc.Group, m rdmc.Message, block int) {
	err := g.Accept(m.Number, block)
	switch {
	case err == nil:
		s.book(m).have.Add(block)
	case !errors.Is(err, rdmc.ErrEnded):
		s.squad.member.wrong(s.squad.order.Name, "accept block %d: %v", block, err)
	}
}

// Load implements rdmc.Store. The root has everything, others what came.
func (s *shelf) Load(m rdmc.Message, block int) (verbs.Span, bool) {
	s.squad.check("Load")
	at, ok := s.take()
	if !ok {
		return at, false
	}
	b := s.pages(m)
	if !b.have.Has(block) {
		s.squad.member.wrong(s.squad.order.Name, "block %d of message %d is to be sent, but is not here", block, m.Number)
	}
	_, bytes := s.slot(at)
	copy(bytes, b.content[block*m.BlockSize:])
	return at, true
}

// pages is a message with its contents, which the root computes.
func (s *shelf) pages(m rdmc.Message) *book {
	if s.books[m.Number] == nil && s.squad.sends {
		s.books[m.Number] = &book{content: s.squad.contentsOf(m.Number, m.Size), have: schedule.FullSet(m.Blocks())}
	}
	return s.book(m)
}

// Release implements rdmc.Store.
func (s *shelf) Release(_ rdmc.Message, _ int, at verbs.Span) {
	s.squad.check("Release")
	slot, _ := s.slot(at)
	s.free = append(s.free, slot)
	if s.hungry {
		s.hungry = false
		s.squad.group.Continue()
	}
}

package groups

import (
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/verbs"
)

// store is a member's memory by block: a few slots, and behind them a disk that holds whatever arrived.
type store struct {
	member  *Member
	memory  *verbs.Memory
	size    int // of a slot
	free    []int
	used    []bool
	refused bool   // it had no memory, and owes a Continue
	frozen  []byte // what memory held when the group failed
}

func newStore(m *Member, slots, size int, phantom bool) (*store, error) {
	s := &store{member: m, size: size, used: make([]bool, slots)}
	for i := range slots {
		s.free = append(s.free, i)
	}
	var err error
	if phantom {
		s.memory, err = m.Node.domain.AllocPhantom(uint64(slots*size), 0)
	} else {
		s.memory, err = m.Node.domain.Alloc(slots*size, 0)
	}
	return s, err
}

// take gives a free slot. If the members are slow, it refuses now and then, so that the group has to come again.
func (s *store) take() (int, bool) {
	wait := s.member.Group.wait()
	if len(s.free) == 0 || wait > 0 && !s.refused {
		if len(s.free) > 0 {
			s.member.Node.later(wait, s.resume)
		}
		s.refused = true
		return 0, false
	}
	slot := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.used[slot] = true
	return slot, true
}

func (s *store) span(slot, length int) verbs.Span { return s.memory.Span(slot*s.size, length) }

// slot finds the slot of a span.
func (s *store) slot(at verbs.Span) int {
	return int(at.Address-s.span(0, 1).Address) / s.size
}

// resume keeps the promise that was made when memory was refused.
func (s *store) resume() {
	if s.refused && len(s.free) > 0 && s.member.live() {
		s.refused = false
		s.member.End.Continue()
	}
}

// Acquire implements rdmc.Store.
func (s *store) Acquire(number uint64, block int) (verbs.Span, bool) {
	s.member.called("Acquire")
	slot, ok := s.take()
	if !ok {
		return verbs.Span{}, false
	}
	return s.span(slot, s.size), true
}

// Arrived implements rdmc.Store: it judges the block, and writes it to the disk. With a gate it is kept when it is accepted.
func (s *store) Arrived(m rdmc.Message, block int, at verbs.Span) {
	s.member.called("Arrived")
	s.member.checkMessage(m)
	h := s.member.replica.message(m)
	if h.came[block] == s.member || h.have.Has(block) {
		s.member.problem("block %d of message %d came although it was here", block, m.Number)
	}
	h.came[block] = s.member
	if !h.block(block).isAt(s.memory, s.slot(at)*s.size) {
		s.member.problem("block %d of message %d has wrong contents", block, m.Number)
	}
	if s.member.Group.Spec.Gate {
		s.member.accept(h, block)
	} else {
		h.have.Add(block)
	}
}

// Load implements rdmc.Store: it reads the disk.
func (s *store) Load(m rdmc.Message, block int) (verbs.Span, bool) {
	s.member.called("Load")
	h := s.member.replica.message(m)
	if !h.have.Has(block) {
		s.member.problem("block %d of message %d was asked for, and is not here", block, m.Number)
	}
	slot, ok := s.take()
	if !ok {
		return verbs.Span{}, false
	}
	s.member.expect(h.block(block).put(s.memory, slot*s.size))
	return s.span(slot, h.BlockLen(block)), true
}

// Release implements rdmc.Store.
func (s *store) Release(m rdmc.Message, block int, at verbs.Span) {
	s.member.called("Release")
	slot := s.slot(at)
	if !s.used[slot] {
		s.member.problem("block %d of message %d was released twice", block, m.Number)
		return
	}
	s.used[slot] = false
	s.free = append(s.free, slot)
	if s.refused {
		s.member.Node.later(s.member.Group.wait(), s.resume)
	}
}

package member

import (
	"errors"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// store gives a group memory, and has its blocks checked, kept and fetched. It is an rdmc.Store, and belongs to the loop.
type store struct {
	*pool
	crew   *crew
	loop   *loop.Loop
	group  *rdmc.Group
	isRoot bool
	caches bool // blocks are asked for again: they must be found
	room   int  // slots that rdmc must be able to have for what comes

	checked  func(stream int32)           // a block may be passed on
	kept     func(stream int32)           // a block was kept
	failed   func(what string, err error) // the owner could not do its part
	released func()                       // rdmc has nothing any more
	starved  bool                         // rdmc was told that there is no memory, or no block, yet
	since    clock.Time                   // when there was no memory because blocks were to be kept
	isFull   bool                         // since is set
	full     time.Duration                // how long it was so, but for since
	received uint64                       // bytes

	reader
}

// Acquire implements rdmc.Store.
func (s *store) Acquire(_ uint64, _ int) (verbs.Span, bool) {
	i, ok := s.take()
	if !ok {
		s.starve()
		return verbs.Span{}, false
	}
	s.hold(i)
	return s.span(i), true
}

// starve notes that rdmc waits for memory; and since when, if that is because blocks must be kept first.
func (s *store) starve() {
	s.starved = true
	if s.crew.beEager() {
		return
	}
	if others := len(s.slots) - s.free - s.held - s.ahead; others > 0 && !s.isFull {
		s.since, s.isFull = s.loop.Now(), true
	}
}

// Arrived implements rdmc.Store.
func (s *store) Arrived(m rdmc.Message, block int, at verbs.Span) {
	i := s.slotOf(at)
	s.slots[i].busy = true
	s.received += uint64(at.Length)
	j := job{task: taskCheck, slot: i, stream: int32(m.Number), number: int32(block), length: int32(at.Length)}
	if r, done := s.crew.checkHere(j); done {
		s.takeChecked(r)
	} else {
		s.crew.put(j)
	}
}

// Release implements rdmc.Store.
func (s *store) Release(_ rdmc.Message, _ int, at verbs.Span) {
	i := s.slotOf(at)
	s.letGo(i)
	s.freed(i)
	if s.held == 0 {
		s.released()
	}
}

// freed goes on if a slot is free now.
func (s *store) freed(i int32) {
	if !s.settle(i) {
		return
	}
	if s.isFull {
		s.full += s.loop.Now().Sub(s.since)
		s.isFull = false
	}
	s.goOn()
}

// goOn has rdmc ask again.
func (s *store) goOn() {
	if s.starved {
		s.starved = false
		s.group.Continue()
	}
}

// takeResults does what follows from what the crew has done.
func (s *store) takeResults() {
	for _, r := range s.crew.take() {
		switch r.task {
		case taskCheck:
			s.takeChecked(r)
		case taskKeep:
			s.takeKept(r)
		case taskFetch:
			s.takeFetched(r)
		case taskFill:
			s.takeFilled(r)
		}
	}
	s.lookAhead()
}

// takeChecked lets a block pass, or ends the group. Its slot stays busy until it is kept.
func (s *store) takeChecked(r result) {
	if r.err != nil {
		s.slots[r.slot].busy = false
		s.forgiveEnd("reject a block", s.group.Reject(uint64(r.stream), int(r.number), r.err))
		s.freed(r.slot)
		return
	}
	if s.slots[r.slot].ready = true; s.caches {
		s.name(r.slot, key{r.stream, r.number})
	}
	s.checked(r.stream)
	s.forgiveEnd("accept a block", s.group.Accept(uint64(r.stream), int(r.number)))
}

// forgiveEnd says what failed, unless that is because the group has ended meanwhile.
func (s *store) forgiveEnd(what string, err error) {
	if err != nil && !errors.Is(err, rdmc.ErrEnded) {
		s.failed(what, err)
	}
}

func (s *store) takeKept(r result) {
	s.slots[r.slot].busy = false
	s.freed(r.slot)
	if r.err != nil {
		s.failed("keep a block", r.err)
		return
	}
	s.kept(r.stream)
}

// fullTime is how long there was no memory because blocks were to be kept.
func (s *store) fullTime() time.Duration {
	if s.isFull {
		return s.full + s.loop.Now().Sub(s.since)
	}
	return s.full
}

// outlook is what will be loaded of a message, in order.
type outlook struct {
	stream   int32
	plan     schedule.Plan
	step     int // the next to look at
	end      int
	prepared int // loads that were looked at
	loaded   int // that have been
}

package verbstest

import (
	"fmt"
	"math"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
)

// This file is a worker that receives for ever, for tests of messages.

// Sink keeps receives posted on a queue pair, or on a pool, and counts what arrives. With Stamped it checks that the lower
// half of the first word of message number i of each queue pair is i. A receive of a pool that fails is posted again: the
// queue pair that took it has failed, the others have not. Result: ID.
type Sink struct {
	Pair    int
	Pool    int // if not 0, instead of Pair
	Memory  int
	Size    int // of one receive
	Window  int // receives posted at a time
	Stamped bool
}

// poster is what a sink posts receives to.
type poster interface {
	StageReceive(*verbs.Receive) error
}

type sink struct {
	Sink
	port   loop.Port
	to     poster
	memory *verbs.Memory
	next   map[uint32]uint64 // by queue pair: the word that the next message begins with
	state  streamStatus
	staged verbs.Receive // here, so that handing over its address allocates nothing
}

func (c Sink) carryOut(a *agent) (r Result, err error) {
	s := &sink{Sink: c, next: map[uint32]uint64{}}
	if c.Pool != 0 {
		s.to, err = a.pools.get(c.Pool)
	} else {
		s.to, err = a.pairs.get(c.Pair)
	}
	if err != nil {
		return Result{}, err
	}
	if s.memory, err = a.memories.get(c.Memory); err != nil {
		return Result{}, err
	}
	if s.port, err = a.loop.Add(s); err != nil {
		return Result{}, err
	}
	for slot := range c.Window {
		s.post(uint64(slot))
	}
	return Result{ID: a.streams.put(s)}, nil
}

func (s *sink) post(slot uint64) {
	s.staged = verbs.Receive{Tag: s.port.Tag(slot), Span: s.memory.Span(int(slot)*s.Size, s.Size)}
	if err := s.to.StageReceive(&s.staged); err != nil {
		s.complain("post receive: %v", err)
		return
	}
	s.state.Requests++
}

func (s *sink) status() streamStatus {
	state := s.state
	state.Ended = state.Failure != verbs.OK && state.Rounds+state.Flushed+1 >= state.Requests
	return state
}

func (s *sink) refill() {}
func (s *sink) stop()   {}

// Step counts a message and posts its receive again.
func (s *sink) Step(c *verbs.Completion) {
	if c.Status != verbs.OK && s.Pool != 0 {
		s.post(uint64(c.Tag))
		return
	}
	if c.Status != verbs.OK {
		if s.state.Failure == verbs.OK {
			s.state.Failure = c.Status
		} else {
			s.state.Flushed++
		}
		return
	}
	if s.Stamped {
		s.check(c)
	}
	s.state.Rounds++
	s.post(uint64(c.Tag))
}

func (s *sink) check(c *verbs.Completion) {
	got := s.memory.Load64(int(c.Tag)*s.Size) & math.MaxUint32
	if want := s.next[c.Queue]; got != want {
		s.complain("message %d of queue pair %d begins with %d", want, c.Queue, got)
	}
	s.next[c.Queue]++
}

func (s *sink) complain(format string, args ...any) {
	if s.state.Complaint == "" {
		s.state.Complaint = fmt.Sprintf(format, args...)
	}
}

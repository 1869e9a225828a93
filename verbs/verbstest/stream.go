package verbstest

import (
	"fmt"
	"unsafe"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
)

// This file is a worker that posts for ever, for tests under load.

// worker is a machine that goes on by itself until it has done enough or something fails.
type worker interface {
	refill() // posts as much as there is room for
	status() streamStatus
	stop()
}

// streamStatus is how far a stream, a sink or an increment is.
type streamStatus struct {
	Rounds    uint64       // completed
	Requests  uint64       // posted
	Failure   verbs.Status // of the first request that failed
	Flushed   uint64       // requests behind it
	Complaint string       // what was out of order or wrong in content, or could not be posted; the first
	Ended     bool         // nothing is outstanding, nothing will be posted
}

// StreamState asks how far a stream is, and may tell it to post nothing more. Result: Stream.
type StreamState struct {
	Stream int
	Stop   bool
}

func (c StreamState) carryOut(a *agent) (Result, error) {
	s, err := a.streams.get(c.Stream)
	if err != nil {
		return Result{}, err
	}
	if c.Stop {
		s.stop()
	}
	return Result{Stream: s.status()}, nil
}

// Stream starts posting rounds of requests, as many as the send queue has room for, and goes on whenever there is room
// again. Result: ID.
//
// Round number i uses slot i modulo Slots of the source memory: what the requests' spans say is shifted by Stride for
// each slot. If Stamp is not 0, every word of the slot (with StampEvery, only the last of so many bytes) holds i × Stamp when the
// round is posted. There must be more slots than rounds can be outstanding.
type Stream struct {
	Pair         int
	Round        []verbs.Request // tags are set by the stream
	Rounds       uint64          // how many; 0: until stopped or failed
	Memory       int             // the source
	Slots        int             // 0: one slot for everything
	Stride       int
	RemoteStride uint64 // the remote spans move on by this much each round,
	RemoteSlots  uint64 // and are back where they were after so many rounds; 0: they stay
	Stamp        uint64
	StampEvery   int // if not 0, stamping takes no time, and the stream does hardly anything but write
}

type stream struct {
	Stream
	port    loop.Port
	pair    *verbs.QueuePair
	source  *verbs.Memory
	posted  uint64 // rounds
	last    uint64 // tag of the last completion, plus one
	state   streamStatus
	stopped bool
}

func (c Stream) carryOut(a *agent) (Result, error) {
	pair, err := a.pairs.get(c.Pair)
	if err != nil {
		return Result{}, err
	}
	s := &stream{Stream: c, pair: pair}
	if s.source, err = a.memories.get(c.Memory); err != nil {
		return Result{}, err
	}
	if s.port, err = a.loop.Add(s); err != nil {
		return Result{}, err
	}
	id := a.streams.put(s)
	s.refill()
	return Result{ID: id}, nil
}

func (s *stream) status() streamStatus {
	state := s.state
	state.Rounds, state.Requests = s.last/uint64(len(s.Round)), s.posted*uint64(len(s.Round))
	state.Ended = s.over() && s.last == state.Requests
	return state
}

func (s *stream) stop() { s.stopped = true }

// over reports whether no further round will be posted.
func (s *stream) over() bool {
	return s.stopped || s.state.Failure != verbs.OK || s.state.Complaint != "" || s.Rounds > 0 && s.posted == s.Rounds
}

func (s *stream) refill() {
	for !s.over() && s.pair.Room() >= len(s.Round) {
		s.post()
	}
}

func (s *stream) post() {
	shift := s.slotShift()
	s.stamp(shift)
	for j := range s.Round {
		r := s.Round[j]
		r.Tag = s.port.Tag(s.posted*uint64(len(s.Round)) + uint64(j))
		r.Span.Address += uint64(shift)
		if s.RemoteSlots > 0 {
			r.Remote.Address += s.posted % s.RemoteSlots * s.RemoteStride
		}
		if s.posted+1 == s.Rounds && j+1 == len(s.Round) {
			r.Flags &^= verbs.Quiet // or nobody would hear of the end
		}
		if err := s.pair.Stage(&r); err != nil {
			s.complain("post: %v", err)
			return
		}
	}
	s.posted++
}

// stamp numbers the words of the slot at an offset. Nobody but the NIC looks at them, and not before they are posted: plain
// stores will do, and take a tenth of the time of those that peers may watch.
func (s *stream) stamp(slot int) {
	if s.Stamp == 0 {
		return
	}
	_ = s.source.Load64(slot + s.Stride - 8) // panics if the slot is not inside
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&s.source.Bytes()[slot])), s.Stride/8)
	step := max(1, s.StampEvery/8)
	for i := step - 1; i < len(words); i += step {
		words[i] = s.posted * s.Stamp
	}
}

func (s *stream) slotShift() int {
	if s.Slots == 0 {
		return 0
	}
	return int(s.posted%uint64(s.Slots)) * s.Stride
}

// Step checks that completions come in posting order, and that nothing succeeds behind a failure.
func (s *stream) Step(c *verbs.Completion) {
	tag := uint64(c.Tag)
	if tag < s.last {
		s.complain("request %d completed after request %d", tag, s.last-1)
	}
	s.last = tag + 1
	switch {
	case c.Status == verbs.OK && s.state.Failure != verbs.OK:
		s.complain("request %d succeeded behind one that ended %v", tag, s.state.Failure)
	case c.Status != verbs.OK && s.state.Failure == verbs.OK:
		s.state.Failure = c.Status
	case c.Status == verbs.Flushed:
		s.state.Flushed++
	case c.Status != verbs.OK:
		s.complain("request %d ended %v behind one that ended %v, not Flushed", tag, c.Status, s.state.Failure)
	}
	if want := s.Round[tag%uint64(len(s.Round))]; c.Op != want.Op {
		s.complain("request %d completed as %v, it was a %v", tag, c.Op, want.Op)
	} else if c.Status == verbs.OK && uint64(c.Bytes) != want.Bytes() {
		s.complain("request %d of %d bytes completed with %d", tag, want.Bytes(), c.Bytes)
	}
	s.refill()
}

func (s *stream) complain(format string, args ...any) {
	if s.state.Complaint == "" {
		s.state.Complaint = fmt.Sprintf(format, args...)
	}
}

package verbstest

import (
	"fmt"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
)

// This file is a worker that adds to a remote word, for tests of atomics.

// Increment tries to add one to a remote word, so many times: by FetchAdd, which always succeeds, or by CompareSwap from
// what the word may hold by then. Attempts are made in batches of Window, so that they meet those of other peers; the
// attempts of a batch expect the word to be one more each. Rounds counts those that succeeded. Result: ID.
type Increment struct {
	Pair     int
	Op       verbs.Op // OpFetchAdd or OpCompareSwap
	At       verbs.RemoteSpan
	Memory   int // takes the old values: Window words
	Window   int // at most the depth of the send queue
	Attempts uint64
}

type increment struct {
	Increment
	port      loop.Port
	pair      *verbs.QueuePair
	memory    *verbs.Memory
	base      uint64 // the first attempt of the batch expects this
	last      uint64 // the newest value that was seen: old, or put there
	completed uint64
	state     streamStatus
}

func (c Increment) carryOut(a *agent) (r Result, err error) {
	s := &increment{Increment: c}
	if s.pair, err = a.pairs.get(c.Pair); err != nil {
		return Result{}, err
	}
	if s.memory, err = a.memories.get(c.Memory); err != nil {
		return Result{}, err
	}
	if s.port, err = a.loop.Add(s); err != nil {
		return Result{}, err
	}
	s.postBatch()
	return Result{ID: a.streams.put(s)}, nil
}

func (s *increment) postBatch() {
	s.base = s.last
	for i := range s.Window {
		expected := s.base + uint64(i)
		r := verbs.Request{Tag: s.port.Tag(uint64(i)), Op: s.Op, Span: s.memory.Span(8*i, 8), Remote: s.At,
			Compare: expected, Swap: 1}
		if s.Op == verbs.OpCompareSwap {
			r.Swap = expected + 1
		}
		if err := s.pair.Stage(&r); err != nil {
			s.complain("post: %v", err)
			return
		}
		s.state.Requests++
	}
}

// Step looks at the old value. The word only rises, and one's own additions are in it.
func (s *increment) Step(c *verbs.Completion) {
	s.completed++
	if c.Status != verbs.OK {
		s.state.Failure = c.Status
		return
	}
	old := s.memory.Load64(8 * int(c.Tag))
	if old < s.last {
		s.complain("the word went back from %d to %d", s.last, old)
	}
	s.last = old
	if s.Op == verbs.OpFetchAdd || old == s.base+uint64(c.Tag) {
		s.state.Rounds++
		s.last++
	}
	if s.completed == s.state.Requests && !s.status().Ended {
		s.postBatch()
	}
}

func (s *increment) status() streamStatus {
	state := s.state
	over := state.Failure != verbs.OK || state.Complaint != "" || state.Requests >= s.Attempts
	state.Ended = over && s.completed == state.Requests
	return state
}

func (s *increment) refill() {}
func (s *increment) stop()   { s.Attempts = s.state.Requests }

func (s *increment) complain(format string, args ...any) {
	if s.state.Complaint == "" {
		s.state.Complaint = fmt.Sprintf(format, args...)
	}
}

package verbstest

import (
	"fmt"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
)

// Increment adds one to a remote word, Times times, one at a time: by FetchAdd, or by a CompareSwap that is repeated
// with what it found until it succeeds. Result: ID.
type Increment struct {
	Pair   int
	Op     verbs.Op // OpFetchAdd or OpCompareSwap
	At     verbs.RemoteSpan
	Memory int // its first word takes the old values
	Times  uint64
}

type increment struct {
	Increment
	port   loop.Port
	pair   *verbs.QueuePair
	memory *verbs.Memory
	guess  uint64 // what the word is believed to hold
	state  StreamStatus
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
	s.post()
	return Result{ID: a.streams.put(s)}, nil
}

func (s *increment) post() {
	r := verbs.Request{Tag: s.port.Tag(s.state.Requests), Op: s.Op, Span: s.memory.Span(0, 8), Remote: s.At,
		Compare: s.guess, Swap: 1}
	if s.Op == verbs.OpCompareSwap {
		r.Swap = s.guess + 1
	}
	if err := s.pair.Stage(&r); err != nil {
		s.complain("post: %v", err)
		return
	}
	s.state.Requests++
}

// Step looks at the old value. The word only rises, and one's own additions are in it.
func (s *increment) Step(c *verbs.Completion) {
	if c.Status != verbs.OK {
		s.state.Failure = c.Status
		return
	}
	old := s.memory.Load64(0)
	if old < s.guess {
		s.complain("the word went back from %d to %d", s.guess, old)
	}
	if s.Op == verbs.OpFetchAdd || old == s.guess {
		s.state.Rounds++
		old++
	}
	s.guess = old
	if !s.status().Ended {
		s.post()
	}
}

func (s *increment) status() StreamStatus {
	state := s.state
	state.Ended = state.Failure != verbs.OK || state.Complaint != "" || state.Rounds == s.Times
	return state
}

func (s *increment) refill() {}
func (s *increment) stop()   { s.Times = s.state.Rounds + 1 }

func (s *increment) complain(format string, args ...any) {
	if s.state.Complaint == "" {
		s.state.Complaint = fmt.Sprintf(format, args...)
	}
}

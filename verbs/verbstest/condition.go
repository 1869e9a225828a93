package verbstest

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// This file is what a test can wait for.

// Until waits until a condition holds at the end. It is the only command that waits. Result: that of Then, which is carried
// out in the same moment, if there is one.
type Until struct {
	Condition Condition
	Then      Command
}

func (c Until) carryOut(*agent) (Result, error) {
	return Result{}, fmt.Errorf("verbstest: until nothing")
}

// Condition is something that a test can wait for. Its String completes the sentence "wait until …".
type Condition interface {
	fmt.Stringer
	holds(a *agent) bool
}

// Ended holds when at least N completions of a class have been collected and not taken.
type Ended struct {
	Queue    uint32
	AnyQueue bool
	Class    Class
	N        int
}

func (c Ended) holds(a *agent) bool {
	n := 0
	for i := range a.ended {
		w := &a.ended[i]
		if (c.AnyQueue || w.Queue == c.Queue) && classOf(w.Op) == c.Class {
			n++
		}
	}
	return n >= c.N
}

func (c Ended) String() string {
	if c.AnyQueue {
		return fmt.Sprintf("%d %v have completed", c.N, c.Class)
	}
	return fmt.Sprintf("%d %v of queue pair %d have completed", c.N, c.Class, c.Queue)
}

// StreamAt holds when a stream, sink or increment has done at least N rounds, or has ended.
type StreamAt struct {
	Stream int
	N      uint64
}

func (c StreamAt) holds(a *agent) bool {
	s, err := a.streams.get(c.Stream)
	return err == nil && (s.status().Rounds >= c.N || s.status().Ended)
}

func (c StreamAt) String() string { return fmt.Sprintf("stream %d has done %d rounds", c.Stream, c.N) }

// StreamEnded holds when nothing of a stream is outstanding any more and nothing will be posted.
type StreamEnded struct{ Stream int }

func (c StreamEnded) holds(a *agent) bool {
	s, err := a.streams.get(c.Stream)
	return err == nil && s.status().Ended
}

func (c StreamEnded) String() string { return fmt.Sprintf("stream %d has ended", c.Stream) }

// StateIs holds when a queue pair is in a state.
type StateIs struct {
	Pair  int
	State verbs.State
}

func (c StateIs) holds(a *agent) bool {
	q, err := a.pairs.get(c.Pair)
	return err == nil && q.State() == c.State
}

func (c StateIs) String() string { return fmt.Sprintf("pair %d is %v", c.Pair, c.State) }

// Watched holds when a watcher has seen its word change at least Changes times, or has a complaint.
type Watched struct {
	Watch   int
	Changes uint64
}

func (c Watched) holds(a *agent) bool {
	w, err := a.watches.get(c.Watch)
	if err != nil {
		return false
	}
	changes, complaint := w.report()
	return changes >= c.Changes || complaint != ""
}

func (c Watched) String() string {
	return fmt.Sprintf("watcher %d has seen %d changes", c.Watch, c.Changes)
}

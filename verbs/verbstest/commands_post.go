package verbstest

import (
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// This file is the commands that start something, and those that take what has completed.

// Connect connects a queue pair. It completes as a control of the pair.
type Connect struct {
	Pair int
	Tag  uint64
	Peer verbs.Address
}

func (c Connect) carryOut(a *agent) (Result, error) {
	q, err := a.pairs.get(c.Pair)
	if err != nil {
		return Result{}, err
	}
	return Result{}, q.Connect(a.port.Tag(c.Tag), c.Peer)
}

// Post stages receives and then requests on a queue pair, in order, and flushes. It stops at the first that is not
// accepted. Result: Count, how many of both were. What was accepted is flushed in any case.
type Post struct {
	Pair     int
	Receives []verbs.Receive
	Requests []verbs.Request
	Scribble []scribble // done right after the flush, before anything else can happen at this end
}

// scribble overwrites a word of a memory.
type scribble struct {
	Memory int
	Offset int
	Value  uint64
}

func (c Post) carryOut(a *agent) (Result, error) {
	q, err := a.pairs.get(c.Pair)
	if err != nil {
		return Result{}, err
	}
	n, err := a.stage(q, c)
	if flushed := q.Flush(); err == nil {
		err = flushed
	}
	for _, s := range c.Scribble {
		m, missing := a.memories.get(s.Memory)
		if missing != nil {
			return Result{}, missing
		}
		m.Store64(s.Offset, s.Value)
	}
	return Result{Count: n, Room: q.Room(), ReceiveRoom: q.ReceiveRoom()}, err
}

func (a *agent) stage(q *verbs.QueuePair, c Post) (n int, err error) {
	for _, r := range c.Receives {
		r.Tag = a.port.Tag(uint64(r.Tag))
		if err := q.StageReceive(&r); err != nil {
			return n, err
		}
		n++
	}
	for _, r := range c.Requests {
		r.Tag = a.port.Tag(uint64(r.Tag))
		if err := q.Stage(&r); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// PostPool posts shared receives. Result: Count, Room.
type PostPool struct {
	Pool     int
	Receives []verbs.Receive
}

func (c PostPool) carryOut(a *agent) (Result, error) {
	s, err := a.pools.get(c.Pool)
	if err != nil {
		return Result{}, err
	}
	n := 0
	for _, r := range c.Receives {
		r.Tag = a.port.Tag(uint64(r.Tag))
		if err = s.StageReceive(&r); err != nil {
			break
		}
		n++
	}
	if flushed := s.Flush(); err == nil {
		err = flushed
	}
	return Result{Count: n, Room: s.Room()}, err
}

// SetQueueAccess changes a queue pair's gate. Snapshot is taken in the very step in which the change completes; Changed
// compares with it.
type SetQueueAccess struct {
	Pair     int
	Tag      uint64
	Access   verbs.Access
	Snapshot Snapshot
}

func (c SetQueueAccess) carryOut(a *agent) (Result, error) {
	q, err := a.pairs.get(c.Pair)
	if err != nil {
		return Result{}, err
	}
	a.arm(c.Tag, c.Snapshot)
	return Result{}, q.SetAccess(a.port.Tag(c.Tag), c.Access)
}

func (a *agent) arm(tag uint64, s Snapshot) {
	if s.Memory != 0 {
		a.armed[verbs.Tag(tag)] = s
	}
}

// SetMemoryAccess changes a memory's gate. Snapshot is as for SetQueueAccess. Result: Region as it was before; ask
// again after the completion, because the key may change.
type SetMemoryAccess struct {
	Memory   int
	Tag      uint64
	Access   verbs.Access
	Snapshot Snapshot
}

func (c SetMemoryAccess) carryOut(a *agent) (Result, error) {
	m, err := a.memories.get(c.Memory)
	if err != nil {
		return Result{}, err
	}
	a.arm(c.Tag, c.Snapshot)
	return Result{Region: regionOf(m)}, m.SetAccess(a.queue, a.port.Tag(c.Tag), c.Access)
}

// Reset resets a queue pair. It completes as a control of the pair.
type Reset struct {
	Pair int
	Tag  uint64
}

func (c Reset) carryOut(a *agent) (Result, error) {
	q, err := a.pairs.get(c.Pair)
	if err != nil {
		return Result{}, err
	}
	return Result{}, q.Reset(a.port.Tag(c.Tag))
}

// SetTimer asks for a timer, which completes as a control of queue 0.
type SetTimer struct {
	After time.Duration
	Tag   uint64
}

func (c SetTimer) carryOut(a *agent) (Result, error) {
	a.port.After(c.After, c.Tag)
	return Result{}, nil
}

// Class tells apart the completions whose order among each other is promised.
type Class uint8

// The classes.
const (
	Requests Class = iota // what the queue pair was asked to do
	Receives              // messages that arrived
	Controls              // Connect, SetAccess, Reset; timers
)

func (c Class) String() string { return [...]string{"requests", "receives", "controls"}[c] }

func classOf(op verbs.Op) Class {
	switch {
	case op.IsRequest():
		return Requests
	case op.IsReceive():
		return Receives
	}
	return Controls
}

// Take removes up to N completions of a class from what the end has collected, oldest first; of all queues if AnyQueue.
// Result: Completions.
type Take struct {
	Queue    uint32
	AnyQueue bool
	Class    Class
	N        int
}

func (c Take) carryOut(a *agent) (Result, error) {
	var r Result
	kept := a.ended[:0]
	for i := range a.ended {
		w := a.ended[i]
		if len(r.Completions) < c.N && (c.AnyQueue || w.Queue == c.Queue) && classOf(w.Op) == c.Class {
			r.Completions = append(r.Completions, w)
		} else {
			kept = append(kept, w)
		}
	}
	a.ended = kept
	return r, nil
}

package main

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/weft-fabric/weft/bench/pinned"
)

// side is what a process has, and does.
type side interface {
	hello() hello
	meet(other hello) error
	work() (outcome, error)
	close() error
}

// run runs an order between two processes, each on a core of its own, and returns what the near one has found.
func run(o order) (found outcome, err error) {
	if o.Warm == 0 {
		o.Warm = o.Count/10 + 1
	}
	there := o
	there.Far = true
	err = pinned.Two("near", "far", func(a, b *pinned.Process) error {
		var fromA, fromB hello
		if err := errors.Join(a.Send(o), b.Send(there), a.Receive(&fromA), b.Receive(&fromB)); err != nil {
			return err
		}
		var far outcome
		if err := errors.Join(a.Send(fromB), b.Send(fromA), a.Receive(&found), b.Receive(&far)); err != nil {
			return err
		}
		return errors.Join(a.Send("go"), b.Send("go"))
	})
	return found, err
}

// play is the role of both processes: take an order, meet, do the job, report, and go when the parent says so.
func play(parent *pinned.Line) error {
	// What allocates is to pay for it: the collector runs as it does in any program.
	debug.SetGCPercent(100)
	return pinned.Unlocked(func() (err error) {
		var o order
		if err := parent.Receive(&o); err != nil {
			return err
		}
		s, err := newSide(o)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		var other hello
		if err := errors.Join(parent.Send(s.hello()), parent.Receive(&other), s.meet(other)); err != nil {
			return err
		}
		found, err := s.work()
		if err != nil {
			return err
		}
		var next string
		return errors.Join(parent.Send(found), parent.Receive(&next))
	})
}

// newSide opens what an order needs.
func newSide(o order) (side, error) {
	switch {
	case o.Inline:
		return newHubSide(o)
	case o.Job == "get":
		return newWebSide(o)
	case jobs[o.Job].near == nil:
		return nil, fmt.Errorf("%q is no job", o.Job)
	}
	return newNodeSide(o)
}

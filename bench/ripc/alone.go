package main

import (
	"errors"
	"runtime/debug"

	"github.com/weft-fabric/weft/bench/pinned"
)

// aloneMicros is a round trip between two links that one thread turns, in microseconds: what the code of both ends takes, without
// anything that goes from one core to another.
func (o order) aloneMicros() (float64, error) {
	o.Warm = o.Count/10 + 1
	var found outcome
	err := pinned.One("alone", func(p *pinned.Process) error { return errors.Join(p.Send(o), p.Receive(&found)) })
	return found.Took.Seconds() * 1e6 / float64(o.Count), err
}

// playAlone is the role of a process that has both ends.
func playAlone(parent *pinned.Line) error {
	debug.SetGCPercent(100)
	var o order
	if err := parent.Receive(&o); err != nil {
		return err
	}
	found, err := callAlone(o)
	return errors.Join(err, parent.Send(found))
}

func callAlone(o order) (found outcome, err error) {
	near, err := newHubSide(o)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, near.close()) }()
	o.Far = true
	far, err := newHubSide(o)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, far.close()) }()
	near.beside = far
	if err := errors.Join(far.link.Connect(near.link.Address(), near.link.Terms()), near.meet(far.hello())); err != nil {
		return found, err
	}
	return near.call()
}

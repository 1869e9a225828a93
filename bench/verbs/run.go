package main

import (
	"errors"

	"github.com/weft-fabric/weft/bench/pinned"
)

// run runs an order between two processes, each on a core of its own.
func run(o order) (near, far outcome, err error) {
	o = o.withDefaults()
	err = pinned.Two("near", "far", func(a, b *pinned.Process) error {
		if err := introduce(a, b, o); err != nil {
			return err
		}
		if err := measureBetween(a, b, o, &near); err != nil {
			return err
		}
		if err := b.Receive(&far); err != nil {
			return err
		}
		return errors.Join(a.Send(word("go")), b.Send(word("go")))
	})
	return near, far, err
}

// introduce gives both processes the order, has them meet, and waits until both are ready.
func introduce(a, b *pinned.Process, o order) error {
	var fromA, fromB hello
	if err := errors.Join(a.Send(o), b.Send(o), a.Receive(&fromA), b.Receive(&fromB)); err != nil {
		return err
	}
	var ready word
	return errors.Join(a.Send(fromB), b.Send(fromA), a.Receive(&ready), b.Receive(&ready))
}

// measureBetween starts both, the far one first, and takes what the near one found. If the order is so, the far one is
// stopped meanwhile: it does its job before, which is to post its receives and sleep, and goes on afterwards.
func measureBetween(a, b *pinned.Process, o order, found *outcome) error {
	if err := b.Send(word("start")); err != nil {
		return err
	}
	if !o.Stop {
		return errors.Join(a.Send(word("start")), a.Receive(found))
	}
	if err := b.Stop(); err != nil {
		return err
	}
	return errors.Join(a.Send(word("start")), a.Receive(found), b.Continue())
}

// runAlone runs a near job between two devices of one process, on one core.
func runAlone(o order) (found outcome, err error) {
	o = o.withDefaults()
	err = pinned.One("alone", func(p *pinned.Process) error { return errors.Join(p.Send(o), p.Receive(&found)) })
	return found, err
}

// playAlone is the role of a process that has both sides. The far one only has its receives posted.
func playAlone(parent *pinned.Line) (err error) {
	var o order
	if err := parent.Receive(&o); err != nil {
		return err
	}
	near, err := newSide(o)
	if err != nil {
		return err
	}
	far, err := newSide(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, near.close(), far.close()) }()
	if err := errors.Join(connect(near.end, far.end, 0, 0), near.ends(1, 0), far.ends(1, 0), far.postReceives()); err != nil {
		return err
	}
	near.peer = far.hello().Memory
	found, err := nearJobs[o.Near](near)
	return errors.Join(err, parent.Send(found))
}

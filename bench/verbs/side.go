package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/weft-fabric/weft/bench/pinned"
	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

// side is one end of a connection, and what its job needs.
type side struct {
	*end
	order order
	peer  verbs.RemoteSpan    // the other side's memory
	got   [1]verbs.Completion // one at a time: each is looked at alone
}

// patience is when a peer is given up. On a machine that others use, one that polls may get no core for more than a second.
const patience = 10 * time.Second

// newSide makes an end on the order's lane, with memory that has been touched.
func newSide(o order) (*side, error) {
	nic, err := soft.New(soft.Config{Lanes: o.Lane, PeerTimeout: patience, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return nil, err
	}
	e, err := newEnd(nic, 1, o.Depth)
	if err != nil {
		return nil, err
	}
	if e.memory, err = e.domain.Alloc(data+o.Size, verbs.RemoteAll); err != nil {
		return nil, err
	}
	clear(e.memory.Bytes()) // a store, so that every page is there; and the words of a ping-pong begin with zero
	return &side{end: e, order: o}, nil
}

func (s *side) hello() hello {
	return hello{s.pairs[0].Address(), s.memory.Remote(0, int(s.memory.Len()))}
}

// meet connects to the other side and writes there once: the first use of a key is set-up, not steady state.
func (s *side) meet(other hello) error {
	s.peer = other.Memory
	if err := s.pairs[0].Connect(0, other.Address); err != nil {
		return err
	}
	if err := s.ends(1, 0); err != nil {
		return err
	}
	if err := s.pairs[0].Write(0, s.memory.Span(touched, 8), s.peer.Sub(touched, 8), 0); err != nil {
		return err
	}
	return s.ends(1, 0)
}

// wide are the spans of what a bandwidth is measured with, after filling the near one.
func (s *side) wide() (verbs.Span, verbs.RemoteSpan) {
	fill(s.memory.Bytes()[data:])
	return s.memory.Span(data, s.order.Size), s.peer.Sub(data, uint64(s.order.Size))
}

// collect takes what has ended. If that is nothing it sleeps after spin, unless spin is never, until something may have.
func (s *side) collect(spin time.Duration) ([]verbs.Completion, error) {
	n, err := s.queue.Poll(s.got[:])
	if n == 0 && err == nil && spin != never {
		err = s.queue.WaitUntil(clock.Never, spin)
	}
	for i := range s.got[:n] {
		if s.got[i].Status != verbs.OK {
			return nil, verbs.CompletionError(&s.got[i])
		}
	}
	return s.got[:n], err
}

// ends waits until n operations have ended.
func (s *side) ends(n int, spin time.Duration) error {
	for n > 0 {
		got, err := s.collect(spin)
		if err != nil {
			return err
		}
		n -= len(got)
	}
	return nil
}

// playSide is the role of both processes: take an order, meet, do the job, report, and go when the parent says so.
func playSide(jobs map[string]job, name func(order) string) pinned.Role {
	return func(parent *pinned.Line) (err error) {
		var o order
		if err := parent.Receive(&o); err != nil {
			return err
		}
		run := jobs[name(o)]
		if run == nil {
			return fmt.Errorf("%q is no job", name(o))
		}
		s, err := newSide(o)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		var other hello
		if err := errors.Join(parent.Send(s.hello()), parent.Receive(&other)); err != nil {
			return err
		}
		if err := s.meet(other); err != nil {
			return fmt.Errorf("meet on the %v lane: %w", o.Lane, err)
		}
		return s.work(parent, run)
	}
}

// word is what the parent says when it is time for the next step, and a side when it is there.
type word string

// work does the job when the parent says so. A side that is done stays until the parent has heard of both.
func (s *side) work(parent *pinned.Line, run job) error {
	var next word
	if err := errors.Join(parent.Send(word("ready")), parent.Receive(&next)); err != nil {
		return err
	}
	found, err := run(s)
	if err != nil {
		return err
	}
	return errors.Join(parent.Send(found), parent.Receive(&next))
}

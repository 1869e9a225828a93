package main

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// hubSide is one end of a link whose loop is turned by hand, as a program does that is a machine itself.
type hubSide struct {
	order  order
	device *verbs.Device
	domain *verbs.Domain
	queue  *verbs.CompletionQueue
	loop   *loop.Loop
	hub    *link.Hub
	link   *link.Link

	isReady  bool
	failed   error
	answered int       // calls: by the other side, or by this one
	spare    []*answer // that are not under way
}

func newHubSide(o order) (s *hubSide, err error) {
	s = &hubSide{order: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.device, err = openDevice(o.Lane); err != nil {
		return s, err
	}
	if s.domain, err = s.device.NewDomain(); err != nil {
		return s, err
	}
	if s.queue, err = s.device.NewCompletionQueue(1 << 13); err != nil {
		return s, err
	}
	if s.loop, err = loop.New(loop.Config{Completions: s.queue, Waiting: loop.Polling()}); err != nil {
		return s, err
	}
	if s.hub, err = link.NewHub(link.Config{Domain: s.domain, Loop: s.loop, Handler: s}); err != nil {
		return s, err
	}
	s.link, err = s.hub.NewLink()
	return s, err
}

// openDevice opens a software NIC with one lane.
func openDevice(lane soft.Lanes) (*verbs.Device, error) {
	nic, err := soft.New(soft.Config{Lanes: lane, PeerTimeout: patience})
	if err != nil {
		return nil, err
	}
	return verbs.Open(nic)
}

func (s *hubSide) hello() hello { return hello{Address: s.link.Address(), Terms: s.link.Terms()} }

func (s *hubSide) meet(other hello) error {
	if err := s.link.Connect(other.Address, other.Terms); err != nil {
		return err
	}
	return s.until(func() bool { return s.isReady })
}

// until turns the loop until something is so.
func (s *hubSide) until(so func() bool) error {
	for !so() {
		if _, err := s.loop.Turn(); err != nil {
			return err
		}
		if s.failed != nil {
			return s.failed
		}
	}
	return nil
}

func (s *hubSide) work() (outcome, error) {
	if s.order.Far {
		return outcome{}, s.until(func() bool { return s.answered == s.order.Warm+s.order.Count })
	}
	return s.call()
}

// call calls, and calls again when the answer is there.
func (s *hubSide) call() (outcome, error) {
	call := &link.Outgoing{Owner: s, Items: []link.Piece{{Bytes: make([]byte, s.order.Size)}}}
	call.Head = wire.Head{Type: wire.Call, From: wire.NameID("near"), To: wire.NameID("far")}
	return s.order.timed(func(n int) error {
		for range n {
			call.Reset()
			if err := s.link.Send(call); err != nil {
				return err
			}
			before := s.answered
			if err := s.until(func() bool { return s.answered != before }); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *hubSide) close() (failed error) {
	if s.hub != nil {
		failed = s.hub.Close()
	}
	if s.loop != nil {
		failed = errors.Join(failed, s.loop.Close())
	}
	if s.queue != nil {
		failed = errors.Join(failed, s.queue.Close())
	}
	if s.domain != nil {
		failed = errors.Join(failed, s.domain.Close())
	}
	if s.device != nil {
		failed = errors.Join(failed, s.device.Close())
	}
	return failed
}

// answer is an answer on its way, and the slot of its call, whose items it sends back.
type answer struct {
	link.Outgoing
	side *hubSide
	call *link.Slot
}

// Arrived implements link.Handler.
func (s *hubSide) Arrived(l *link.Link, m *wire.Message, call *link.Slot) {
	if len(s.spare) == 0 {
		a := &answer{side: s}
		a.Owner = a
		s.spare = append(s.spare, a)
	}
	a := s.spare[len(s.spare)-1]
	s.spare = s.spare[:len(s.spare)-1]
	a.Reset()
	a.call = call
	a.Head = wire.Head{Type: wire.Answer, From: m.Head.To, To: m.Head.From, Number: m.Head.Number}
	a.Items = a.Items[:0]
	for _, item := range m.Items.All() {
		a.Items = append(a.Items, link.Piece{Bytes: item})
	}
	if err := l.Send(&a.Outgoing); err != nil {
		s.failed = err
	}
}

// Sent implements link.Owner.
func (a *answer) Sent(_ *link.Outgoing, err error) {
	a.call.Release()
	a.side.answered++
	a.side.spare = append(a.side.spare, a)
	if err != nil {
		a.side.failed = err
	}
}

// Answered implements link.Owner: nobody answers an answer.
func (a *answer) Answered(*link.Outgoing, *link.Slot, error) {}

// Returned implements link.Owner: it lends nothing.
func (a *answer) Returned(*link.Outgoing, error) {}

// Sent implements link.Owner.
func (s *hubSide) Sent(_ *link.Outgoing, err error) {
	if err != nil {
		s.failed = err
	}
}

// Answered implements link.Owner.
func (s *hubSide) Answered(_ *link.Outgoing, slot *link.Slot, err error) {
	if err != nil {
		s.failed = err
		return
	}
	slot.Release()
	s.answered++
}

// Returned implements link.Owner: it lends nothing.
func (s *hubSide) Returned(*link.Outgoing, error) {}

// Ready implements link.Handler.
func (s *hubSide) Ready(*link.Link) { s.isReady = true }

// Undelivered implements link.Handler.
func (s *hubSide) Undelivered(_ *link.Link, _ wire.ID, why error) { s.failed = why }

// GivenUp implements link.Handler: nobody gives up.
func (s *hubSide) GivenUp(*link.Link, wire.ID, uint64) {}

// Leaving implements link.Handler.
func (s *hubSide) Leaving(*link.Link) {}

// Ended implements link.Handler.
func (s *hubSide) Ended(_ *link.Link, why error) {
	s.failed = fmt.Errorf("the link has ended: %w", why)
}

package ripc

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/ripc/find"
)

// lapse says whether the lease of a service has run out, as that of a process that was stopped.
func lapse(s *Service, isLapsed bool) { s.claim.(*claim).isLapsed.Store(isLapsed) }

// queued has three messages wait in a service's queue, the last a call. It returns what waits for the answer.
func queued(t *testing.T, from *Node, s *Service) (answer func() (*Message, error)) {
	t.Helper()
	check(t, from.Send(patient(t), s.ID(), []byte("0")))
	check(t, from.Send(patient(t), s.ID(), []byte("1")))
	var m *Message
	var err error
	var done sync.WaitGroup
	done.Go(func() { m, err = from.Call(patient(t), s.ID(), []byte("2")) })
	until(t, s.node, "all have arrived", func() bool { return s.arrived.Len() == 3 })
	return func() (*Message, error) {
		done.Wait()
		return m, err
	}
}

func texts(t *testing.T, s *Service, n int) (got string) {
	t.Helper()
	for range n {
		m, err := s.Receive(patient(t))
		check(t, err)
		got += string(m.Bytes())
		if m.IsCall() {
			check(t, m.Answer(patient(t)))
		}
		m.Release()
	}
	return got
}

// A process that was stopped has messages in its queue that were taken in before. While it is not known whether the service is
// still its own, they wait; if it is, none is lost.
func TestWhatHasArrivedWaitsUntilTheClaimIsSure(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "kv")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	answer := queued(t, a, s)
	lapse(s, true)
	ctx, cancel := context.WithTimeout(context.Background(), 10*sureEvery)
	defer cancel()
	if m, err := s.Receive(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("received %v, %v", m, err)
	}
	lapse(s, false)
	if got := texts(t, s, 3); got != "012" {
		t.Errorf("received %q", got)
	}
	m, err := answer()
	check(t, err)
	m.Release()
}

// If it is not, none of them is handed out: a call goes to whoever has the service now.
func TestWhatHasArrivedAtASupersededServiceIsNotReceived(t *testing.T) {
	d := newDirectory()
	a, b, c := newNode(t, d, Config{}), newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "kv")
	check(t, err)
	answer := queued(t, a, s)
	lapse(s, true)
	var done sync.WaitGroup
	done.Go(func() {
		if m, err := s.Receive(patient(t)); !errors.Is(err, find.ErrSuperseded) {
			t.Errorf("received %v, %v", m, err)
		}
	})
	until(t, b, "the receiver has a message", func() bool { return s.arrived.Len() == 2 })
	next, err := c.Register(patient(t), "kv")
	check(t, err)
	done.Wait()
	if got := texts(t, next, 1); got != "2" {
		t.Errorf("whoever has the service now received %q", got)
	}
	m, err := answer()
	check(t, err)
	m.Release()
	check(t, s.Close())
	check(t, next.Close())
}

// Who was superseded may be stopped, and not say so. What the resolver hears is enough.
func TestWhatTheResolverHearsMovesTheTraffic(t *testing.T) {
	d := newDirectory()
	a, b, c := newNode(t, d, Config{}), newNode(t, d, Config{}), newNode(t, d, Config{})
	old := echo(t, b, "kv")
	ask(t, a, "kv", "before")
	d.mu.Lock()
	delete(d.holds, old.ID()) // it does not hear of it
	d.mu.Unlock()
	next, err := c.Register(patient(t), "kv")
	check(t, err)
	d.Tell(find.Change{What: find.Moved, Record: next.claim.Record()})
	check(t, a.Send(patient(t), next.ID(), []byte("after")))
	if got := texts(t, next, 1); got != "after" {
		t.Errorf("received %q", got)
	}
	check(t, next.Close())
}

package sim

import (
	"errors"
	"testing"

	"github.com/weft-fabric/weft/clock"
)

func TestWaitAndDeadlock(t *testing.T) {
	f := newFabric(t, Config{})
	a := newHost(t, f, NodeConfig{Name: "a"})
	if err := a.queue.Wait(clock.Never, 0); !errors.Is(err, ErrDeadlock) {
		t.Errorf("Wait says %v", err)
	}
	if err := f.RunUntil(func() bool { return false }, clock.Never); !errors.Is(err, ErrDeadlock) {
		t.Errorf("RunUntil says %v", err)
	}
	if err := f.RunUntil(func() bool { return false }, 50); !errors.Is(err, ErrLimit) || f.Now() != 50 {
		t.Errorf("RunUntil says %v at %v", err, f.Now())
	}
	must(t, a.queue.Wait(100, 0))
	if f.Now() != 100 {
		t.Errorf("waited until %v", f.Now())
	}
	woken := make(chan struct{})
	go func() { a.queue.Wake(); close(woken) }()
	<-woken
	must(t, a.queue.Wait(clock.Never, 0))
	f.At(120, a.queue.Wake)
	must(t, a.queue.Wait(clock.Never, 0))
	if f.Now() != 120 {
		t.Errorf("woken at %v", f.Now())
	}
}

// However often a queue is woken between two events, it is remembered once.
func TestWakesDoNotPileUp(t *testing.T) {
	f := newFabric(t, Config{})
	a := newHost(t, f, NodeConfig{Name: "a"})
	for range 10 {
		a.queue.Wake()
		must(t, a.queue.Wait(clock.Never, 0)) // returns before any event
	}
	if n := len(f.wakes.queues); n != 1 {
		t.Errorf("%d wakes are remembered", n)
	}
	s := &script{next: clock.Never, clock: f}
	a.queue.Drive(s)
	must(t, f.Run(10))
	for range 3 {
		a.queue.Wake()
		must(t, f.Run(f.now+10))
	}
	if len(s.turns) != 3 {
		t.Errorf("turns at %v for three wakes", s.turns)
	}
}

package loop_test

import (
	"context"
	"testing"
	"time"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

// looker looks often enough to be told from one that sleeps in between.
type looker struct {
	looks int
	then  func() // when it has looked a thousand times
}

func (l *looker) Step(*verbs.Completion) {}

func (l *looker) Scan() bool {
	if l.looks++; l.looks == 1000 {
		l.then()
	}
	return l.looks%2 == 0
}

// newPoller has a loop that polls, and that would not look in an hour if it waited for its queue.
func newPoller() *host {
	return newHostWith(soft.Config{Lanes: soft.InProcess}, loop.Config{Waiting: loop.Polling(), ScanEvery: time.Hour})
}

// A loop that polls looks all the time at what its scanners look at, whoever runs it. ScanEvery is for those who sleep.
func TestPollingLoopsScanAllTheTime(t *testing.T) {
	h := newPoller()
	defer h.close()
	if !h.loop.Polls() {
		t.Fatal("it does not poll")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	l := &looker{then: cancel}
	port, err := h.loop.Add(l)
	check(err)
	check(h.loop.Run(ctx))
	if n, err := h.loop.Turn(); l.looks < 1000 || err != nil || n != 1-l.looks%2 {
		t.Errorf("it has looked %d times; a turn has found %d, %v", l.looks, n, err)
	}
	port.Remove()
}

// Who drives a shared loop that polls finds what its scanners find, and lets others have their turn.
func TestSharedPollingLoopsScan(t *testing.T) {
	h := newPoller()
	defer h.close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var event loop.Event
	l := &looker{then: event.Set}
	shared, err := loop.NewShared(h.loop)
	check(err)
	check(shared.Do(func() {
		_, err := h.loop.Add(l)
		check(err)
	}))
	done := make(chan error)
	go func() { done <- shared.Await(ctx, &event) }()
	for range 100 {
		check(shared.Do(func() {})) // others get their turn meanwhile
	}
	if err := <-done; err != nil {
		t.Errorf("it has looked %d times: %v", l.looks, err)
	}
	check(shared.Close())
}

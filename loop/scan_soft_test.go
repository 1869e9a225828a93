package loop_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
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

// finder finds something in every turn.
type finder struct{ find func() }

func (f *finder) Step(*verbs.Completion) {}

func (f *finder) Scan() bool {
	f.find()
	return true
}

// share has a loop that polls, with a machine that always finds something, be shared.
func share(h *host, find func()) *loop.Shared {
	_, err := h.loop.Add(&finder{find})
	check(err)
	shared, err := loop.NewShared(h.loop)
	check(err)
	return shared
}

// askedContext says when somebody has asked for its channel: on a loop that never sleeps, only a follower does.
type askedContext struct {
	context.Context
	cancel context.CancelFunc
	once   sync.Once
	asked  chan struct{}
}

func newAskedContext() *askedContext {
	ctx, cancel := context.WithCancel(context.Background())
	return &askedContext{Context: ctx, cancel: cancel, asked: make(chan struct{})}
}

func (c *askedContext) Done() <-chan struct{} {
	c.once.Do(func() { close(c.asked) })
	return c.Context.Done()
}

// Who drives a loop that polls and is never out of work still lets a follower go whose context ends.
func TestAFollowerLeavesALoopThatIsNeverIdle(t *testing.T) {
	h := newPoller()
	defer h.close()
	var looks atomic.Int64
	shared := share(h, func() { looks.Add(1) })
	contexts := [2]*askedContext{newAskedContext(), newAskedContext()}
	var events [2]loop.Event
	ends := make(chan error, 2)
	for i, ctx := range contexts {
		defer ctx.cancel()
		go func() { ends <- shared.Await(ctx, &events[i]) }()
	}
	follower := contexts[0]
	select {
	case <-contexts[0].asked:
	case <-contexts[1].asked:
		follower = contexts[1]
	}
	for begin := looks.Load(); looks.Load() < begin+10; { // the other one drives by now
		runtime.Gosched()
	}
	follower.cancel()
	var first error
	select {
	case first = <-ends:
	case <-time.After(10 * time.Second):
	}
	if !errors.Is(first, context.Canceled) {
		t.Errorf("the follower: %v", first)
	}
	check(shared.Do(func() {
		events[0].Set()
		events[1].Set()
	}))
	check(shared.Close())
}

// A scan that panics ends the loop for all who share it.
func TestAPanicOfAScanEndsEveryWait(t *testing.T) {
	h := newPoller()
	defer h.close()
	isBroken := false
	shared := share(h, func() {
		if isBroken {
			panic("broken")
		}
	})
	const waiters = 4
	var events [waiters]loop.Event
	ends := make(chan any, waiters)
	for i := range events {
		go func() {
			defer func() {
				if r := recover(); r != nil {
					ends <- r
				}
			}()
			ends <- shared.Await(context.Background(), &events[i])
		}()
	}
	check(shared.Do(func() { isBroken = true }))
	for range waiters {
		if end := <-ends; end == nil {
			t.Error("a wait has ended well")
		}
	}
	if err := shared.Do(func() {}); err == nil {
		t.Error("the loop goes on")
	}
	if shared.Close() == nil {
		t.Error("close knows of nothing")
	}
}

// Many who wait for what a scan finds get it, whether others give up meanwhile or not.
func TestManyShareALoopThatPolls(t *testing.T) {
	h := newPoller()
	defer h.close()
	var wanted []*loop.Event
	shared := share(h, func() {
		if len(wanted) > 0 {
			wanted[0].Set()
			wanted = wanted[1:]
		}
	})
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for round := range 100 {
				var event loop.Event
				ctx, cancel := context.WithCancel(context.Background())
				check(shared.Do(func() { wanted = append(wanted, &event) }))
				if (i+round)%4 == 0 {
					go cancel()
				}
				if err := shared.Await(ctx, &event); err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("await: %v", err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	check(shared.Close())
}

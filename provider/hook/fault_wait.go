package hook

import (
	"runtime"
	"sync"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// next returns when a Poll would do something that the device does not know of: now, later or never.
func (q *faultyQueue) next() clock.Time {
	switch {
	case len(q.lateCall) > 0:
		return q.faults.clock.Now()
	case len(q.backlog) == 0 || q.backlog[0].awaits != 0:
		return clock.Never
	}
	return max(q.backlog[0].at, q.faults.clock.Now())
}

// faultyWaiter waits for the device and for the backlog.
type faultyWaiter struct {
	driver.Waiter
	sharing sharedWaiter // nil if the one inside cannot
	queue   *faultyQueue
}

func (w *faultyWaiter) Wait(until clock.Time, spin time.Duration) error {
	return w.wait(until, func(until clock.Time) error { return w.Waiter.Wait(until, spin) })
}

// WaitShared also tells the queue for how long: what others leave in the backlog may need a Poll before.
func (w *faultyWaiter) WaitShared(lock sync.Locker, until clock.Time, spin time.Duration) error {
	return w.wait(until, func(until clock.Time) error {
		w.queue.waitsUntil = until
		defer func() { w.queue.waitsUntil = 0 }()
		return w.sharing.WaitShared(lock, until, spin)
	})
}

// wait waits as the plan says, inside with the given function.
func (w *faultyWaiter) wait(until clock.Time, inside func(until clock.Time) error) error {
	if w.queue.faults.tells(LateWait, Event{}) {
		return w.sleep(until, inside)
	}
	if w.queue.faults.tells(RestlessWait, Event{}) {
		runtime.Gosched() // to starve the others would be another lie
		return inside(w.queue.faults.clock.Now())
	}
	return inside(min(until, w.queue.next()))
}

// sleep takes completions from the device only so that the device does not end the wait for them.
func (w *faultyWaiter) sleep(until clock.Time, inside func(until clock.Time) error) error {
	for w.queue.faults.clock.Now() < until {
		if err := w.queue.pull(); err != nil {
			return err
		}
		if err := inside(until); err != nil {
			return err
		}
	}
	return nil
}

// Wake may be called from any goroutine, so it looks at nothing but the plan.
func (w *faultyWaiter) Wake() {
	if !w.queue.faults.tells(LostWake, Event{}) {
		w.Waiter.Wake()
	}
}

// faultyDriven also has the runner called for the backlog.
type faultyDriven struct {
	driver.Driven
	queue *faultyQueue
}

func (d faultyDriven) Drive(runner driver.Runner) {
	if runner == nil {
		d.Driven.Drive(nil)
		return
	}
	d.Driven.Drive(faultyRunner{runner, d.queue})
}

// faultyRunner asks for a turn when the backlog needs one, which the device inside cannot know.
type faultyRunner struct {
	driver.Runner
	queue *faultyQueue
}

func (r faultyRunner) Next() clock.Time { return min(r.Runner.Next(), r.queue.next()) }

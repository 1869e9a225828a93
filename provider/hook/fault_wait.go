package hook

import (
	"runtime"
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
	queue *faultyQueue
}

func (w *faultyWaiter) Wait(until clock.Time, spin time.Duration) error {
	if w.queue.faults.tells(LateWait, Event{}) {
		return w.sleep(until, spin)
	}
	if w.queue.faults.tells(RestlessWait, Event{}) {
		runtime.Gosched() // to starve the others would be another lie
		return nil
	}
	return w.Waiter.Wait(min(until, w.queue.next()), spin)
}

// sleep takes completions from the device only so that the device does not end the wait for them.
func (w *faultyWaiter) sleep(until clock.Time, spin time.Duration) error {
	for w.queue.faults.clock.Now() < until {
		if err := w.queue.pull(); err != nil {
			return err
		}
		if err := w.Waiter.Wait(until, spin); err != nil {
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

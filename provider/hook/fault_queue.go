package hook

import (
	"slices"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

const (
	pollBatch  = 64 // completions taken from the device at a time
	earlyPolls = 16 // by EarlyAccess: polls between the completion and the change
)

// faultyQueue takes completions from the device into a backlog, changes them on the way, and reports from there.
type faultyQueue struct {
	driver.CompletionQueue
	faults *faults
	pairs  map[uint32]*faultyQueuePair // open queue pairs by number

	scratch  [pollBatch]driver.Completion
	backlog  []entry // in the order in which they are reported
	lateCall []lateCall
	swallow  []driver.Completion // to come, of calls that were reported already; Tag, Queue and Op count
}

// entry is a completion on its way. It, and what is behind it, is reported when nothing holds it any more.
type entry struct {
	driver.Completion
	polls    int        // still to pass without reporting it
	at       clock.Time // not before
	swapping driver.Tag // ticket of a CompareSwap that is being repeated; 0: none
}

// lateCall is something that the device should have been told at once.
type lateCall struct {
	polls int // still to pass before it is told
	pair  *faultyQueuePair
	call  func() error
}

// Poll is the heart of the wrapper: late calls, then what the device has, then what may be reported.
func (q *faultyQueue) Poll(into []driver.Completion) (int, error) {
	lateErr := q.callLate()
	err := q.pull()
	if err == nil {
		err = lateErr
	}
	return q.drain(into), err
}

func (q *faultyQueue) pull() error {
	n, err := q.CompletionQueue.Poll(q.scratch[:])
	for _, c := range q.scratch[:n] {
		q.take(c)
	}
	return err
}

// take changes one completion from the device and puts it in the backlog.
func (q *faultyQueue) take(c driver.Completion) {
	p := q.pairs[c.Queue]
	switch {
	case q.swallows(&c):
	case p != nil && c.Op.IsRequest():
		p.completed(c)
	default:
		q.report(p, nil, c)
		if p != nil && c.Op == driver.OpReset {
			p.resetting, p.failed, p.hasBehind = false, false, false
		}
	}
}

func (q *faultyQueue) drain(into []driver.Completion) int {
	n := 0
	for n < len(into) && n < len(q.backlog) && q.due(&q.backlog[n]) {
		into[n] = q.backlog[n].Completion
		n++
	}
	if n < len(into) && n < len(q.backlog) && q.backlog[n].polls > 0 {
		q.backlog[n].polls--
	}
	q.backlog = slices.Delete(q.backlog, 0, n)
	return n
}

func (q *faultyQueue) due(e *entry) bool {
	return e.polls == 0 && e.swapping == 0 && (e.at == 0 || e.at <= q.faults.clock.Now())
}

// push appends to the backlog. What it can hold is bounded by the depth of the queue inside, as far as the plan does
// not double completions.
func (q *faultyQueue) push(e entry) { q.backlog = append(q.backlog, e) }

// swapped lets go of the completion of a repeated CompareSwap.
func (q *faultyQueue) swapped(queue uint32, ticket driver.Tag) {
	for i := range q.backlog {
		if e := &q.backlog[i]; e.swapping == ticket && e.Queue == queue {
			e.swapping = 0
		}
	}
}

// later makes a call after a number of polls.
func (q *faultyQueue) later(polls int, p *faultyQueuePair, call func() error) {
	q.lateCall = append(q.lateCall, lateCall{polls, p, call})
}

// callLate makes the calls whose time has come, and returns the first error.
func (q *faultyQueue) callLate() error {
	var first error
	waiting := q.lateCall[:0]
	for _, l := range q.lateCall {
		if l.polls > 0 {
			l.polls--
			waiting = append(waiting, l)
		} else if err := l.call(); err != nil && first == nil {
			first = err
		}
	}
	q.lateCall = waiting
	return first
}

// changeAccess makes a change of access, unless the plan has it ignored or made too late. The completion c says how a
// change that succeeds is reported.
func (q *faultyQueue) changeAccess(c driver.Completion, ignore Lie, p *faultyQueuePair, change func() error) error {
	e := eventOf(&c, 0)
	if q.faults.tells(ignore, e) {
		q.push(entry{Completion: c})
		return nil
	}
	if q.faults.tells(EarlyAccess, e) {
		q.push(entry{Completion: c})
		q.later(earlyPolls, p, func() error {
			q.swallow = append(q.swallow, c)
			return change()
		})
		return nil
	}
	return change()
}

// swallows reports whether a completion was reported before the device made it.
func (q *faultyQueue) swallows(c *driver.Completion) bool {
	for i, s := range q.swallow {
		if s.Tag == c.Tag && s.Queue == c.Queue && s.Op == c.Op {
			q.swallow = slices.Delete(q.swallow, i, i+1)
			return true
		}
	}
	return false
}

// forget drops what has to do with a queue pair that is closed.
func (q *faultyQueue) forget(p *faultyQueuePair) {
	delete(q.pairs, p.number)
	q.backlog = slices.DeleteFunc(q.backlog, func(e entry) bool { return e.Queue == p.number })
	q.lateCall = slices.DeleteFunc(q.lateCall, func(l lateCall) bool { return l.pair == p })
}

// next returns when a Poll would do something that the device does not know of: now, later or never.
func (q *faultyQueue) next() clock.Time {
	switch {
	case len(q.lateCall) > 0:
		return q.faults.clock.Now()
	case len(q.backlog) == 0 || q.backlog[0].swapping != 0:
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
	f := w.queue.faults
	if f.tells(LateWait, Event{}) {
		return w.sleep(until, spin)
	}
	next := w.queue.next()
	if next <= f.clock.Now() {
		return nil
	}
	return w.Waiter.Wait(min(until, next), spin)
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

type faultyRunner struct {
	driver.Runner
	queue *faultyQueue
}

func (r faultyRunner) Next() clock.Time { return min(r.Runner.Next(), r.queue.next()) }

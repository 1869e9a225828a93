package hook

import (
	"slices"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// pollBatch is how many completions are taken from the device at a time.
const pollBatch = 64

// faultyQueue takes completions from the device into a backlog, changes them on the way, and reports from there.
type faultyQueue struct {
	driver.CompletionQueue
	waiter driver.Waiter // the one inside, nil if it cannot be slept on
	faults *faults
	pairs  map[uint32]*faultyQueuePair // open queue pairs by number

	scratch  [pollBatch]driver.Completion
	backlog  []entry // in the order in which they are reported
	lateCall []lateCall
	swallow  []driver.Completion // to come, of calls that were reported already; Tag, Queue and Op count

	waitsUntil clock.Time // for how long a goroutine waits that shares the queue with others; 0: none does
}

// entry is a completion on its way. It, and what is behind it, is reported when nothing holds it any more.
type entry struct {
	driver.Completion
	polls  int        // still to pass without reporting it
	at     clock.Time // not before
	awaits driver.Tag // ticket of a request of which more was posted; 0: none
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
	n := q.drain(into)
	if q.waitsUntil > 0 && q.next() < q.waitsUntil {
		q.waitsUntil = 0
		q.waiter.Wake() // it waits too long
	}
	return n, err
}

// pull moves what the device has to the backlog.
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
	case p == nil && (c.Op.IsRequest() || c.Op.IsReceive()): // its queue pair is closed: nobody knows its tag
	case c.Op.IsRequest():
		p.completed(c)
	default:
		q.report(p, nil, c)
		if p != nil && c.Op == driver.OpReset {
			p.resetting, p.failed, p.hasBehind = false, false, false
		}
	}
}

// drain reports from the backlog, in order, up to the first completion that is held.
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
	return e.polls == 0 && e.awaits == 0 && (e.at == 0 || e.at <= q.faults.clock.Now())
}

// push appends to the backlog. What it can hold is bounded by the depth of the queue inside, as far as the plan does
// not double completions.
func (q *faultyQueue) push(e entry) { q.backlog = append(q.backlog, e) }

// letGo lets go of a completion that awaited more.
func (q *faultyQueue) letGo(queue uint32, ticket driver.Tag) {
	for i := range q.backlog {
		if e := &q.backlog[i]; e.awaits == ticket && e.Queue == queue {
			e.awaits = 0
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

// forget drops what has to do with a queue pair that is closed.
func (q *faultyQueue) forget(p *faultyQueuePair) {
	delete(q.pairs, p.number)
	q.backlog = slices.DeleteFunc(q.backlog, func(e entry) bool { return e.Queue == p.number })
	q.lateCall = slices.DeleteFunc(q.lateCall, func(l lateCall) bool { return l.pair == p })
}

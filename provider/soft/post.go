package soft

import (
	"fmt"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Post carries out what it can at once, up to one quantum, and keeps the rest. Package verbs has seen to it that the
// requests are well-formed and fit: what is left to be found here are keys, bounds and access, and what is wrong with
// those ends as a completion. So Post takes all of list or, in New and Connecting, nothing.
func (q *QueuePair) Post(list []driver.Request) (n int, err error) {
	if err := q.enter(); err != nil {
		return 0, err
	}
	if phase := q.life.Load().phase(); phase < phaseReady {
		q.cq.exit()
		return 0, q.errorf("Post needs Ready, the queue pair is %v", phase.state())
	}
	q.requester.budget = copyQuantum
	for n < len(list) {
		n += q.accept(list[n:])
	}
	if q.wire != nil {
		q.wire.flush()
	}
	q.cq.exit()
	return n, nil
}

func (q *QueuePair) errorf(format string, args ...any) error {
	return fmt.Errorf("soft: queue pair %d: "+format, append([]any{q.number}, args...)...)
}

// accept carries out the front of list if nothing is before it and nothing is in its way: the common case, in which a
// request is never copied. Otherwise it goes to the backlog, with whatever progress it has made. It returns how many requests
// that were.
func (q *QueuePair) accept(list []driver.Request) int {
	r := &list[0]
	if q.wire != nil || q.device.pacer != nil || q.requester.backlog.count > 0 || r.After.Count > 0 || q.life.Load().phase() != phaseReady {
		q.setAside(r)
		return 1
	}
	if len(list) > 1 {
		if n := q.volley(list); n > 0 {
			return n
		}
	}
	v := arrived
	switch r.Op {
	case driver.OpSend, driver.OpSendImm:
		v = q.sendWhole(r)
	case driver.OpWrite:
		v = q.writeWhole(r)
	}
	if v == arrived {
		v = q.carry(r, nil)
	}
	if v.final() {
		q.conclude(r, v)
	} else {
		q.keep(r)
	}
	return 1
}

// setAside takes a request that is not carried out at once.
func (q *QueuePair) setAside(r *driver.Request) {
	l := q.life.Load()
	switch {
	case l.phase() != phaseReady:
		q.flushBacklog(l.unanswered())
		q.report(r.Tag, r.Op, driver.Flushed)
	case q.wire != nil:
		q.wire.accept(r)
	default:
		q.keep(r)
	}
}

// keep puts r into the backlog. The life that a chained request waits for is fixed now: its arrivals are counted since
// that life began, so those of a later one are not meant.
func (q *QueuePair) keep(r *driver.Request) {
	b := &q.requester.backlog
	q.owe()
	w := b.push(r, q.config.SendDepth)
	if r.After.Count > 0 {
		w.after = q.device.presentLife(r.After.Queue)
	}
	if r.Flags.Has(driver.Inline) {
		q.snapshot(w)
	}
	q.enlist()
}

// owe says that the backlog holds something that the device's goroutine must see to if the owner stays away.
func (q *QueuePair) owe() {
	if !q.requester.owes {
		q.requester.owes = true
		q.cq.owing++
	}
}

// unkeep removes the oldest request from the backlog and returns it. It stays valid until the next keep.
func (q *QueuePair) unkeep() *driver.Request {
	b := &q.requester.backlog
	w := b.front()
	w.after = nil // the ring keeps its entries: they must not keep what they waited for
	b.pop()
	if b.count == 0 && q.requester.owes {
		q.requester.owes = false
		q.cq.owing--
	}
	return &w.request
}

// advance carries out what it can of the backlog, up to one quantum, and says when to try again.
func (q *QueuePair) advance() clock.Time {
	q.requester.budget = copyQuantum
	for b := &q.requester.backlog; b.count > 0; {
		w := b.front()
		v := q.awaitArrival(w)
		switch {
		case v != arrived:
		case q.device.pacer != nil:
			v = q.carryPaced(w)
		default:
			v = q.carry(&w.request, w.taken)
		}
		switch v {
		case again:
			return soon
		case chained:
			return clock.Never
		case starved:
			return q.requester.deadline
		case unmapped:
			return q.requester.askBy
		case paced:
			return q.requester.allowed.since
		}
		q.conclude(q.unkeep(), v)
	}
	return clock.Never
}

// conclude reports how the oldest request ended. Requests take effect one after the other, so Fence asks for nothing.
func (q *QueuePair) conclude(r *driver.Request, v verdict) {
	q.requester.begin()
	if status := driver.Status(v); status != driver.OK {
		q.fail(r, status)
	} else if !r.Flags.Has(driver.Quiet) {
		q.report(r.Tag, r.Op, driver.OK).Bytes = uint32(r.Bytes())
	}
}

// report adds the completion of a request.
func (q *QueuePair) report(tag driver.Tag, op driver.Op, status driver.Status) *driver.Completion {
	return q.cq.report(q.source, tag, q.number, op, status)
}

// fail reports a request that failed, and puts both ends in Error. What waits behind it is flushed at once; the receives
// follow in the next turn, when the peer has left the gate. A target that has refused it knows why; for one that has
// not, this end is simply gone. The peer learns first: whoever finds this end broken can tell from its own which it was.
func (q *QueuePair) fail(r *driver.Request, status driver.Status) {
	q.report(r.Tag, r.Op, status)
	q.flushBacklog(driver.Flushed)
	l := q.life.Load()
	if status.Refused() {
		l.breakPeer(phaseFailed)
	} else {
		l.breakPeer(phaseOrphaned)
	}
	l.breakTo(phaseFailed)
	l.announceChained()
	q.enlist()
}

// PostReceive adds receives. In Error they are flushed at once, or as soon as the peer has left the gate. Package verbs
// posts the receives of a queue pair that shares them to their pool.
func (q *QueuePair) PostReceive(list []driver.Receive) (n int, err error) {
	if err := q.enter(); err != nil {
		return 0, err
	}
	defer q.cq.exit()
	l := q.life.Load()
	if err := l.reach(); err != nil {
		return 0, err
	}
	if err := q.pool.postAll(list); err != nil {
		return 0, err
	}
	if l.phase().broken() {
		q.enlist()
	}
	return len(list), nil
}

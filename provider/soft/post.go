package soft

import (
	"fmt"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Post carries out what it can at once, up to one quantum, and keeps the rest. It takes all of list, or the first n and
// an error that says what is wrong with the next: a request that can never be carried out is refused here, where the
// caller can see which one it was, while one that the peer or the memory does not allow ends as a completion.
func (q *QueuePair) Post(list []driver.Request) (n int, err error) {
	if err := q.enter(); err != nil {
		return 0, err
	}
	q.requester.budget = quantum
	for n < len(list) {
		if err = q.check(&list[n]); err != nil {
			break
		}
		q.accept(&list[n])
		n++
	}
	q.cq.exit()
	return n, err
}

// check reports a request that can never be carried out.
func (q *QueuePair) check(r *driver.Request) error {
	bytes := r.Bytes()
	switch {
	case !r.Op.IsRequest():
		return q.errorf("%v is not a request", r.Op)
	case !r.Flags.Valid():
		return q.errorf("%v: flags %#x are unknown", r.Op, uint8(r.Flags))
	case len(r.More) >= max(q.config.MaxSpans, 1):
		return q.errorf("%v of %d spans, most is %d", r.Op, 1+len(r.More), max(q.config.MaxSpans, 1))
	case bytes > maxMessage:
		return q.errorf("%v of %d bytes, most is %d", r.Op, bytes, maxMessage)
	case r.Flags.Has(driver.Inline) && (r.Op == driver.OpRead || r.Op.IsAtomic()):
		return q.errorf("%v cannot be Inline: it has no bytes to send", r.Op)
	case r.Flags.Has(driver.Inline) && bytes > uint64(q.config.MaxInline):
		return q.errorf("Inline %v of %d bytes, most is %d", r.Op, bytes, q.config.MaxInline)
	case r.Op.IsAtomic() && bytes != wordSize:
		return q.errorf("%v with %d bytes for the old value, want %d", r.Op, bytes, wordSize)
	case r.Op.IsAtomic() && r.Remote.Address%wordSize != 0:
		return q.errorf("%v at address %#x, which is not a multiple of %d", r.Op, r.Remote.Address, wordSize)
	case q.requester.backlog.count >= q.config.SendDepth:
		return q.errorf("%d requests are outstanding, most is %d", q.requester.backlog.count, q.config.SendDepth)
	}
	return q.checkState(r)
}

// checkState lets requests pass in Error too: they are flushed.
func (q *QueuePair) checkState(r *driver.Request) error {
	if phase := q.life.Load().phase(); phase < phaseReady {
		return q.errorf("%v needs Ready, the queue pair is %v", r.Op, phase.state())
	}
	return nil
}

func (q *QueuePair) errorf(format string, args ...any) error {
	return fmt.Errorf("soft: queue pair %d: "+format, append([]any{q.number}, args...)...)
}

// accept carries r out if nothing is before it and nothing is in its way: the common case, in which r is never copied.
// Otherwise r goes to the backlog, with whatever progress it has made.
func (q *QueuePair) accept(r *driver.Request) {
	l := q.life.Load()
	if l.phase() != phaseReady {
		q.flushBacklog(l.unanswered())
		q.report(r.Tag, r.Op, driver.Flushed)
		return
	}
	if q.requester.backlog.count == 0 && r.After.Count == 0 {
		if v := q.carry(r, nil); v.final() {
			q.conclude(r, v)
			return
		}
	}
	q.keep(r)
}

// keep puts r into the backlog. The life that a chained request waits for is fixed now: its arrivals are counted since
// that life began, so those of a later one are not meant.
func (q *QueuePair) keep(r *driver.Request) {
	b := &q.requester.backlog
	if b.count == 0 {
		q.cq.owing++
	}
	w := b.push(r, q.config.SendDepth)
	if r.After.Count > 0 {
		w.after = q.device.presentLife(r.After.Queue)
	}
	if r.Flags.Has(driver.Inline) {
		q.snapshot(w)
	}
	q.enlist()
}

// unkeep removes the oldest request from the backlog and returns it. It stays valid until the next keep.
func (q *QueuePair) unkeep() *driver.Request {
	b := &q.requester.backlog
	w := b.front()
	b.pop()
	if b.count == 0 {
		q.cq.owing--
	}
	return &w.request
}

// advance carries out what it can of the backlog, up to one quantum, and says when to try again.
func (q *QueuePair) advance() clock.Time {
	q.requester.budget = quantum
	for b := &q.requester.backlog; b.count > 0; {
		w := b.front()
		v := q.awaitArrival(w)
		if v == arrived {
			v = q.carry(&w.request, w.taken)
		}
		switch v {
		case again:
			return soon
		case chained:
			return clock.Never
		case starved:
			return q.requester.deadline
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

// PostReceive adds receives. In Error they are flushed at once, or as soon as the peer has left the gate.
func (q *QueuePair) PostReceive(list []driver.Receive) (n int, err error) {
	if err := q.enter(); err != nil {
		return 0, err
	}
	defer q.cq.exit()
	if q.pool.shared {
		return 0, q.errorf("its receives are shared: post them there")
	}
	l := q.life.Load()
	l.reach()
	if n, err = q.pool.postAll(list); err != nil {
		err = q.errorf("%w", err)
	}
	if l.phase().broken() {
		q.enlist()
	}
	return n, err
}

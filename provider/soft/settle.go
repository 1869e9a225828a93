package soft

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// settle flushes everything outstanding of a broken life, and reports whether that is done. Requests are flushed at
// once. Receives must wait until the peer has left the gate: it may be filling one.
func (q *QueuePair) settle(l *life) bool {
	q.flushBacklog(l.unanswered())
	q.hangUp()
	if !l.gate.empty() {
		return false
	}
	q.reap(l)
	q.flushReceives(l)
	q.turnGrants(l)
	q.settleReset(l)
	return true
}

// flushBacklog ends all requests that wait: the oldest with the given status, the others as Flushed.
func (q *QueuePair) flushBacklog(oldest driver.Status) {
	q.unwatch()
	for q.requester.backlog.count > 0 {
		r := q.unkeep()
		q.report(r.Tag, r.Op, oldest)
		oldest = driver.Flushed
	}
	q.requester.begin()
}

// unanswered is how the oldest request of a broken life ends: if the peer is gone, it is the one that was not answered.
func (l *life) unanswered() driver.Status {
	if l.phase() == phaseOrphaned {
		return driver.RetryExceeded
	}
	return driver.Flushed
}

// reap reports the arrivals that have not been reported yet. The peer publishes a failed arrival before it breaks this
// end; who has seen the one must also see the other.
func (q *QueuePair) reap(l *life) {
	for arrived := l.arrived.Load(); q.reaped < arrived; q.reaped++ {
		n := l.order[q.reaped&uint64(len(l.order)-1)]
		s := &q.pool.slots[n]
		if s.taker != q.number {
			panic(fmt.Sprintf("soft: receive in slot %d arrived at queue pair %d, but %d took it", n, q.number, s.taker))
		}
		done := q.cq.report(q.pool.source, s.tag, q.number, s.op, s.status)
		done.Bytes, done.Imm = s.length, s.imm
		if s.status != driver.OK && l.breakTo(phaseFailed) {
			l.announceChained() // the peer would have, had it come first
		}
		q.pool.vacate(n)
	}
}

// flushReceives ends the receives that no message will take any more: one that was being filled, and those that are
// posted, unless other queue pairs share them. The gate is empty and the phase is broken, so the owner stands in for
// the taker.
func (q *QueuePair) flushReceives(l *life) {
	if n := l.filling.Swap(0); n != 0 {
		q.flushReceive(n - 1)
	}
	for !q.pool.shared {
		n, ok := q.pool.take()
		if !ok {
			return
		}
		q.flushReceive(n)
	}
}

func (q *QueuePair) flushReceive(slot uint32) {
	q.cq.report(q.pool.source, q.pool.slots[slot].tag, q.number, driver.OpReceive, driver.Flushed)
	q.pool.vacate(slot)
}

// abandon drops everything outstanding at Close: it is flushed, and then the completions are withdrawn, so that none is
// seen of a queue pair that is closed. Those of shared receives stay: the pool lives on, and whoever posted to it must
// hear what became of each.
func (q *QueuePair) abandon(l *life) {
	q.flushBacklog(l.unanswered())
	q.hangUp()
	q.reap(l)
	q.flushReceives(l)
	q.cq.done.withdraw(q.source)
	q.pool.removeUser(q)
}

package soft

import (
	"fmt"
	"runtime"

	"github.com/weft-fabric/weft/verbs/driver"
)

// settle flushes everything outstanding of a broken life, and reports whether that is done. Requests are flushed at
// once. Receives must wait until the peer has left the gate: it may be filling one.
func (q *QueuePair) settle(l *life) bool {
	q.flushBacklog(l.unanswered())
	q.hangUp()
	if !l.left(l.gate.look()) {
		return false
	}
	q.reap(l)
	l.announceChained()
	q.flushReceives()
	q.turnGrants(l)
	q.settleReset(l)
	return true
}

// flushBacklog ends all requests that wait: the oldest with the given status, the others as Flushed. A Revoke that has taken
// effect meanwhile has not failed: it is often what has broken the life, because the peer went on and was refused.
func (q *QueuePair) flushBacklog(oldest driver.Status) {
	q.unwatch()
	if q.requester.backlog.count > 0 && q.isRevoked(&q.requester.backlog.front().request) {
		if r := q.unkeep(); !r.Flags.Has(driver.Quiet) {
			q.report(r.Tag, r.Op, driver.OK)
		}
	}
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
	arrived := l.arrived.Load()
	if q.reaped == arrived {
		return
	}
	for ; q.reaped < arrived; q.reaped++ {
		a := l.order[q.reaped&uint64(len(l.order)-1)] // read once: a neighbour may change it
		if !q.hasTaken(&a) {
			q.spoiled(l, a.slot)
			return
		}
		if a.status != driver.OK && q.wire != nil && l.phase() == phaseReady {
			break // the peer must hear of it first; then the wire breaks the life, and both are seen together
		}
		done := q.cq.report(q.pool.source, q.pool.tags[a.slot], q.number, a.op, a.status)
		done.Bytes, done.Imm = a.length, a.imm
		if a.status != driver.OK && l.breakTo(phaseFailed) {
			l.announceChained() // the peer would have, had it come first
		}
		q.pool.vacate(a.slot)
	}
	l.announceChained() // a peer of another process does not
}

// hasTaken reports whether an arrival is what it must be: of a receive that the peer has taken, in its turn, complete, and no longer than
// that. What was posted is the owner's to know: another process may have claimed what is vacant.
func (q *QueuePair) hasTaken(a *arrival) bool {
	p := q.pool
	if int(a.slot) >= len(p.slots) || p.taker(a.slot) != q.number || !a.op.IsReceive() || a.status >= driver.StatusCount {
		return false
	}
	if uint64(a.length) > p.fits[a.slot] && a.op != driver.OpReceiveWriteImm { // whose bytes are elsewhere
		return false
	}
	return p.shared || a.slot == p.line[p.reported&uint64(len(p.line)-1)]
}

// spoiled breaks a life whose words make no sense. As long as no other process could write to them, that is a mistake of ours; a
// neighbour may have written what it liked, even to those of others.
func (q *QueuePair) spoiled(l *life, slot uint32) {
	if !q.device.neighbours.met.Load() {
		panic(fmt.Sprintf("soft: slot %d arrived at queue pair %d, which has not taken it", slot, q.number))
	}
	q.reaped = l.arrived.Load()
	l.breakPeer(phaseFailed)
	if l.breakTo(phaseFailed) {
		l.announceChained()
	}
}

// flushReceives ends the receives that no message will take any more: one that was being filled, and those that are
// posted, unless other queue pairs share them. The gate is empty and the phase is broken, so nobody takes meanwhile.
func (q *QueuePair) flushReceives() {
	p := q.pool
	if p.shared {
		q.flushTaken()
		return
	}
	p.taken.Store(p.count)
	for p.reported < p.count { // in the order in which they were posted
		q.flushReceive(p.line[p.reported&uint64(len(p.line)-1)])
	}
}

// flushTaken ends the shared receives that the peer has taken and will not fill, and those that nobody will.
func (q *QueuePair) flushTaken() {
	if q.device.neighbours.met.Load() {
		q.pool.mend() // the peer may have been one that spoils it
	} else {
		q.pool.skip()
	}
	for n := range uint32(len(q.pool.slots)) {
		if q.pool.taker(n) == q.number || q.pool.isStray(n) {
			q.flushReceive(n)
		}
	}
}

func (q *QueuePair) flushReceive(slot uint32) {
	q.cq.report(q.pool.source, q.pool.tags[slot], q.number, driver.OpReceive, driver.Flushed)
	q.pool.vacate(slot)
}

// retire ends a life that is settled: nobody looks at its words any more but peers that are late.
func (q *QueuePair) retire(l *life) {
	q.domain.retire(l)
	if t := l.lastTie(); t != nil {
		t.retire()
	} else {
		l.giveLater()
	}
}

// giveLater gives the words back: those that are used inside the gate at once, the others when the last peer in this
// process has forgotten the life.
func (l *life) giveLater() {
	if a := l.domain.device.arena; a != nil {
		give[arrival](a, l.orderRef, len(l.order))
		runtime.AddCleanup(l, func(at ref) { give[end](a, at, 1) }, l.endRef)
	}
}

// abandon drops everything outstanding at Close: it is flushed, and then the completions are withdrawn, so that none is
// seen of a queue pair that is closed. Those of shared receives stay: the pool lives on, and whoever posted to it must
// hear what became of each.
func (q *QueuePair) abandon(l *life) {
	q.flushBacklog(l.unanswered())
	q.hangUp()
	q.reap(l)
	q.flushReceives()
	q.cq.done.withdraw(q.source)
	q.pool.removeUser(q)
}

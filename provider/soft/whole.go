package soft

import "github.com/weft-fabric/weft/verbs/driver"

// This file is the straight way of most messages: a Send of one span, into a receive of one span, in one visit. What is unusual
// about a message, or stands in its way, is left to carry, which begins anew, with the receive if one was taken by then.

// sendWhole carries such a Send out, and returns arrived if it has not.
func (q *QueuePair) sendWhole(r *driver.Request) verdict {
	me, peer := &q.requester, q.requester.peer
	if len(r.More) > 0 || uint64(r.Span.Length)-1 >= me.budget || q.domain.fragile.Load() || peer.fragile.Load() {
		return arrived
	}
	if peer.neighbour != nil {
		peer.gate.mark = stretch{}
	}
	mark := peer.gate.enter(me.left)
	peer.pause(pauseEntered)
	mark, done := q.deliver(r, mark)
	peer.pause(pauseWritten)
	if me.left = mark + 1; !peer.gate.leave(mark) {
		return verdict(driver.RemoteAccess)
	}
	if !done {
		return arrived
	}
	me.budget -= uint64(r.Span.Length)
	peer.announce()
	return verdict(driver.OK)
}

// deliver is sendWhole inside the gate. It returns the mark there, which is another one when a piece of a neighbour's memory was
// named, and whether the message was reported.
func (q *QueuePair) deliver(r *driver.Request, mark uint64) (uint64, bool) {
	me, peer := &q.requester, q.requester.peer
	from := q.domain.keys.local(r.Span.Key)
	if !from.covers(r.Span) || !peer.phase().accepts() {
		return mark, false
	}
	peer.pause(pauseAdmitted)
	n, ok := peer.pool.take(peer.number, &peer.gate, mark)
	if !ok {
		return mark, false
	}
	me.slot = n + 1
	peer.pause(pauseTaken)
	to := peer.pool.slots[n].landing // read once: a neighbour may change it
	into := peer.keys.local(to.first.Key)
	if to.more > 0 || r.Span.Length > to.first.Length || into == nil ||
		!into.contains(to.first.Address, uint64(to.first.Length)) {
		return mark, false
	}
	if peer.neighbour != nil {
		if !peer.gate.reenter(mark, stretch{to.first.Key, to.first.Address - into.base, uint64(r.Span.Length)}) {
			return mark, false
		}
		mark += 2
		peer.pause(pauseNamed)
	}
	return mark, peer.land(r, from, n, into, to.first.Address)
}

// land copies a message into the receive that it has taken, and reports it. All words were asked before the gate was told what
// is going to be written to, so they are asked again.
func (l *life) land(r *driver.Request, from *region, slot uint32, into *region, at uint64) bool {
	if !l.phase().accepts() || !into.allows(0) {
		return false
	}
	copy(into.slice(at, uint64(r.Span.Length)), from.slice(r.Span.Address, uint64(r.Span.Length)))
	l.arrive(r.Op, r.Imm, slot, uint64(r.Span.Length), driver.OK)
	l.pause(pauseReported)
	return true
}

package soft

import (
	"runtime"

	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is the straight way of most short writes: of one piece, to what the last such write went to, in one visit. What is unusual about
// one, or stands in its way, is left to carry, which begins anew.

// writeWhole carries such a Write out, and returns arrived if it has not.
func (q *QueuePair) writeWhole(r *driver.Request) verdict {
	n := uint64(r.Span.Length)
	if len(r.More) > 0 || n > q.requester.budget || !q.isAimedAt(r.Remote, n) {
		return arrived
	}
	mark := q.beginWrite(r.Remote, n)
	from := q.domain.keys.local(r.Span.Key)
	done := from.covers(r.Span) && q.strike(from.slice(r.Span.Address, n), r.Remote.Address)
	switch {
	case !q.endWrite(mark):
		return verdict(driver.RemoteAccess)
	case !done:
		return arrived
	}
	q.requester.budget -= n
	return verdict(driver.OK)
}

// WriteNow implements driver.ImmediateWriter. On a wire nothing is ever aimed at.
func (q *QueuePair) WriteNow(from []byte, to driver.RemoteSpan) (done bool) {
	if q.enter() != nil {
		return false
	}
	n := uint64(len(from))
	if q.requester.backlog.count == 0 && q.life.Load().phase() == phaseReady && q.isAimedAt(to, n) {
		mark := q.beginWrite(to, n)
		done = q.strike(from, to.Address)
		done = q.endWrite(mark) && done
	}
	q.cq.exit()
	return done
}

// isAimedAt reports whether the last short write went to the same memory, and this one lies inside.
func (q *QueuePair) isAimedAt(to driver.RemoteSpan, n uint64) bool {
	me := &q.requester
	return me.aimed.region != nil && me.aimedKey == to.Key && n-1 < volleyWrite && me.aimed.contains(to.Address, n) &&
		!q.domain.fragile.Load() && !me.peer.fragile.Load()
}

// beginWrite enters the peer's gate, and says there what is going to be written.
func (q *QueuePair) beginWrite(to driver.RemoteSpan, n uint64) (mark uint64) {
	me, peer := &q.requester, q.requester.peer
	if peer.neighbour != nil {
		peer.gate.mark = stretch{me.aimed.localKey, to.Address - me.aimed.base, n}
	}
	mark = peer.gate.enter(me.left)
	peer.pause(pauseEntered)
	return mark
}

// endWrite leaves the gate, and reports whether the requester was inside to the last.
func (q *QueuePair) endWrite(mark uint64) (inside bool) {
	me := &q.requester
	me.peer.pause(pauseWritten)
	me.left = mark + 1
	inside = me.peer.gate.leave(mark)
	runtime.KeepAlive(me.aimed.region) // or the collector might unmap a view while it is used
	return inside
}

// strike writes, inside the gate, if all words allow it that must. It reports whether it has.
func (q *QueuePair) strike(src []byte, at uint64) bool {
	peer, to, n := q.requester.peer, &q.requester.aimed, uint64(len(src))
	if !peer.phase().accepts() || !driver.Access(peer.access.Load()).Allows(driver.RemoteWrite) || !to.admits(driver.RemoteWrite, at, n) {
		return false
	}
	peer.pause(pauseAdmitted)
	dst := to.slice(at, n)
	if pausing && peer.neighbour != nil {
		copy(dst[:n/2], src)
		peer.pause(pauseHalfway)
	}
	place(dst, src)
	return true
}

// takeAim remembers what a short write goes to, for the next one.
func (v *visit) takeAim() {
	if r := v.request; r.Op == driver.OpWrite && v.q.device.pacer == nil && v.total <= volleyWrite && v.target.region != nil {
		me := &v.q.requester
		me.aimed, me.aimedKey = v.target, r.Remote.Key
	}
}

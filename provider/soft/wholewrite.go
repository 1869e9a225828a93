package soft

import (
	"runtime"

	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is the straight way of most short writes: of one span, to what the last such write went to, in one visit. What is unusual about
// one, or stands in its way, is left to carry, which begins anew.

// writeWhole carries such a Write out, and returns arrived if it has not.
func (q *QueuePair) writeWhole(r *driver.Request) verdict {
	me, peer, to := &q.requester, q.requester.peer, &q.requester.aimed
	n := uint64(r.Span.Length)
	if to.region == nil || r.Remote.Key != me.aimedKey || len(r.More) > 0 || n-1 >= volleyWrite || n > me.budget || !to.contains(r.Remote.Address, n) ||
		q.domain.fragile.Load() || peer.fragile.Load() {
		return arrived
	}
	if peer.neighbour != nil {
		peer.gate.mark = stretch{to.localKey, r.Remote.Address - to.base, n}
	}
	mark := peer.gate.enter(me.left)
	peer.pause(pauseEntered)
	done := q.strike(r, to)
	peer.pause(pauseWritten)
	me.left = mark + 1
	inside := peer.gate.leave(mark)
	runtime.KeepAlive(to.region) // or the collector might unmap a view while it is used
	switch {
	case !inside:
		return verdict(driver.RemoteAccess)
	case !done:
		return arrived
	}
	me.budget -= n
	return verdict(driver.OK)
}

// strike is writeWhole inside the gate: all words that must allow it are asked. It reports whether the bytes were written.
func (q *QueuePair) strike(r *driver.Request, to *target) bool {
	peer, n := q.requester.peer, uint64(r.Span.Length)
	from := q.domain.keys.local(r.Span.Key)
	if !from.covers(r.Span) || !peer.phase().accepts() || !driver.Access(peer.access.Load()).Allows(driver.RemoteWrite) ||
		!to.admits(driver.RemoteWrite, r.Remote.Address, n) {
		return false
	}
	peer.pause(pauseAdmitted)
	src, dst := from.slice(r.Span.Address, n), to.slice(r.Remote.Address, n)
	if pausing && peer.neighbour != nil {
		copy(dst[:n/2], src)
		peer.pause(pauseHalfway)
	}
	place(dst, src)
	return true
}

// takeAim remembers what a short write goes to, for the next one.
func (v *visit) takeAim() {
	if r := v.request; r.Op == driver.OpWrite && v.total <= volleyWrite && v.target.region != nil {
		me := &v.q.requester
		me.aimed, me.aimedKey = v.target, r.Remote.Key
	}
}

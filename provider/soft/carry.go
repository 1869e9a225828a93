package soft

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// verdict is how far a request came: a driver.Status if it has ended, or why it has not.
type verdict uint8

const (
	again    verdict = 0x80 + iota // the quantum is used up
	starved                        // the peer has no receive
	chained                        // the arrival that the request waits for has not come
	unmapped                       // what a key names is not mapped yet
	paced                          // the device has sent what it may for now
	arrived                        // nothing is in the way: the request may start, or go on
)

// final reports whether the request has ended.
func (v verdict) final() bool { return v < again }

// carry moves the oldest request on, within the budget. inline holds its bytes if they were taken before. Everything
// happens between the marks at the peer's gate, and only while the peer's words allow it.
func (q *QueuePair) carry(r *driver.Request, inline []byte) verdict {
	if r.Op.IsLocal() {
		return q.carryLocal(r)
	}
	me := &q.requester
	var v visit // not a literal, which would be built elsewhere, copied, and stall on its own stores
	v.q, v.peer, v.request, v.inline, v.total = q, me.peer, r, inline, r.Bytes()
	if v.peer.neighbour != nil {
		v.peer.gate.mark = stretch{}
	}
	if r.Op.HasRemote() && v.total > 0 {
		if ends := v.aim(r.Remote.Key); ends != arrived {
			return ends
		}
	}
	v.takeAim()
	v.mark = me.peer.gate.enter(me.left)
	v.pause(pauseEntered)
	var ends verdict
	if v.isFragile() {
		ends = v.carryFragile()
	} else {
		ends = v.carry()
	}
	v.pause(pauseWritten)
	if me.left = v.mark + 1; !me.peer.gate.leave(v.mark) {
		ends = verdict(driver.RemoteAccess)
	}
	runtime.KeepAlive(v.target.region) // or the collector might unmap a view while it is used
	if ends == starved {
		return q.starve()
	}
	if ends.final() && r.Op.TakesReceive() {
		me.peer.announce()
	}
	return ends
}

// starve begins, or goes on with, waiting for a receive at the peer. The time runs from the first try: it is kept while
// the request is the oldest.
func (q *QueuePair) starve() verdict {
	now := clock.Real.Now()
	if q.requester.deadline == 0 {
		q.requester.deadline = now.Add(q.config.ReceiverWait)
	}
	if now < q.requester.deadline {
		return starved
	}
	return verdict(driver.ReceiverNotReady)
}

// awaitArrival says whether the request may start: arrived, chained, or Flushed if what it waits for can not come.
func (q *QueuePair) awaitArrival(w *waiting) verdict {
	if w.request.After.Count == 0 {
		return arrived
	}
	v := w.chainState()
	if v == chained {
		q.watch(w.after)
		v = w.chainState()
	}
	if v == arrived {
		w.request.After = driver.Arrival{}
	}
	return v
}

// watch leaves the queue pair's bell with l, and with nobody else.
func (q *QueuePair) watch(l *life) {
	if q.requester.watched != l {
		q.unwatch()
	}
	q.requester.watched = l
	l.watch(q.bell)
}

// unwatch fetches the bell back. Otherwise a life that goes on would keep the bells of all that ever waited in vain.
func (q *QueuePair) unwatch() {
	if l := q.requester.watched; l != nil {
		l.unwatch(q.bell)
		q.requester.watched = nil
	}
}

// chainState looks at the queue pair that a request is chained to. One that is not connected yet has received nothing
// yet: it is waited for. One that is closed, or was never there, will receive nothing.
//
// What arrives before a break counts, and so does what was inside the gate by then. So the phase is read first, then the
// gate, then the count: if it is broken and nobody is inside, the count is complete.
func (w *waiting) chainState() verdict {
	if w.after == nil {
		return verdict(driver.Flushed)
	}
	broken := w.after.phase().broken()
	inside := broken && !w.after.gate.empty()
	switch {
	case w.after.received() >= w.request.After.Count:
		return arrived
	case inside:
		return again // whoever it is leaves within a quantum
	case broken:
		return verdict(driver.Flushed)
	}
	return chained
}

// snapshot copies the bytes of an Inline request that has to wait. If they are not there, the request is left to fail
// when its time comes.
func (q *QueuePair) snapshot(w *waiting) {
	me := &q.requester
	if me.peer.neighbour != nil {
		me.peer.gate.mark = stretch{} // nothing is written there
	}
	mark := me.peer.gate.enter(me.left)
	q.takeInline(w)
	me.peer.gate.leave(mark)
	me.left = mark + 1
}

// takeInline is snapshot inside a gate.
func (q *QueuePair) takeInline(w *waiting) {
	r := &w.request
	if local, ok := cover(q.domain.keys, r.Span, r.More); ok {
		if w.inline == nil {
			w.inline = make([]byte, q.config.MaxInline)
		}
		w.taken = w.inline[:r.Bytes()]
		var from pieces
		from.open(q.domain.keys, local, r.Span, r.More)
		from.readInto(w.taken)
	}
}

// visit is one stay of a requester inside the peer's gate.
type visit struct {
	q       *QueuePair
	peer    *life
	request *driver.Request
	inline  []byte  // bytes of the message that were taken before; nil: its spans are used
	total   uint64  // length of the message
	target  target  // that the remote key names; zero: none, or none needed
	local   *region // of the first span; nil: it is empty
	mark    uint64  // at the peer's gate
}

// carry asks all the words that must allow the request, then does as much of it as it may. A request that takes several
// visits is asked about anew in each: what was revoked in between stops it half-way.
func (v *visit) carry() verdict {
	r := v.request
	if v.inline == nil {
		var ok bool
		if v.local, ok = cover(v.q.domain.keys, r.Span, r.More); !ok {
			return v.unusable()
		}
	}
	if ends := v.admitted(); ends != arrived {
		return ends
	}
	if r.Op.HasRemote() && v.total > 0 && !v.reachable(r.Op.Needs()) {
		return v.unreachable()
	}
	v.pause(pauseAdmitted)
	switch r.Op {
	case driver.OpWrite:
		return v.write()
	case driver.OpRead:
		return v.read()
	case driver.OpWriteImm:
		return v.writeImm()
	case driver.OpSend, driver.OpSendImm:
		return v.send()
	}
	return v.atomic()
}

// aim finds what a remote key names, and returns arrived if the visit may begin.
func (v *visit) aim(key uint64) verdict {
	if isLent(key) {
		v.target = v.peer.borrow(key)
	} else {
		v.target.region = v.q.requester.find(key)
	}
	if v.peer.neighbour != nil {
		return v.prepare()
	}
	return arrived
}

// admitted asks the words of the peer's end.
func (v *visit) admitted() verdict {
	if phase := v.peer.phase(); !phase.accepts() {
		return v.lost(phase)
	}
	if need := v.request.Op.Needs(); need != 0 && !driver.Access(v.peer.access.Load()).Allows(need) {
		return verdict(driver.RemoteInvalid)
	}
	return arrived
}

// unusable is how a request ends whose own spans are bad, unless the peer is gone anyway.
func (v *visit) unusable() verdict {
	if phase := v.peer.phase(); !phase.accepts() {
		return v.lost(phase)
	}
	return verdict(driver.LocalProtection)
}

// unreachable is how a request ends that the target does not let in. If its pages are being moved, or were moved since
// they were mapped here, the request waits.
func (v *visit) unreachable() verdict {
	if v.target.region != nil && v.target.memory == nil && (v.target.stale() || v.target.word.Load()&(moving|alive) == moving|alive) {
		return again
	}
	return verdict(driver.RemoteAccess)
}

// lost is how a request ends whose peer takes no more: it is gone, or it has refused something of this end.
func (v *visit) lost(peer phase) verdict {
	if peer >= phaseOrphaned || v.q.life.Load().phase() == phaseOrphaned {
		return verdict(driver.RetryExceeded)
	}
	return verdict(driver.Flushed)
}

// open makes p the requester's bytes that have not been moved yet.
func (v *visit) open(p *pieces) {
	if v.inline != nil {
		p.here = v.inline
	} else {
		p.open(v.q.domain.keys, v.local, v.request.Span, v.request.More)
	}
	p.skip(v.q.requester.moved)
}

// reachable reports whether the target lets the whole message in, not only what this visit moves.
func (v *visit) reachable(need driver.Access) bool {
	return v.target.admits(need, v.request.Remote.Address, v.total)
}

// share returns how many bytes to move during this visit. A rest too short to hold a whole aligned word is not left
// behind, so that the last word of a write is always stored by its last visit.
func (v *visit) share() uint64 {
	me := &v.q.requester
	if left := v.total - me.moved; left < me.budget+2*wordSize {
		return left
	}
	return me.budget
}

// moved counts n more bytes, and says whether that was all.
func (v *visit) moved(n uint64) verdict {
	me := &v.q.requester
	me.budget -= min(n, me.budget)
	if me.moved += n; me.moved < v.total {
		return again
	}
	return verdict(driver.OK)
}

// write copies to the target. Only the last visit publishes: until then the last word must stay as it was.
func (v *visit) write() verdict {
	n, done := v.share(), v.q.requester.moved
	if n == 0 {
		return v.moved(0)
	}
	dst := v.target.slice(v.request.Remote.Address+done, n)
	if pausing && v.peer.neighbour != nil {
		v.writeHalf(dst)
	}
	if n == v.total && n == uint64(v.request.Span.Length) && v.inline == nil { // most writes: one span, one visit
		place(dst, v.local.slice(v.request.Span.Address, n))
		return v.moved(n)
	}
	var src pieces
	if v.open(&src); done+n == v.total {
		src.publish(dst)
	} else {
		src.readInto(dst)
	}
	return v.moved(n)
}

// read copies from the target. A single aligned word is read as one.
func (v *visit) read() verdict {
	n := v.share()
	if n == 0 {
		return v.moved(0)
	}
	var dst pieces
	v.open(&dst)
	src := v.target.slice(v.request.Remote.Address+v.q.requester.moved, n)
	if n < v.total { // a part of much: the last word is nothing special, and apart from the rest it would slow that down
		dst.copyFrom(src)
	} else {
		dst.writeFrom(src)
	}
	if v.peer.neighbour != nil && !v.reachable(driver.RemoteRead) {
		return v.unreachable() // the pages may have been moved away meanwhile: then nothing was read
	}
	return v.moved(n)
}

// atomic works on the target's word with the CPU's own atomics, and so composes with them.
func (v *visit) atomic() verdict {
	r := v.request
	at := word(v.target.slice(r.Remote.Address, wordSize))
	var old [wordSize]byte
	binary.NativeEndian.PutUint64(old[:], fetch(at, r))
	var dst pieces
	v.open(&dst)
	dst.writeFrom(old[:])
	return verdict(driver.OK)
}

// fetch carries an atomic out and returns the value before.
func fetch(at *uint64, r *driver.Request) uint64 {
	if r.Op == driver.OpFetchAdd {
		return atomic.AddUint64(at, r.Swap) - r.Swap
	}
	for {
		old := atomic.LoadUint64(at)
		if old != r.Compare || atomic.CompareAndSwapUint64(at, old, r.Swap) {
			return old
		}
	}
}

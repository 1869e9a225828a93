package soft

import (
	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is what a visit to a neighbour does besides: it maps what it needs, and writes down what it will change.

// prepare returns arrived if the target of the visit is known: then it may begin.
func (v *visit) prepare() verdict {
	r := v.request
	if pending := v.mapTarget(); pending {
		return v.q.awaitMapping()
	}
	if v.target.region != nil && r.Op != driver.OpRead && v.target.contains(r.Remote.Address, v.total) {
		v.peer.gate.mark = stretch{key: v.target.localKey,
			offset: r.Remote.Address - v.target.base + v.q.requester.moved, length: v.share()}
	}
	return arrived
}

// mapTarget sees to it that what the request names is mapped, as far as it can be.
func (v *visit) mapTarget() (pending bool) {
	switch {
	case v.target.loan != nil:
		return v.mapLoan()
	case isLent(v.request.Remote.Key): // it is not
		return false
	case v.target.region == nil || v.target.stale():
		return v.fetchTarget()
	}
	return false
}

// mapLoan asks for the memory that the loan is a piece of, when that is first used: the next loans cost no question.
func (v *visit) mapLoan() (pending bool) {
	keys, key := v.peer.keys.(*farKeys), v.target.loan.localKey()
	if !keys.mapSpan(driver.Span{Length: 1, Key: key}, v.q.bell) {
		return true
	}
	v.target.region = keys.local(key)
	return false
}

// fetchTarget asks for the memory that the request names.
func (v *visit) fetchTarget() (pending bool) {
	me, key := &v.q.requester, v.request.Remote.Key
	me.forget(key)
	v.target.region, pending = v.peer.keys.(*farKeys).fetch(viewKey{0, key}, v.q.bell)
	if v.target.region != nil {
		me.remember(v.target.region)
	}
	return pending
}

// awaitMapping begins, or goes on with, waiting for a neighbour to say what a key names.
func (q *QueuePair) awaitMapping() verdict {
	now := clock.Real.Now()
	if q.requester.askBy == 0 {
		q.requester.askBy = now.Add(q.device.config.PeerTimeout)
	}
	if now < q.requester.askBy {
		return unmapped
	}
	return verdict(driver.RetryExceeded)
}

// fillFar copies the next size bytes of a Send into the spans of a neighbour's receive, one after the other: the gate has
// room for one stretch.
func (v *visit) fillFar(span driver.Span, rest []driver.Span, from *pieces, size uint64) verdict {
	skip := v.q.requester.moved
	for ; size > 0; span, rest = rest[0], rest[1:] {
		if length := uint64(span.Length); skip < length {
			part := min(length-skip, size)
			if ends := v.fillSpan(span, skip, part, from); ends != arrived {
				return ends
			}
			size -= part
			skip = 0
		} else {
			skip -= length
		}
		if len(rest) == 0 {
			break
		}
	}
	return arrived
}

// fillSpan copies part bytes into a span, from skip on.
func (v *visit) fillSpan(span driver.Span, skip, part uint64, from *pieces) verdict {
	r := v.peer.keys.local(span.Key)
	if r == nil || !r.contains(span.Address, uint64(span.Length)) {
		return verdict(driver.RemoteInvalid) // the neighbour has changed the receive meanwhile
	}
	offset := span.Address - r.base + skip
	if !v.peer.gate.reenter(v.mark, stretch{span.Key, offset, part}) {
		return verdict(driver.RemoteAccess)
	}
	v.mark += 2
	v.pause(pauseNamed)
	if ends := v.admitted(); ends != arrived {
		return ends
	}
	if !r.allows(0) {
		return again // closed, or being moved: the next visit finds out which
	}
	into := pieces{here: r.bytes[offset:][:part]}
	stream(&into, from, part)
	return arrived
}

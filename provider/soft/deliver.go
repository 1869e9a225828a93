package soft

import "github.com/weft-fabric/weft/verbs/driver"

// This file is how a visit delivers a message: a Send into the memory of a receive, a WriteImm only with its notice.

// send copies the message into a receive at the peer, and reports it there when it is complete.
func (v *visit) send() verdict {
	n, ok := v.takeReceive()
	if !ok {
		return starved
	}
	r := v.peer.pool.slots[n].landing // read once: a neighbour may change it
	if into := v.straight(&r); into == nil {
		if ends := v.sendPieces(n, &r); ends != verdict(driver.OK) {
			return ends
		}
	} else {
		if v.peer.neighbour != nil {
			offset := r.first.Address - into.base
			if ends := v.goOn(into, stretch{r.first.Key, offset, v.total}); ends != arrived {
				return ends
			}
		}
		copy(into.slice(r.first.Address, v.total), v.local.slice(v.request.Span.Address, v.total))
		v.q.requester.budget -= v.total
	}
	v.report(n, driver.OK)
	return verdict(driver.OK)
}

// straight returns the memory of the receive if the message is like most: one span that fits into the only one of the receive,
// all of which is there, and that one visit moves. Otherwise it returns nil.
func (v *visit) straight(r *landing) *region {
	me := &v.q.requester
	if v.local == nil || v.total != uint64(v.request.Span.Length) || v.total > uint64(r.first.Length) || r.more != 0 ||
		me.moved != 0 || v.total > me.budget {
		return nil
	}
	into := v.peer.keys.local(r.first.Key)
	if into == nil || !into.allows(0) || !into.contains(r.first.Address, uint64(r.first.Length)) {
		return nil
	}
	return into
}

// sendPieces is send for any message and any receive, and over several visits.
func (v *visit) sendPieces(n uint32, r *landing) verdict {
	more := v.peer.pool.more(n, r)
	if v.peer.neighbour != nil && !v.peer.keys.(*farKeys).mapped(r.first, more, v.q.bell) {
		return v.q.awaitMapping()
	}
	first, ok := cover(v.peer.keys, r.first, more)
	switch {
	case v.total > r.bytes:
		return v.spoil(n, driver.LocalLength)
	case !ok:
		return v.spoil(n, driver.LocalProtection)
	}
	var from pieces
	v.open(&from)
	size := v.share()
	if v.peer.neighbour != nil {
		if ends := v.fill(r.first, more, &from, size); ends != arrived {
			return ends
		}
		return v.moved(size)
	}
	var into pieces
	into.open(v.peer.keys, first, r.first, more)
	into.skip(v.q.requester.moved)
	stream(&into, &from, size)
	return v.moved(size)
}

// spoil completes the receive at the peer with an error of its own.
func (v *visit) spoil(n uint32, status driver.Status) verdict {
	v.peer.spoiled.Store(v.peer.arrived.Load() + 1)
	v.report(n, status)
	return verdict(driver.RemoteInvalid)
}

// writeImm writes, and takes a receive only when the bytes are in place.
func (v *visit) writeImm() verdict {
	if v.write() == again {
		return again
	}
	n, ok := v.takeReceive()
	if !ok {
		return starved
	}
	v.report(n, driver.OK)
	return verdict(driver.OK)
}

// takeReceive returns the slot of the receive that this message takes: the same at every visit. If there is none, it
// raises the flags that make the peer's owner ring when it posts one, and looks once more.
func (v *visit) takeReceive() (uint32, bool) {
	me, pool := &v.q.requester, v.peer.pool
	if me.slot != 0 {
		return me.slot - 1, true
	}
	n, ok := pool.take(v.peer.number, &v.peer.gate, v.mark)
	if !ok {
		v.peer.wanting.Store(1)
		pool.wanted.Store(1)
		if n, ok = pool.take(v.peer.number, &v.peer.gate, v.mark); !ok {
			return 0, false
		}
	}
	me.slot = n + 1
	v.pause(pauseTaken)
	return n, true
}

// report completes the receive at the peer.
func (v *visit) report(n uint32, status driver.Status) {
	a := arrival{slot: n, op: v.request.Op.Arrived(), status: status}
	if status == driver.OK {
		a.length = uint32(v.total)
	}
	if a.op != driver.OpReceive {
		a.imm = v.request.Imm
	}
	v.peer.arrive(a)
	v.pause(pauseReported)
}

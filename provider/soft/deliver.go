package soft

import "github.com/weft-fabric/weft/verbs/driver"

// This file is how a visit delivers a message: a Send into the memory of a receive, a WriteImm only with its notice.

// send copies the message into a receive at the peer, and reports it there when it is complete.
func (v *visit) send() verdict {
	n, ok := v.takeReceive()
	if !ok {
		return starved
	}
	to := v.peer.pool.slots[n].landing // read once: a neighbour may change it
	more := v.peer.pool.more(n, &to)
	if v.peer.neighbour != nil && !v.peer.keys.(*farKeys).mapped(to.first, more, v.q.bell) {
		return v.q.awaitMapping()
	}
	if v.total > to.bytes {
		return v.spoil(n, driver.LocalLength)
	}
	first, ok := cover(v.peer.keys, to.first, more)
	if !ok {
		return v.spoil(n, driver.LocalProtection)
	}
	if ends := v.fill(first, to.first, more); ends != verdict(driver.OK) {
		return ends
	}
	v.report(n, driver.OK)
	return verdict(driver.OK)
}

// fill copies as much of the message as this visit may into the spans of a receive, r being the region of the first.
func (v *visit) fill(r *region, first driver.Span, more []driver.Span) verdict {
	var from, into pieces
	v.open(&from)
	size := v.share()
	if v.peer.neighbour != nil {
		if ends := v.fillFar(first, more, &from, size); ends != arrived {
			return ends
		}
	} else {
		into.open(v.peer.keys, r, first, more)
		into.skip(v.q.requester.moved)
		stream(&into, &from, size)
	}
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
	v.peer.arrive(v.request.Op, v.request.Imm, n, v.total, status)
	v.pause(pauseReported)
}

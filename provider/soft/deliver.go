package soft

import "github.com/weft-fabric/weft/verbs/driver"

// This file is how a visit delivers a message: a Send into the memory of a receive, a WriteImm only with its notice.

// send copies the message into a receive at the peer, and reports it there when it is complete.
func (v *visit) send() verdict {
	n, ok := v.takeReceive()
	if !ok {
		return starved
	}
	if v.peer.neighbour != nil && !v.mapReceive(n) {
		return v.q.awaitMapping()
	}
	var from, into pieces
	if status := v.openReceive(&into, n); status != driver.OK {
		v.report(n, status)
		return verdict(driver.RemoteInvalid)
	}
	v.open(&from)
	size := v.share()
	if v.peer.neighbour == nil {
		stream(&into, &from, size)
	} else if ends := v.fill(n, &from, size); ends != arrived {
		return ends
	}
	if v.moved(size) == again {
		return again
	}
	v.report(n, driver.OK)
	return verdict(driver.OK)
}

// mapReceive reports whether the memory of a neighbour's receive is mapped, as far as it can be.
func (v *visit) mapReceive(n uint32) bool {
	p := v.peer.pool
	return v.peer.keys.(*farKeys).mapped(p.slots[n].first, p.more(n), v.q.bell)
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

// openReceive makes p the memory of a receive that has not been filled yet, or says what is wrong with the receive as a
// place for the message.
func (v *visit) openReceive(p *pieces, n uint32) driver.Status {
	s, keys, more := &v.peer.pool.slots[n], v.peer.keys, v.peer.pool.more(n)
	if v.total > s.bytes {
		return driver.LocalLength
	}
	first, ok := keys.cover(s.first, more)
	if !ok {
		return driver.LocalProtection
	}
	p.open(keys, first, s.first, more)
	p.skip(v.q.requester.moved)
	return driver.OK
}

// report completes the receive at the peer.
func (v *visit) report(n uint32, status driver.Status) {
	a := arrival{slot: n, op: v.request.Op.Arrived(), status: status}
	if status == driver.OK {
		a.length = uint32(v.total)
	} else {
		v.peer.spoiled.Store(v.peer.arrived.Load() + 1)
	}
	if a.op != driver.OpReceive {
		a.imm = v.request.Imm
	}
	v.peer.arrive(a)
	v.pause(pauseReported)
}

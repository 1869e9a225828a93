package sim

import (
	"encoding/binary"

	"github.com/weft-fabric/weft/verbs/driver"
)

// stepMessage is the moment at which a request lands. Whoever comes behind a message that waits for a receive waits
// too: order is kept.
func (q *queuePair) stepMessage(i uint32, r *request) {
	if q.state != driver.Ready || q.epoch != r.toEpoch {
		q.fabric.lose(i)
		return
	}
	if q.inbound.head != 0 || !q.canServe(r) {
		q.park(i, r)
		return
	}
	q.serve(i, r)
}

// canServe reports whether a message need not wait for a receive.
func (q *queuePair) canServe(r *request) bool {
	return !r.op.TakesReceive() || q.hasReceive() || q.admit(r) != driver.OK
}

// admit asks the two gates, at this very moment.
func (q *queuePair) admit(r *request) driver.Status {
	needs := r.op.Needs()
	if !q.access.Allows(needs) {
		return driver.RemoteInvalid
	}
	if needs == 0 || r.bytes == 0 {
		return driver.OK
	}
	m, offset, ok := q.remote(r.remote, uint64(r.bytes), needs)
	if !ok {
		return driver.RemoteAccess
	}
	if r.op.IsAtomic() {
		if _, ok := m.word(offset); !ok {
			return driver.RemoteInvalid
		}
	}
	return driver.OK
}

// serve carries a request out.
func (q *queuePair) serve(i uint32, r *request) {
	if status := q.admit(r); status != driver.OK {
		q.refuse(i, status)
		return
	}
	q.fabric.traceRequest(Landed, r)
	switch r.op {
	case driver.OpWrite:
		q.landWrite(r)
		q.answer(i, driver.OK)
	case driver.OpWriteImm:
		q.landWrite(r)
		q.landNotice(i, r)
	case driver.OpSend, driver.OpSendImm:
		q.landSend(i, r)
	case driver.OpRead:
		q.landRead(i, r)
	case driver.OpCompareSwap, driver.OpFetchAdd:
		q.landAtomic(i, r)
	}
}

// refuse answers a request that may not land. Both ends go to Error.
func (q *queuePair) refuse(i uint32, status driver.Status) {
	q.answer(i, status)
	q.becomeError(driver.Flushed)
}

// landWrite puts the bytes of a Write, which the gates let in, where they belong: all at one instant. A plain Write wakes
// nobody but loops that scan.
func (q *queuePair) landWrite(r *request) {
	if r.bytes == 0 {
		return
	}
	m, offset, _ := q.remote(r.remote, uint64(r.bytes), driver.RemoteWrite)
	c := cursor{from: q.fabric.payloads.at(r.payload)}
	m.write(&c, offset, uint64(r.bytes))
	q.device.touch()
}

// landNotice reports a WriteImm. It takes a receive, but leaves its memory alone.
func (q *queuePair) landNotice(i uint32, r *request) {
	got := q.takeReceive()
	q.fabric.dropSpans(got.spans)
	q.received(got.tag, r, driver.OK)
	q.answer(i, driver.OK)
	q.releaseChained()
}

// landSend puts a message where the next receive says.
func (q *queuePair) landSend(i uint32, r *request) {
	f := q.fabric
	got := q.takeReceive()
	status := driver.OK
	switch {
	case uint64(r.bytes) > got.bytes:
		status = driver.LocalLength
	case r.bytes > 0 && !q.scatter(f.payloads.at(r.payload), &got.spans, uint64(r.bytes)):
		status = driver.LocalProtection
	}
	f.dropSpans(got.spans)
	q.received(got.tag, r, status)
	if status != driver.OK {
		q.refuse(i, driver.RemoteInvalid)
		return
	}
	q.answer(i, driver.OK)
	q.releaseChained()
}

// received reports an incoming message.
func (q *queuePair) received(tag driver.Tag, r *request, status driver.Status) {
	c := driver.Completion{Tag: tag, Queue: q.number, Op: r.op.Arrived(), Status: status}
	if status == driver.OK {
		c.Bytes = r.bytes
		if r.op != driver.OpSend {
			c.Imm = r.imm
		}
		q.arrived++
	}
	q.tell(c)
}

// landRead sends the bytes back. They are read when they leave: a Write behind this Read may land first.
func (q *queuePair) landRead(i uint32, r *request) {
	if r.bytes == 0 {
		q.answer(i, driver.OK)
		return
	}
	f := q.fabric
	r.stage, r.slotted = answering, false
	r.ready = f.after(f.delay.fetch)
	q.out.push(f, i)
	q.pump()
}

// landAtomic operates on a word and sends back what was there.
func (q *queuePair) landAtomic(i uint32, r *request) {
	f := q.fabric
	m, offset, _ := q.remote(r.remote, 8, driver.RemoteAtomic)
	b, _ := m.word(offset)
	r.payload = f.payloads.take()
	p := f.payloads.at(r.payload)
	p.reset()
	var old [8]byte
	binary.NativeEndian.PutUint64(old[:], atomically(b, r))
	p.addBytes(old[:])
	q.device.touch()
	q.answer(i, driver.OK)
}

// park makes a message wait for a receive, or behind one that does.
func (q *queuePair) park(i uint32, r *request) {
	r.stage = waiting
	q.inbound.push(q.fabric, i)
	if q.inbound.head == i {
		q.lackReceive(r)
	}
}

// lackReceive gives the first message of inbound the time that its requester allows. It is asked again when receives
// are posted.
func (q *queuePair) lackReceive(r *request) {
	f := q.fabric
	q.patience++
	q.plan(f.now.Add(f.pairs[r.pair].receiverWait), evNotReady, q.patience)
	q.parkShared()
}

// parkShared makes the next shared receives wake this queue pair.
func (q *queuePair) parkShared() {
	if q.shared != nil && !q.parked {
		q.parked = true
		q.shared.waiting = append(q.shared.waiting, q)
	}
}

// stepNotReady is the moment at which the first message of inbound has waited for as long as its requester allows. A
// newer wait, or a served one, has made it void.
func (q *queuePair) stepNotReady(gen uint32) bool {
	if gen != q.patience || q.inbound.head == 0 {
		return false
	}
	q.refuse(q.inbound.pop(q.fabric), driver.ReceiverNotReady)
	return true
}

// drainLater looks at the waiting messages again when the NIC has learnt of new receives.
func (q *queuePair) drainLater() {
	if q.inbound.head == 0 || q.draining {
		return
	}
	f := q.fabric
	q.draining = true
	q.plan(f.after(f.delay.doorbell), evDrain, 0)
}

// stepDrain lets the messages that waited land, as far as receives reach.
func (q *queuePair) stepDrain() bool {
	f := q.fabric
	q.draining = false
	served := false
	for q.inbound.head != 0 {
		r := f.requests.at(q.inbound.head)
		if !q.canServe(r) {
			if served {
				q.lackReceive(r) // another message now: it has all the time
			} else {
				q.parkShared()
			}
			break
		}
		served = true
		q.serve(q.inbound.pop(f), r)
	}
	return served
}

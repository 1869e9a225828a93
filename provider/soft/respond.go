package soft

import (
	"encoding/binary"

	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is how a wire carries out the peer's requests.

// regions remembers what was found lately by remote key. Dead ones do no harm: whether a region is alive is asked at
// every visit.
type regions struct {
	known  [4]*region
	oldest int
}

// find returns the region of the domain with a remote key, or nil.
func (r *regions) find(d *Domain, key uint64) *region {
	for _, known := range r.known {
		if known != nil && known.remoteKey == key {
			return known
		}
	}
	found := d.keys.find(key)
	if found != nil {
		r.known[r.oldest] = found
		r.oldest = (r.oldest + 1) % len(r.known)
	}
	return found
}

// stepRequest begins a request of the peer.
func (w *wire) stepRequest(h *header) {
	in := &w.in
	switch {
	case in.refused:
		return
	case in.op != driver.OpNone:
		w.violate("request %d begins before %d has ended", h.sequence, in.expected)
		return
	case h.sequence != in.expected && !in.dropping:
		w.violate("request %d, want %d", h.sequence, in.expected)
		return
	case h.sequence != in.expected:
		return
	}
	in.dropping = false
	in.op, in.imm, in.key, in.address, in.quiet = driver.Op(h.op), h.imm, h.key, h.address, h.quiet
	in.total, in.moved, in.receive, in.target = uint64(h.total), 0, 0, target{}
	switch {
	case in.op == driver.OpRead:
		w.beginRead()
	case in.op.IsAtomic():
		w.beginAtomic(h)
	default:
		w.beginMessage()
	}
}

// stepMore goes on with a message.
func (w *wire) stepMore(h *header) {
	in := &w.in
	switch {
	case in.refused, in.dropping:
	case in.op == driver.OpNone || h.sequence != in.expected || h.length == 0 ||
		h.length != pieceOf(uint32(in.total-in.moved)):
		w.violate("a piece of %d bytes for request %d, which has none to come", h.length, h.sequence)
	default:
		in.sink = toMessage
	}
}

// beginMessage is the first frame of a Send or a Write.
func (w *wire) beginMessage() {
	in := &w.in
	if in.op != driver.OpSend && in.op != driver.OpSendImm {
		if !w.permitted() {
			return
		}
	}
	if in.op.TakesReceive() && !w.takeReceive() {
		return
	}
	if in.op != driver.OpWriteImm && in.op.TakesReceive() {
		var into pieces
		if !w.openReceive(&into) {
			return
		}
	}
	in.sink = toMessage
	if in.total == 0 {
		w.finishMessage()
	}
}

// permitted asks both gates whether the request may do what it does, all of it, and refuses it if not. An operation of
// zero bytes touches no memory.
func (w *wire) permitted() bool {
	in := &w.in
	need := in.op.Needs()
	if !driver.Access(w.life.access.Load()).Allows(need) {
		w.refuse(driver.RemoteInvalid)
		return false
	}
	if in.total == 0 {
		return true
	}
	if in.target.region == nil {
		w.aimAt(in.key)
	}
	if !in.target.admits(need, in.address, in.total) {
		w.refuse(driver.RemoteAccess)
		return false
	}
	return true
}

// aimAt finds what a remote key names.
func (w *wire) aimAt(key uint64) {
	if in := &w.in; isLent(key) {
		in.target = w.life.borrow(key)
	} else {
		in.target.region = in.recent.find(w.life.domain, key)
	}
}

// takeReceive takes the receive that the message needs. If there is none, the request is dropped, and the peer told to
// come again when there is one: the owner, when it posts, finds the flags.
func (w *wire) takeReceive() bool {
	in, l := &w.in, w.life
	n, ok := l.pool.take(l.number, &l.gate, l.gate.look())
	if !ok {
		l.wanting.Store(1)
		l.pool.wanted.Store(1)
		in.op, in.dropping, in.sink = driver.OpNone, true, toNowhere
		w.answer(answer{op: frameNotReady, sequence: in.expected})
		return false
	}
	in.receive = n + 1
	return true
}

// openReceive makes p the memory of the receive that has not been filled yet, or spoils it and refuses the message.
func (w *wire) openReceive(p *pieces) bool {
	in, pool, keys := &w.in, w.life.pool, w.life.domain.keys
	n := in.receive - 1
	s, more := &pool.slots[n], pool.more(n, &pool.slots[n].landing)
	if in.total > s.bytes {
		w.spoil(driver.LocalLength)
		return false
	}
	first, ok := cover(keys, s.first, more)
	if !ok {
		w.spoil(driver.LocalProtection)
		return false
	}
	p.open(keys, first, s.first, more)
	p.skip(in.moved)
	return true
}

// spoil ends the receive with an error of its own.
func (w *wire) spoil(status driver.Status) {
	w.life.spoiled.Store(w.life.arrived.Load() + 1)
	w.deliver(status)
	w.refuse(driver.RemoteInvalid)
}

// finishMessage is when all bytes of a Send or a Write are in place.
func (w *wire) finishMessage() {
	in := &w.in
	if in.op.TakesReceive() {
		w.deliver(driver.OK)
	}
	in.op, in.sink = driver.OpNone, toNowhere
	in.expected++
	if !in.quiet {
		in.awaited = in.expected
	}
}

// deliver completes the receive of the message. The owner looks in this very turn.
func (w *wire) deliver(status driver.Status) {
	in, l := &w.in, w.life
	n := in.receive - 1
	in.receive = 0
	l.arrive(in.op, in.imm, n, in.total, status)
	l.announceChained()
}

// beginRead is the request of a Read. Its bytes go out with the answers.
func (w *wire) beginRead() {
	if in := &w.in; w.permitted() {
		w.answer(answer{op: frameRead, sequence: in.expected, total: in.total, address: in.address, target: in.target})
		in.op = driver.OpNone
		in.expected++
	}
}

// beginAtomic carries an atomic out.
func (w *wire) beginAtomic(h *header) {
	in := &w.in
	if in.total = wordSize; in.address%wordSize != 0 {
		w.refuse(driver.RemoteAccess)
		return
	}
	if w.permitted() {
		r := driver.Request{Op: in.op, Compare: h.compare(), Swap: h.operand}
		old := fetch(word(in.target.slice(in.address, wordSize)), &r)
		w.answer(answer{op: frameAtomic, sequence: in.expected, old: old})
		in.op = driver.OpNone
		in.expected++
	}
}

// refuse ends the request under way with status. The peer hears of it behind the answers to what came before, and then
// this end breaks too. The rest of what comes is dropped.
func (w *wire) refuse(status driver.Status) {
	in := &w.in
	in.refused, in.op, in.sink = true, driver.OpNone, toNowhere
	w.answer(answer{op: frameNak, sequence: in.expected, status: status})
}

// answer queues an answer. A peer that keeps to its own depth cannot have more under way, but for the two that are about
// receives.
func (w *wire) answer(a answer) {
	if w.reply.count >= w.depth+2 {
		w.violate("more than %d requests are under way", w.depth)
		return
	}
	*w.reply.push(w.depth + 2) = a
}

// sayReady tells a peer that was told to come again that there is a receive now. The owner has posted one.
func (w *wire) sayReady() {
	if w.in.dropping {
		w.answer(answer{op: frameReady, sequence: w.in.expected})
		w.flush()
	}
}

// oldWord is the payload of what an atomic returns.
func oldWord(v uint64) (b [wordSize]byte) {
	binary.NativeEndian.PutUint64(b[:], v)
	return b
}

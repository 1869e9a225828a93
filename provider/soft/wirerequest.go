package soft

import (
	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is how a wire sends the requests of its own end, and hears how they ended.

// accept puts a request behind those that are under way. Inline bytes are taken now: the request may have to be sent again.
func (w *wire) accept(r *driver.Request) {
	q := w.q
	entry := q.requester.backlog.push(r, q.config.SendDepth)
	if r.After.Count > 0 {
		entry.after = q.device.presentLife(r.After.Queue)
		q.owe()
	}
	if r.Flags.Has(driver.Inline) {
		mark := w.enter()
		q.takeInline(entry)
		w.leave(mark)
	}
}

// flush sends what was accepted. What the socket does not take is left to turns.
func (w *wire) flush() {
	if w.carryLocals(); w.blocked {
		return
	}
	if w.send() != clock.Never || w.blocked || w.life.phase() != phaseReady {
		w.q.enlist()
	}
	w.awaitRoom()
}

// payload returns how many bytes go along with a request.
func payload(r *driver.Request) uint64 {
	if frameOp(r.Op).beginsMessage() {
		return r.Bytes()
	}
	return 0
}

// addRequests adds requests in their order, and says when to try again if something is in the way.
func (g *gathering) addRequests() clock.Time {
	w := g.w
	if w.rewind && !w.out.under {
		w.rewind, w.sent, w.local, w.moved, w.reading = false, 0, 0, 0, 0
		g.request, g.local, g.offset = 0, 0, 0
	}
	log := &w.q.requester.backlog
	for !w.starving && !w.rewind && g.request < log.count && g.b.hasRoom() && g.complete() {
		entry := log.at(g.request)
		switch v := g.mayStart(entry); {
		case v == arrived:
		case v == again:
			return soon
		case v.final():
			g.doom(driver.Status(v))
			return clock.Never
		default:
			return clock.Never
		}
		if !g.add(entry) {
			return clock.Never
		}
	}
	return clock.Never
}

// mayStart says whether a request may be sent: arrived, or why not.
func (g *gathering) mayStart(entry *waiting) verdict {
	if entry.request.Flags.Has(driver.Fence) && g.w.reading+g.reads > 0 {
		return chained
	}
	return g.w.q.awaitArrival(entry)
}

// doom ends the request at hand, which cannot be sent, as soon as everything before it has ended.
func (g *gathering) doom(status driver.Status) {
	if g.request == 0 && g.b.size == 0 {
		g.w.doom = status
	}
}

// heed ends the oldest request if it is doomed.
func (w *wire) heed() {
	if status := w.doom; status != driver.OK {
		w.doom = driver.OK
		w.end(status)
	}
}

// add goes on with the request at hand. It fails if that cannot be.
func (g *gathering) add(entry *waiting) bool {
	if entry.request.Op.IsLocal() {
		return g.carryLocal(entry)
	}
	return g.addRequest(entry)
}

// addRequest adds the next frame of the request at hand. It fails if the request's own memory is not there.
func (g *gathering) addRequest(entry *waiting) bool {
	r := &entry.request
	total := payload(r)
	var from pieces
	if r.Bytes() > 0 && !g.openRequest(&from) {
		return false
	}
	h := header{op: frameOp(r.Op), sequence: g.w.acked + uint32(g.request-g.local), length: pieceOf(uint32(total - g.offset))}
	if g.offset > 0 {
		h.op = frameMore
	} else {
		h.describe(r)
	}
	g.countRead(r.Op)
	if h.length <= shortPayload {
		from.readShort(g.begin(&h, fromRequest, int(h.length)))
		g.request++
		g.offset = 0
		return true
	}
	g.begin(&h, fromRequest, 0)
	f := g.last(h.length)
	g.addBulk(f, &from)
	g.passRequest(f.bulk)
	return true
}

// countRead counts a request that a Fence waits for.
func (g *gathering) countRead(op driver.Op) {
	if op == driver.OpRead || op.IsAtomic() {
		g.reads++
	}
}

// describe fills in what the first frame of a request says about it.
func (h *header) describe(r *driver.Request) {
	h.quiet = r.Flags.Has(driver.Quiet)
	if r.Op == driver.OpSendImm || r.Op == driver.OpWriteImm {
		h.imm = r.Imm
	}
	if r.Op.HasRemote() {
		h.key, h.address = r.Remote.Key, r.Remote.Address
	}
	if r.Op.IsAtomic() {
		h.operand = r.Swap
		h.setCompare(r.Compare)
		return
	}
	h.total = uint32(r.Bytes())
}

// openRequest makes p the bytes of the request at hand that are still to be written. If they are not there, the request
// is doomed.
func (g *gathering) openRequest(p *pieces) bool {
	entry := g.w.q.requester.backlog.at(g.request)
	if entry.taken != nil {
		p.here = entry.taken
	} else {
		r, keys := &entry.request, g.w.life.domain.keys
		local, ok := cover(keys, r.Span, r.More)
		if !ok {
			g.doom(driver.LocalProtection)
			return false
		}
		p.open(keys, local, r.Span, r.More)
	}
	p.skip(g.offset)
	return true
}

// passRequest goes on behind n bytes of the request at hand.
func (g *gathering) passRequest(n int) {
	if g.offset += uint64(n); g.offset == payload(&g.w.q.requester.backlog.at(g.request).request) {
		g.request++
		g.offset = 0
	}
}

// settleBatch notes what the socket took of a batch: n bytes.
func (w *wire) settleBatch(b *batch, n int) {
	at := 0
	for i := range b.frames[:b.framed] {
		if n == 0 {
			return
		}
		f := &b.frames[i]
		front := min(n, f.front)
		bulk := min(n-front, f.bulk)
		n -= front + bulk
		w.wrote(f, bulk)
		if front < f.front || bulk < int(f.length) {
			w.out.keep(f, b.text[at+front:at+f.front], bulk)
			return
		}
		w.wroteAll(f)
		at += f.front
	}
}

// keep remembers a frame that was written in part.
func (o *outgoing) keep(f *frame, front []byte, bulk int) {
	o.frame, o.under = *f, true
	o.frame.length -= uint32(bulk)
	o.front = append(o.front[:0], front...)
}

// wrote counts bulk bytes of a frame.
func (w *wire) wrote(f *frame, bulk int) {
	switch f.from {
	case fromRequest:
		w.moved += uint64(bulk)
	case fromAnswer:
		w.reply.moved += uint64(bulk)
	}
}

// wroteAll is when a frame was written to its end.
func (w *wire) wroteAll(f *frame) {
	w.out.under = false
	w.acknowledged(f.ack)
	switch {
	case f.op == framePong:
		w.out.pong = false
	case f.op == framePing:
		w.pinging.Store(false)
	case f.from == fromRequest:
		w.wroteRequest(f)
	case f.from == fromAnswer && f.length == 0:
		w.answered(f)
	}
}

// acknowledged is when the peer will hear that its requests below ack are done.
func (w *wire) acknowledged(ack uint32) {
	if w.out.ack != ack {
		w.out.ack, w.out.turns = ack, 0
	}
}

// answered is when an answer was written to its end. One that brings what was asked for acknowledges its request too; a
// refusal ends the connection.
func (w *wire) answered(f *frame) {
	w.reply.pop()
	switch f.op {
	case frameRead, frameAtomic:
		w.acknowledged(f.ack + 1)
	case frameNak:
		if w.life.breakTo(phaseFailed) {
			w.life.announceChained()
			w.q.enlist()
		}
	}
}

// wroteRequest counts a request as sent when its last frame was written: a short one is always the last.
func (w *wire) wroteRequest(f *frame) {
	r := &w.q.requester.backlog.at(w.sent).request
	if f.length > 0 && w.moved < payload(r) {
		return
	}
	w.sent++
	w.moved = 0
	if r.Op == driver.OpRead || r.Op.IsAtomic() {
		w.reading++
	}
	w.passLocals()
}

// ackDue reports whether the peer does not know yet that some of its requests are done.
func (w *wire) ackDue() bool {
	g := gathering{w: w}
	return g.ack() != w.out.ack
}

// ackLater reports whether the peer may hear of it later, with something else: the owner has just got, or is about to
// get, a message that it may answer. What nobody is told about is acknowledged at once.
func (w *wire) ackLater() bool {
	const turns, requests = 3, 32
	return w.ackDue() && (w.q.cq.found() || w.q.reaped < w.life.arrived.Load()) && w.out.turns < turns &&
		w.in.expected-w.out.ack < requests
}

// ackUnasked reports whether nobody waits for the ack that is due: the requests were Quiet, and the peer's queue has room for
// more of them. It goes along with whatever is said next.
func (w *wire) ackUnasked() bool {
	return int32(w.in.awaited-w.out.ack) <= 0 && w.in.expected-w.out.ack <= uint32(w.depth)/2
}

// sayLast tells the peer, if that is possible, what of its requests is done.
func (w *wire) sayLast() {
	b := &w.poller.output
	if b.reset(); w.mute || w.blocked || w.out.under || !w.ackDue() {
		return
	}
	g := gathering{w: w, b: b}
	g.plain(frameAck)
	_, _ = w.pipe.writev(b.iovecs())
}

// acknowledge completes the requests below ack, and reports whether that was sound.
func (w *wire) acknowledge(ack uint32) bool {
	n := ack - w.acked
	if n > uint32(w.sent-w.local) {
		w.violate("it acknowledges %d requests, %d were sent", n, w.sent-w.local)
		return false
	}
	if n > 0 && (w.starving || w.rewind) {
		w.violate("it acknowledges request %d, which it has sent back", w.acked)
		return false
	}
	for range n {
		if op := w.q.requester.backlog.front().request.Op; op == driver.OpRead || op.IsAtomic() {
			w.violate("it acknowledges %v without an answer", op)
			return false
		}
		w.complete()
	}
	return true
}

// complete ends the oldest request well.
func (w *wire) complete() {
	w.fetched = 0
	w.acked++
	w.sent--
	r := w.q.unkeep()
	if r.Op == driver.OpRead || r.Op.IsAtomic() {
		w.reading--
	}
	w.q.conclude(r, verdict(driver.OK))
	w.reportLocals()
}

// end ends the oldest request badly, and with it the connection.
func (w *wire) end(status driver.Status) { w.q.conclude(w.q.unkeep(), verdict(status)) }

// stepAnswer takes what the peer says about this end's requests.
func (w *wire) stepAnswer(h *header) {
	switch h.op {
	case frameAck, framePong:
		return
	case framePing:
		w.out.pong = true
		return
	}
	log := &w.q.requester.backlog
	if h.sequence != w.acked || h.ack != w.acked || log.count == 0 || w.sent == 0 && w.moved == 0 && !w.out.under && !w.starving {
		w.violate("frame %d about request %d, which is not the oldest that was sent", h.op, h.sequence)
		return
	}
	switch r := &log.front().request; {
	case h.op == frameNak:
		w.end(h.status)
	case h.op == frameNotReady && r.Op.TakesReceive() && !w.starving:
		w.starve()
	case h.op == frameReady && w.starving:
		w.starving = false
	case h.op == frameRead && r.Op == driver.OpRead && w.sent > 0:
		w.stepRead(h, r)
	case h.op == frameAtomic && r.Op.IsAtomic() && w.sent > 0:
		w.stepOld(h)
	default:
		w.violate("frame %d about %v", h.op, r.Op)
	}
}

// starve begins, or goes on with, waiting for a receive at the peer. The time runs from the first try.
func (w *wire) starve() {
	w.starving, w.rewind = true, true
	if d := &w.q.requester.deadline; *d == 0 {
		*d = clock.Real.Now().Add(w.q.config.ReceiverWait)
	}
}

// stepRead begins a piece of what a Read asked for. A short piece is the last.
func (w *wire) stepRead(h *header, r *driver.Request) {
	if left := r.Bytes() - w.fetched; h.length != pieceOf(uint32(left)) {
		w.violate("a piece of %d bytes for a Read that wants %d more", h.length, left)
		return
	}
	w.in.final = h.length <= shortPayload
	if w.in.sink = toReader; h.length == 0 {
		w.land(0)
	}
}

// openReader makes p the memory of the oldest request, a Read, that has not been filled yet. If it is not there, the
// request ends.
func (w *wire) openReader(p *pieces) bool {
	r, keys := &w.q.requester.backlog.front().request, w.life.domain.keys
	local, ok := cover(keys, r.Span, r.More)
	if !ok {
		w.in.sink = toNowhere
		w.end(driver.LocalProtection)
		return false
	}
	p.open(keys, local, r.Span, r.More)
	p.skip(w.fetched)
	return true
}

// stepOld takes the old value for an atomic.
func (w *wire) stepOld(h *header) {
	var into pieces
	if w.openReader(&into) {
		old := oldWord(h.operand)
		into.writeFrom(old[:])
		w.complete()
	}
}

// readShort fills a short payload: a single aligned word as one.
func (p *pieces) readShort(to []byte) {
	if from := p.next(uint64(len(to))); len(from) == len(to) {
		copyShort(to, from)
		return
	}
	p.readInto(to)
}

package soft

import (
	"encoding/binary"
	"syscall"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// outgoing is the frame that is being written, if the socket did not take all of it.
type outgoing struct {
	frame          // its front and bulk say nothing here
	front   []byte // of its header and short payload, what is not written; kept for reuse
	under   bool   // there is one
	answers bool   // go before requests in the next batch: they take turns
	turns   int    // since an ack was due
	ack     uint32 // the last that was written
	pong    bool   // the peer wants to hear something
}

// send writes what there is to write, up to a quantum, and says when to come again even if the socket does not call.
func (w *wire) send() clock.Time {
	if w.mute || w.blocked || w.life.phase() != phaseReady { // what was under way on a broken life may be flushed already
		return clock.Never
	}
	if w.block(!w.pipe.clean()); w.blocked {
		return clock.Never
	}
	for budget := quantum; budget > 0; {
		next, n := w.write()
		if n == 0 || w.blocked || w.life.phase() != phaseReady {
			return next
		}
		budget -= n
	}
	return soon
}

// write makes one visit: it gathers a batch, and hands it to the socket in one system call. It returns how many bytes were
// written and, if there was nothing to write, when there may be.
func (w *wire) write() (next clock.Time, n int) {
	b := &w.poller.output
	b.reset()
	mark := w.enter()
	if next = w.gather(b); b.size == 0 {
		w.leave(mark)
		w.passLocals()
		w.heed()
		return next, 0
	}
	if p := w.q.device.pacer; p != nil && !w.pace(p, b) {
		w.leave(mark)
		w.passLocals()
		return w.allowed.since, 0
	}
	n, errno := w.pipe.writev(b.iovecs())
	w.leave(mark)
	w.passLocals()
	if errno != 0 && errno != eagain {
		w.fallMute(errno)
		return clock.Never, 0
	}
	w.poller.moved += uint64(n)
	w.allowed.spend(uint64(n))
	w.block(n < b.size || !w.pipe.clean())
	w.out.answers = !w.out.answers
	w.settleBatch(b, n)
	return clock.Never, n
}

// fallMute is when writing has failed. The peer may have sent answers before it went: whatever there is is read first, and
// its end ends the connection.
func (w *wire) fallMute(errno syscall.Errno) {
	w.mute = true
	for w.receive() && w.life.phase() == phaseReady {
	}
	if w.life.phase() == phaseReady {
		w.hearEnd(errno)
	}
}

// gather fills the batch: first the rest of the frame under way, then what the peer waits for, then requests. It leaves
// everything as it is: only what was written counts. It says when to try again, if there is a reason that the socket and
// the bell do not know.
func (w *wire) gather(b *batch) clock.Time {
	w.doom = driver.OK
	g := gathering{w: w, b: b, request: w.sent, local: w.local, offset: w.moved, given: w.reply.moved}
	if w.out.under && !g.goOn() {
		return clock.Never
	}
	if w.out.pong && b.hasRoom() {
		g.plain(framePong)
	}
	if w.pinging.Load() && b.hasRoom() {
		g.plain(framePing)
	}
	if w.out.answers {
		g.addAnswers()
	}
	next := g.addRequests()
	g.addAnswers()
	if b.size == 0 && w.ackDue() && !w.ackLater() && !w.ackUnasked() {
		g.plain(frameAck)
	}
	return next
}

// gathering is a batch in the making, and how far it has come.
type gathering struct {
	w       *wire
	b       *batch
	request int    // index of the next request in the backlog
	local   int    // of those before it, the ones that the peer does not hear of
	offset  uint64 // bytes of it that are written, or in the batch
	reads   int    // Reads and atomics in the batch
	answer  int    // index of the next answer
	given   uint64 // bytes of it that are written, or in the batch
}

// ack returns the sequence of the first request of the peer that is not done when everything in the batch is written.
func (g *gathering) ack() uint32 {
	if r := &g.w.reply; g.answer < r.count {
		return r.at(g.answer).sequence
	}
	return g.w.in.expected
}

// plain adds a frame that is nothing but a header.
func (g *gathering) plain(op frameOp) {
	h := header{op: op}
	g.begin(&h, fromNobody, 0)
}

// begin adds a frame: its header, with room for a short payload behind it, which is returned.
func (g *gathering) begin(h *header, from origin, short int) []byte {
	h.ack = g.ack()
	text := g.b.write(headerSize + short)
	h.put(text)
	g.b.begin(frame{from: from, op: h.op, ack: h.ack, front: len(text)})
	return text[headerSize:]
}

// goOn adds the rest of the frame under way, and reports whether another may follow. A request whose memory has gone
// meanwhile cannot be ended: then nothing can follow, and the request waits to be the oldest, and fails.
func (g *gathering) goOn() bool {
	out := &g.w.out
	var from pieces
	bulky := out.from == fromRequest && out.length > 0
	if bulky && !g.openRequest(&from) {
		if !g.w.rewind {
			return false
		}
		from = pieces{here: g.w.poller.zeros()} // the peer drops it
	}
	copy(g.b.write(len(out.front)), out.front)
	f := g.b.begin(out.frame)
	f.front, f.bulk = len(out.front), 0
	switch {
	case bulky:
		g.addBulk(f, &from)
		g.passRequest(f.bulk)
	case out.from == fromRequest:
		g.countRead(driver.Op(out.op))
		g.request++
		g.offset = 0
	case out.from == fromAnswer:
		g.goOnReading(f)
	}
	return g.complete()
}

// addBulk adds as much of the frame's bytes as from has, and as there is place for.
func (g *gathering) addBulk(f *frame, from *pieces) {
	f.bulk = g.b.addPieces(from, uint64(f.length))
}

// last returns the frame that was begun last, and gives it a bulk.
func (g *gathering) last(length uint32) *frame {
	f := &g.b.frames[g.b.framed-1]
	f.length = length
	return f
}

// addAnswers adds what the peer waits for.
func (g *gathering) addAnswers() {
	for r := &g.w.reply; g.answer < r.count && g.b.hasRoom() && g.complete(); {
		g.addAnswer(r.at(g.answer))
	}
}

// complete reports whether the last frame of the batch is whole: only then can another follow.
func (g *gathering) complete() bool {
	n := g.b.framed
	return n == 0 || g.b.frames[n-1].bulk == int(g.b.frames[n-1].length)
}

// addAnswer adds the next frame of an answer. What was copied behind its header is sure to come: a long piece is not,
// because a Read may be refused in the middle of it. So a short piece ends the answer, if need be an empty one.
func (g *gathering) addAnswer(a *answer) {
	var from []byte
	if a.op == frameRead && !g.readable(a, &from) {
		a.op, a.total, g.given, g.w.reply.moved = frameNak, 0, 0, 0
	}
	h := header{op: a.op, sequence: a.sequence, operand: a.old, length: pieceOf(uint32(len(from)))}
	if a.op == frameNak {
		h.status = a.status
	}
	if h.length > shortPayload {
		g.begin(&h, fromAnswer, 0)
		g.addRead(g.last(h.length), from[:h.length])
		return
	}
	copyShort(g.begin(&h, fromAnswer, len(from)), from)
	g.answer++
	g.given = 0
}

// addRead adds a long piece of an answer.
func (g *gathering) addRead(f *frame, bytes []byte) {
	from := pieces{here: bytes}
	g.addBulk(f, &from)
	g.given += uint64(f.bulk)
}

// readable asks anew whether the bytes of a Read that are still to be written may be, and sets from to them. If not, the
// Read is refused, and so is everything behind it.
func (g *gathering) readable(a *answer, from *[]byte) bool {
	l := g.w.life
	switch {
	case a.status != driver.OK:
	case !driver.Access(l.access.Load()).Allows(driver.RemoteRead):
		a.status = driver.RemoteInvalid
	case a.total == 0:
		return true
	case !a.target.admits(driver.RemoteRead, a.address, a.total):
		a.status = driver.RemoteAccess
	default:
		*from = a.target.slice(a.address+g.given, a.total-g.given)
		return true
	}
	g.w.in.refused, g.w.in.op, g.w.in.sink = true, driver.OpNone, toNowhere
	g.w.reply.cut(g.answer + 1)
	return false
}

// goOnReading adds the rest of a piece of an answer. One that was begun must be ended, even if the Read was refused
// meanwhile: with bytes that mean nothing.
func (g *gathering) goOnReading(f *frame) {
	if f.length == 0 {
		g.answer++
		g.given = 0
		return
	}
	var from []byte
	if !g.readable(g.w.reply.at(g.answer), &from) {
		from = g.w.poller.zeros()
	}
	g.addRead(f, from[:min(len(from), int(f.length))])
}

// copyShort copies a short payload: a single aligned word as one.
func copyShort(to, from []byte) {
	if len(from) >= wordSize && len(to) == wordSize && aligned(from) {
		binary.NativeEndian.PutUint64(to, loadWord(from))
		return
	}
	copy(to, from)
}

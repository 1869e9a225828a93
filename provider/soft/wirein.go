package soft

import (
	"fmt"
	"syscall"

	"github.com/weft-fabric/weft/verbs/driver"
)

const eagain = syscall.EAGAIN

// sink is where the payload of a frame goes.
type sink uint8

const (
	toNowhere sink = iota // of a request that was refused, or dropped for want of a receive
	toMessage             // a request of the peer
	toReader              // the oldest request of this end, a Read
)

// incoming is what is being received: a frame, and the message that it is a piece of.
type incoming struct {
	sink  sink
	left  uint32 // bytes of the frame that are still to come
	final bool   // toReader: the frame ends the Read

	expected uint32 // sequence of the next request
	quiet    bool   // of the request under way
	awaited  uint32 // the ack that the peer waits for: behind the last request that was not quiet
	dropping bool   // it found no receive: everything is dropped until it comes again
	refused  bool   // a request was refused: everything is dropped for good

	// The message, from its first frame to its last byte.
	op      driver.Op // OpNone: none is under way
	imm     uint32
	receive uint32 // 1 + the slot of the receive that it has taken; 0: none
	total   uint64
	moved   uint64 // bytes that are in place, or were thrown away
	key     uint64
	address uint64
	target  target // zero: not looked up yet, or there is none
	recent  regions
}

// receive reads what is there, up to a quantum, and reports whether there may be more. Payload goes straight to its
// place; headers, and what comes with them, to the poller's input, from where it is taken at once. What is not whole yet
// is kept for the next time.
func (w *wire) receive() (more bool) {
	p := w.poller
	have := copy(p.input[:], w.rest[:w.kept])
	w.kept = 0
	for budget := quantum; budget > 0; {
		n, room, errno := w.read(&have)
		if errno == eagain {
			break
		}
		if n == 0 || errno != 0 {
			w.hearEnd(errno)
			return false
		}
		p.moved += uint64(n)
		w.party.hear()
		if w.life.phase() != phaseReady {
			return false
		}
		if budget -= n; uint64(n) < room {
			break
		}
		more = budget <= 0
	}
	w.kept = copy(w.rest[:], p.input[:have])
	w.lack()
	return more
}

// read makes one visit: one system call, and everything that is to be done with what it brought. have is how many bytes
// the input holds. It returns how many were read, and for how many there was room.
func (w *wire) read(have *int) (n int, room uint64, errno syscall.Errno) {
	p := w.poller
	b := &p.output
	mark := w.enter()
	defer w.leave(mark)
	b.reset()
	direct := 0
	if *have == 0 && w.in.left > 0 {
		direct = w.aim(b)
	}
	b.add(p.input[*have:])
	room = uint64(direct + len(p.input) - *have)
	n, errno = w.pipe.readv(b.iovecs())
	if n <= 0 {
		return n, room, errno
	}
	straight := min(n, direct)
	if straight > 0 {
		w.land(straight)
	}
	*have += n - straight
	used := w.digest(p.input[:*have])
	*have = copy(p.input[:], p.input[used:*have])
	return n, room, errno
}

// hearEnd is the end of the stream.
func (w *wire) hearEnd(errno syscall.Errno) {
	if errno == 0 || errno == syscall.ECONNRESET || errno == syscall.EPIPE {
		w.sever(errEnd)
		return
	}
	w.sever(fmt.Errorf("read: %w", errno))
}

// digest takes whole frames, and as much payload as there is, from the front of b, and says how much that was.
func (w *wire) digest(b []byte) int {
	whole := len(b)
	for w.life.phase() == phaseReady {
		if w.in.left > 0 {
			n := w.absorb(b)
			if n == 0 {
				break
			}
			b = b[n:]
			continue
		}
		if len(b) < headerSize {
			break
		}
		w.step(b[:headerSize])
		b = b[headerSize:]
	}
	return whole - len(b)
}

// step takes one header.
func (w *wire) step(b []byte) {
	var h header
	if err := h.parse(b); err != nil {
		w.violate("%w", err)
		return
	}
	if !w.acknowledge(h.ack) {
		return
	}
	w.in.left, w.in.sink = h.length, toNowhere
	switch {
	case h.op.isRequest():
		w.stepRequest(&h)
	case h.op == frameMore:
		w.stepMore(&h)
	default:
		w.stepAnswer(&h)
	}
}

// aim adds to b the memory that the next bytes of the frame are to land in, and says how many bytes that is.
func (w *wire) aim(b *batch) int {
	switch w.in.sink {
	case toMessage:
		if w.in.op == driver.OpWrite || w.in.op == driver.OpWriteImm {
			return w.aimWrite(b)
		}
		var into pieces
		if w.openReceive(&into) {
			return b.addPieces(&into, uint64(w.in.left))
		}
	case toReader:
		var into pieces
		if w.openReader(&into) {
			return b.addPieces(&into, uint64(w.in.left))
		}
	}
	bin := w.poller.bin()
	return b.add(bin[:min(len(bin), int(w.in.left))])
}

// aimWrite leaves out the last word of the target, and what is behind it: those come by the input, to be stored last.
func (w *wire) aimWrite(b *batch) int {
	in := &w.in
	if !w.permitted() {
		return w.aim(b)
	}
	tail := in.tail()
	if in.moved >= tail {
		return 0
	}
	return b.add(in.target.slice(in.address+in.moved, min(uint64(in.left), tail-in.moved)))
}

// tail returns where in the message the last aligned word of the target begins, or 0 if there is none.
func (in *incoming) tail() uint64 {
	last := (in.address+in.total)&^(wordSize-1) - wordSize
	if last-in.address > in.total { // below the address, and so wrapped
		return 0
	}
	return last - in.address
}

// absorb puts the front of b, which is payload, where it belongs, and says how many bytes that was. It waits for the last
// word of a write to be whole.
func (w *wire) absorb(b []byte) int {
	in := &w.in
	b = b[:min(len(b), int(in.left))]
	switch in.sink {
	case toMessage:
		if in.op == driver.OpWrite || in.op == driver.OpWriteImm {
			b = w.absorbWrite(b)
			break
		}
		var into pieces
		if w.openReceive(&into) {
			into.writeFrom(b)
		}
	case toReader:
		var into pieces
		if w.openReader(&into) {
			into.writeFrom(b)
		}
	}
	w.land(len(b))
	return len(b)
}

// absorbWrite stores the front of b in the target, and returns what it took.
func (w *wire) absorbWrite(b []byte) []byte {
	in := &w.in
	if !w.permitted() {
		return b
	}
	tail := in.tail()
	if in.moved < tail {
		b = b[:min(uint64(len(b)), tail-in.moved)]
		copy(in.target.slice(in.address+in.moved, uint64(len(b))), b)
		return b
	}
	if in.moved+uint64(len(b)) < in.total {
		return nil
	}
	place(in.target.slice(in.address+in.moved, uint64(len(b))), b)
	return b
}

// land counts n bytes of payload that are where they belong, and ends the frame, and what ends with it.
func (w *wire) land(n int) {
	in := &w.in
	in.left -= uint32(n)
	switch in.sink {
	case toMessage:
		if in.moved += uint64(n); in.moved == in.total {
			w.finishMessage()
		}
	case toReader:
		if w.fetched += uint64(n); in.left == 0 && in.final {
			in.sink = toNowhere
			w.complete()
		}
	}
}

// bin returns memory for bytes that nobody wants.
func (p *poller) bin() []byte {
	if p.spare == nil {
		p.spare = make([]byte, 256<<10)
	}
	return p.spare
}

// zeros returns bytes that mean nothing, for a piece that must be written to its end.
func (p *poller) zeros() []byte {
	clear(p.bin())
	return p.bin()
}

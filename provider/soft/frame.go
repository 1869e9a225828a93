package soft

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Between two ends on the TCP lane go frames: a header of fixed size, then payload. In each direction go the requests of
// one end and, between them, its answers to the requests of the other.
//
// A message is one frame, or several if it is long, so that answers need not wait for its end: the first carries the
// request, those that follow are frameMore. Messages of one end never mix.
//
// Requests are numbered from 0, without gaps. Every header carries ack: all requests of the other end below it are done.
// A Read or an atomic is done by its answer alone, so ack never passes one that is not answered.
type frameOp uint8

// Frames that carry requests have the driver.Op of the request. The others follow.
const (
	frameMore     frameOp = 16 + iota // a further piece of a message
	frameAck                          // nothing but ack
	frameRead                         // a piece of what a Read asked for
	frameAtomic                       // the old value for an atomic
	frameNak                          // the request was refused, with status; the connection ends
	frameNotReady                     // the request found no receive; it, and what came behind it, was dropped
	frameReady                        // there is a receive now: go on with that request
	framePing                         // say something
	framePong                         // something
	frameOpEnd
)

// isRequest reports whether a frame begins a request. Those that are carried out at their own end are never told.
func (o frameOp) isRequest() bool { return driver.Op(o).IsRequest() && !driver.Op(o).IsLocal() }

// What a frame may carry. A rest of less than two words is not left to a frame of its own: see visit.share.
const (
	headerSize = 48
	pieceSize  = quantum
	maxPiece   = pieceSize + 2*wordSize
)

// header is the front of a frame, little-endian:
//
//	0 op, 1 status, 2 quiet, 3 zero, 4 length, 8 sequence, 12 ack, 16 imm, 20 total, 24 key, 32 address, 40 operand
//
// The compare value of a CompareSwap takes the place of imm and total.
type header struct {
	op       frameOp
	status   driver.Status // frameNak
	quiet    bool          // first frame of a request: nobody waits for its ack
	length   uint32        // of the payload
	sequence uint32        // of the request; frameMore, frameRead and frameAtomic: of the one that they belong to
	ack      uint32
	imm      uint32
	total    uint32 // bytes of the message; of an atomic, in place of it and imm, the value to compare with
	key      uint64
	address  uint64
	operand  uint64 // atomics: the value to put or add; frameAtomic: the old value
}

func (h *header) compare() uint64 { return uint64(h.imm) | uint64(h.total)<<32 }

func (h *header) setCompare(v uint64) { h.imm, h.total = uint32(v), uint32(v>>32) }

// put writes the header to the front of b.
func (h *header) put(b []byte) {
	_ = b[headerSize-1]
	le := binary.LittleEndian
	le.PutUint32(b, uint32(h.op)|uint32(h.status)<<8)
	if h.quiet {
		b[2] = 1
	}
	le.PutUint32(b[4:], h.length)
	le.PutUint32(b[8:], h.sequence)
	le.PutUint32(b[12:], h.ack)
	le.PutUint32(b[16:], h.imm)
	le.PutUint32(b[20:], h.total)
	le.PutUint64(b[24:], h.key)
	le.PutUint64(b[32:], h.address)
	le.PutUint64(b[40:], h.operand)
}

// parse reads a header from the front of b, and says what is wrong with it on the face of it.
func (h *header) parse(b []byte) error {
	_ = b[headerSize-1]
	le := binary.LittleEndian
	word := le.Uint32(b)
	h.op, h.status, h.quiet = frameOp(word), driver.Status(word>>8), word>>16 == 1
	h.length, h.sequence, h.ack = le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:])
	h.imm, h.total = le.Uint32(b[16:]), le.Uint32(b[20:])
	h.key, h.address, h.operand = le.Uint64(b[24:]), le.Uint64(b[32:]), le.Uint64(b[40:])
	if word>>16 > 1 || h.quiet && !h.op.isRequest() {
		return fmt.Errorf("reserved bytes of a header are %#x, not zero", word>>16)
	}
	return h.check()
}

// check looks at each field alone, and at those that must agree. What depends on the state of the connection is checked
// by who knows that.
func (h *header) check() error {
	op := driver.Op(h.op)
	switch {
	case !h.op.isRequest() && (h.op < frameMore || h.op >= frameOpEnd):
		return fmt.Errorf("unknown frame %d", h.op)
	case h.status != 0 && (h.op != frameNak || !h.status.Refused()), h.op == frameNak && h.status == 0:
		return fmt.Errorf("frame %d with status %v", h.op, h.status)
	case h.length > maxPiece:
		return fmt.Errorf("frame %d with %d bytes, most is %d", h.op, h.length, maxPiece)
	case h.length != 0 && !h.op.hasPayload():
		return fmt.Errorf("frame %d with %d bytes, which carries none", h.op, h.length)
	case h.op.isRequest() && !op.IsAtomic() && h.total > maxMessage:
		return fmt.Errorf("%v of %d bytes, most is %d", op, h.total, uint32(maxMessage))
	case h.op.beginsMessage() && h.length != pieceOf(h.total):
		return fmt.Errorf("%v of %d bytes begins with %d, want %d", op, h.total, h.length, pieceOf(h.total))
	}
	return nil
}

// hasPayload reports whether bytes may follow the header.
func (o frameOp) hasPayload() bool { return o.beginsMessage() || o == frameMore || o == frameRead }

// beginsMessage reports whether the header is that of a request whose bytes come along.
func (o frameOp) beginsMessage() bool {
	switch driver.Op(o) {
	case driver.OpSend, driver.OpSendImm, driver.OpWrite, driver.OpWriteImm:
		return true
	}
	return false
}

// pieceOf returns how many of the bytes that are left of a message go into its next frame. Both ends know: a sender that
// cuts differently could make the last word of a write land in two pieces.
func pieceOf(left uint32) uint32 {
	if left < maxPiece {
		return left
	}
	return pieceSize
}

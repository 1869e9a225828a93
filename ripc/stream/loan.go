package stream

import (
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/link"
)

const (
	bulkLeast = 16 << 10   // bytes that are worth to be lent
	bulkMost  = window / 4 // bytes that are lent at a time; whoever has read everything lets so many come
)

// loan is a frame that lends a buffer, until the peer has read it.
type loan struct {
	link.Outgoing
	out    *outgoing
	buffer *ripc.Buffer // nil: it is over
	size   int          // bytes of the buffer that are lent
	head   [headSize]byte
	pieces [2]link.Piece
	fill   [1]link.Fill
	ground *foreign // where it is written to; nil: nowhere
	isSent bool
	isBack bool
}

// pumpLoan lends the buffer of the Write under way when the peer has room for it, or writes it to the peer's ground. If nothing can
// be lent now, the Write ends with nothing written, and finds another way.
func (o *outgoing) pumpLoan() {
	l := o.loan
	if l == nil || uint64(l.size) > o.allowed-o.sent || o.underway >= maxFrames {
		return
	}
	o.loan = nil
	if berth, ok := o.berth(); ok {
		o.prepare(l, landed)
		l.land(berth)
		o.giveLoan(l)
	} else if o.conn.line.CanLend() {
		o.prepare(l, bulk)
		l.Loans = l.pieces[1:]
		o.giveLoan(l)
	}
}

// prepare makes a frame of a loan.
func (o *outgoing) prepare(l *loan, k kind) {
	l.out = o
	l.buffer.Retain()
	allowed, read := o.conn.in.tell()
	putHead(&l.head, k, allowed, read)
	l.pieces = [2]link.Piece{{Bytes: l.head[:]}, o.conn.line.Lend(l.buffer, l.size)}
	l.Outgoing = link.Outgoing{Owner: l, Items: l.pieces[:1]}
}

// giveLoan hands a loan to the link.
func (o *outgoing) giveLoan(l *loan) {
	o.underway++
	o.sent += uint64(l.size)
	o.result.n = l.size
	if err := o.conn.line.Send(&l.Outgoing); err != nil {
		l.step(err)
	}
}

// Sent implements link.Owner.
func (l *loan) Sent(_ *link.Outgoing, err error) {
	l.isSent = true
	l.step(err)
}

// Answered implements link.Owner. Nobody asks.
func (l *loan) Answered(*link.Outgoing, *link.Slot, error) {}

// Returned implements link.Owner.
func (l *loan) Returned(_ *link.Outgoing, err error) {
	l.isBack = true
	l.step(err)
}

// step goes on when the frame was sent and its buffer is back, or when the link has ended: then nobody can read it any more.
func (l *loan) step(err error) {
	o := l.out
	if l.buffer == nil || err == nil && !(l.isSent && l.isBack) {
		return
	}
	l.buffer.Release()
	l.buffer = nil
	o.underway--
	if err != nil {
		o.conn.lose(err)
	}
	o.pump()
	o.conn.tell()
}

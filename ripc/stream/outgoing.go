package stream

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc/link"
)

// maxFrames is how many frames of a connection are given to the link at a time, so that others have their turn.
const maxFrames = 16

// outgoing is the direction away from this end. It belongs to the loop, but for result, which is a writer's when its event is set.
type outgoing struct {
	conn    *Conn
	allowed uint64   // bytes that the peer lets us send
	sent    uint64   // bytes that were given to the link
	ground  *foreign // where this end may write; nil: nowhere
	landed  uint64   // pieces that were written to the peer's grounds
	read    uint64   // of those, the ones that it has read

	rest     []byte   // of the Write under way: not given to the link yet
	loan     *loan    // of the Write under way: not given to the link yet
	writing  bool     // a Write is under way
	unposted []*frame // given to the link, but in need of the writer's bytes, for all we know
	underway int      // frames given to the link
	free     []*frame
	result   result
	wake     loop.Event
	deadline deadline
}

// frame is a frame on its way.
type frame struct {
	link.Outgoing
	out    *outgoing
	head   [headSize]byte
	pieces [2]link.Piece
}

// begin starts a Write, and reports whether it has ended.
func (o *outgoing) begin(b []byte, l *loan, trouble error) bool {
	o.wake.Reset()
	o.result = result{}
	o.rest, o.loan, o.writing = b, l, true
	switch {
	case o.deadline.isPassed:
		o.finish(os.ErrDeadlineExceeded)
	case trouble != nil:
		o.finish(trouble)
	default:
		o.pump()
	}
	return !o.writing
}

// setDeadline changes the deadline, also of a Write that waits.
func (o *outgoing) setDeadline(at time.Time, alarm func()) {
	o.deadline.set(at)
	o.look(alarm)
}

// look ends a Write whose deadline has passed.
func (o *outgoing) look(alarm func()) {
	if o.deadline.look(alarm) {
		o.finish(os.ErrDeadlineExceeded)
		o.conn.tell()
	}
}

// allow hears how many bytes the peer lets this end send, and how many pieces it has read. Neither ever falls, nobody has room for so
// much, and nobody reads what was not written.
func (o *outgoing) allow(bytes, read uint64) error {
	const most = 1 << 30
	if bytes < o.allowed || bytes > o.sent+most {
		return fmt.Errorf("%d bytes are allowed, after %d, when %d were sent", bytes, o.allowed, o.sent)
	}
	if read < o.read || read > o.landed {
		return fmt.Errorf("%d pieces were read, after %d, when %d were written", read, o.read, o.landed)
	}
	if o.ground != nil {
		o.ground.ledger.read(o.read, read)
	}
	o.allowed, o.read = bytes, read
	return nil
}

// pump sends what the peer and the link have room for. The Write ends when its bytes are its own again.
func (o *outgoing) pump() {
	for o.writing && len(o.rest) > 0 && o.sent < o.allowed && o.underway < maxFrames {
		line := o.conn.line
		n := int(min(uint64(len(o.rest)), o.allowed-o.sent, uint64(line.Room(2, 0)-headSize)))
		f := o.takeFrame()
		f.pieces[1].Bytes = o.rest[:n]
		o.rest = o.rest[n:]
		o.sent += uint64(n)
		o.result.n += n
		if err := o.give(f); err != nil {
			o.conn.lose(err)
		} else if o.writing && !f.IsPosted() {
			o.unposted = append(o.unposted, f)
		}
	}
	o.pumpLoan()
	if o.writing && len(o.rest)+len(o.unposted) == 0 && o.loan == nil {
		o.finish(nil)
	}
}

// give hands a frame to the link.
func (o *outgoing) give(f *frame) error {
	allowed, read := o.conn.in.tell()
	putHead(&f.head, data, allowed, read)
	o.underway++
	err := o.conn.line.Send(&f.Outgoing)
	if err != nil {
		o.putBack(f)
	}
	return err
}

// takeFrame returns a frame that is not under way.
func (o *outgoing) takeFrame() *frame {
	if last := len(o.free) - 1; last >= 0 {
		f := o.free[last]
		o.free = o.free[:last]
		return f
	}
	f := &frame{out: o}
	f.pieces[0].Bytes = f.head[:]
	f.renew()
	return f
}

// renew makes a frame ready to be sent once more.
func (f *frame) renew() {
	f.pieces[1].Bytes = nil
	f.Outgoing = link.Outgoing{Owner: f, Items: f.pieces[:]}
}

// Sent implements link.Owner.
func (f *frame) Sent(_ *link.Outgoing, err error) {
	o := f.out
	o.unposted = slices.DeleteFunc(o.unposted, func(other *frame) bool { return other == f })
	o.putBack(f)
	if err != nil {
		o.conn.lose(err)
		return
	}
	o.pump()
	o.conn.tell()
}

func (o *outgoing) putBack(f *frame) {
	o.underway--
	f.renew()
	o.free = append(o.free, f)
}

// Answered implements link.Owner. Nobody asks.
func (f *frame) Answered(*link.Outgoing, *link.Slot, error) {}

// Returned implements link.Owner. Nothing is lent.
func (f *frame) Returned(*link.Outgoing, error) {}

// finish ends the Write under way. What the link has not sent yet is taken back: the last frames, because it sends them in order.
func (o *outgoing) finish(err error) {
	if !o.writing {
		return
	}
	for i := len(o.unposted) - 1; i >= 0; i-- {
		f := o.unposted[i]
		n := len(f.pieces[1].Bytes)
		if o.conn.line.Cancel(&f.Outgoing) {
			o.sent -= uint64(n)
			o.result.n -= n
			o.conn.in.isUnsaid = true
			o.putBack(f)
		}
	}
	clear(o.unposted)
	o.unposted, o.rest, o.loan, o.writing = o.unposted[:0], nil, nil, false
	o.result.err = err
	o.wake.Set()
}

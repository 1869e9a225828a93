package stream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/wire"
)

// ear is what a connection hears of its line. It is apart so that programs do not see it.
type ear struct{ *Conn }

// Ready implements ripc.LineUser.
func (c ear) Ready() {
	c.ready.Set()
	c.tell()
}

// Arrived implements ripc.LineUser.
func (c ear) Arrived(m *wire.Message) {
	a, err := decode(m)
	if err == nil {
		err = c.take(m, &a)
	}
	if err != nil {
		c.line.Release(m)
		c.stop(fmt.Errorf("%w: the peer broke the protocol: %w", syscall.ECONNRESET, err))
	}
	c.out.pump()
	c.tell()
}

// take takes in a frame.
func (c *Conn) take(m *wire.Message, a *arrival) error {
	if err := c.out.allow(a.allowed, a.read); err != nil {
		return err
	}
	if a.kind == finish || a.kind == goodbye {
		c.endGround() // whatever has become of this end
	}
	if c.isOver() && a.kind != goodbye { // the peer did not know yet
		c.line.Release(m)
		return nil
	}
	switch a.kind {
	case data:
		if err := c.in.count(uint64(len(a.bytes))); err != nil {
			return err
		}
		c.in.arrive(a.bytes)
	case bulk:
		return c.fetch(m, a.loan)
	case ground:
		return c.out.takeGround(a.ground, m.Head.Expiry)
	case landed:
		return c.land(a.fill)
	case goodbye:
		c.isParted = true
		c.out.finish(errRefused)
		fallthrough
	case finish:
		c.in.isEnded = c.in.isEnded || c.why == nil // of one that has broken, not all may have come
		c.in.offer(c.endOfReading())
	}
	return nil
}

// Ended implements ripc.LineUser.
func (c ear) Ended(why error) {
	if errors.Is(why, ripc.ErrClosed) { // the node is closed, and so is the connection
		c.in.isBarred.Store(true)
	}
	if c.ready.IsSet() {
		c.lose(why)
	} else {
		c.stop(why)
	}
	c.endGround() // the other process does not write there any more: it has said so behind all that it has sent on the line, or is gone
	c.ready.Set()
	c.settle()
}

// lose ends the connection because nothing can be sent any more.
func (c *Conn) lose(why error) { c.stop(fmt.Errorf("%w: %w", syscall.ECONNRESET, why)) }

// stop breaks the connection: nobody waits any more.
func (c *Conn) stop(why error) {
	if c.why == nil {
		c.why = why
	}
	c.in.offer(c.endOfReading())
	c.out.finish(c.endOfWriting())
}

// close ends both directions by the program's will.
func (c *Conn) close() {
	c.isClosed = true
	c.in.isBarred.Store(true)
	c.in.deadline.stop()
	c.out.deadline.stop()
	c.in.cut(nil)
	c.in.finish(result{err: net.ErrClosed})
	c.out.finish(net.ErrClosed)
	c.line.GiveUp()
	c.tell()
}

// closeWrite ends one.
func (c *Conn) closeWrite() error {
	if err := c.endOfWriting(); err != nil {
		return err
	}
	c.isFinished = true
	c.out.finish(errFinished)
	c.tell()
	return nil
}

// isOver reports whether this end neither reads nor writes any more.
func (c *Conn) isOver() bool { return c.isClosed || c.why != nil }

// endOfReading is what is behind the last byte that has come; nil: there may be more.
func (c *Conn) endOfReading() error {
	switch {
	case c.isClosed:
		return net.ErrClosed
	case c.in.isEnded:
		return io.EOF
	}
	return c.why
}

// endOfWriting is why nothing can be written; nil: it can.
func (c *Conn) endOfWriting() error {
	switch {
	case c.isClosed:
		return net.ErrClosed
	case c.isFinished:
		return errFinished
	case c.isParted:
		return errRefused
	}
	return c.why
}

// What a Write hears after the end. Programs ask for EPIPE.
var (
	errFinished = fmt.Errorf("%w: this end is closed for writing", syscall.EPIPE)
	errRefused  = fmt.Errorf("%w: the peer has closed the connection", syscall.EPIPE)
)

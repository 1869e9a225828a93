package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc"
)

// Conn is a connection. It is a net.Conn, and one direction can be closed alone.
type Conn struct {
	line          *ripc.Line
	local, remote net.Addr
	handle        leak.Handle
	closing       sync.Once

	reading   sync.Mutex // one Read at a time has what follows
	into      []byte
	beginRead func()   // kept, so that a Read allocates nothing
	isRead    bool     // it has its answer at once
	held      *segment // bytes of which some were read; nil: none

	writing    sync.Mutex // one Write at a time has what follows
	from       []byte
	loan       *loan
	beginWrite func()
	beginLend  func()
	isWritten  bool

	// What follows belongs to the loop.
	in         incoming
	out        outgoing
	notice     notice
	why        error // it has broken, or was not accepted
	isClosed   bool  // by this end
	isFinished bool  // this end writes no more
	isParted   bool  // the peer neither reads nor writes any more
	ready      loop.Event
	settled    loop.Event // all is said and sent
}

func newConn(node *ripc.Node, local, remote net.Addr) *Conn {
	c := &Conn{local: local, remote: remote, handle: leak.Opened("stream.Conn")}
	c.line = node.NewLine(ear{c})
	c.in.told, c.out.allowed = window, window
	c.out.conn, c.notice.conn = c, c
	c.beginRead = func() {
		c.isRead = c.in.begin(c.into, c.endOfReading())
		c.tell()
	}
	c.beginWrite = func() { c.isWritten = c.out.begin(c.from, nil, c.endOfWriting()) }
	c.beginLend = func() { c.isWritten = c.out.begin(nil, c.loan, c.endOfWriting()) }
	return c
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.held == nil {
		r, err := c.await(b)
		if err != nil || r.segment == nil {
			return r.n, c.problem("read", err)
		}
		c.held = r.segment
	} else if c.in.isBarred.Load() {
		if err := c.bar(); err != nil {
			return 0, c.problem("read", err)
		}
	}
	n := copy(b, c.held.bytes)
	if c.held.bytes = c.held.bytes[n:]; len(c.held.bytes) == 0 {
		c.letGo()
	}
	return n, nil
}

// await waits for bytes: they are in b, or in a segment.
func (c *Conn) await(b []byte) (result, error) {
	c.into = b
	err := c.line.Do(c.beginRead)
	if err == nil && !c.isRead {
		err = c.line.Await(context.Background(), &c.in.wake)
	}
	c.into = nil
	if err != nil {
		return result{}, nodeClosed(err)
	}
	return c.in.result, c.in.result.err
}

// bar is why nothing may be read although there is something.
func (c *Conn) bar() (err error) {
	failed := c.line.Do(func() {
		if c.isClosed {
			err = net.ErrClosed
		} else if c.in.deadline.isPassed {
			err = os.ErrDeadlineExceeded
		}
	})
	if failed != nil {
		return nodeClosed(failed)
	}
	return err
}

// letGo frees what the reader has. If the peer may be waiting for that, it is told now: nobody knows when the next Read comes.
func (c *Conn) letGo() {
	if c.held == nil {
		return
	}
	c.held.free()
	c.held = nil
	if c.in.hasBerths() {
		_ = c.line.Do(c.tell) // after the node's Close nobody waits
	}
}

// linger is how long Close waits for the other process to have taken what was written.
const linger = time.Second

// Close implements net.Conn. What was written is delivered; what was not read is forgotten. A second Close does nothing.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		c.handle.Closed()
		err := c.line.Do(c.close)
		c.reading.Lock() // nobody waits there any more
		c.letGo()
		c.reading.Unlock()
		if errors.Is(err, ripc.ErrClosed) {
			c.forget()
		}
		if err != nil {
			return // the loop has ended, and the connection with it
		}
		ctx, cancel := context.WithTimeout(context.Background(), linger)
		defer cancel()
		_ = c.line.Await(ctx, &c.settled) // who does not take it in time has lost it
	})
	return nil
}

// forget gives back what was not read before the node was closed. If somebody is still closing it, that is waited for: then nothing
// touches the connection any more.
func (c *Conn) forget() {
	_ = c.line.Node().Close() // who has closed it hears what was wrong
	c.in.cut(nil)
}

// CloseWrite ends the direction to the peer, which reads io.EOF behind the last byte.
func (c *Conn) CloseWrite() (err error) {
	failed := c.line.Do(func() { err = c.closeWrite() })
	if failed != nil {
		err = nodeClosed(failed)
	}
	return c.problem("close", err)
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return c.set(func() { c.in.setDeadline(t, c.alarm); c.out.setDeadline(t, c.alarm) })
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.set(func() { c.in.setDeadline(t, c.alarm) })
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.set(func() { c.out.setDeadline(t, c.alarm) })
}

func (c *Conn) set(change func()) (err error) {
	failed := c.line.Do(func() {
		if c.isClosed {
			err = net.ErrClosed
			return
		}
		change()
	})
	if failed != nil {
		err = nodeClosed(failed)
	}
	return c.problem("set", err)
}

// alarm is called when a deadline may have passed.
func (c *Conn) alarm() {
	_ = c.set(func() { c.in.look(c.alarm); c.out.look(c.alarm) }) // nobody waits at one that is closed
}

func nodeClosed(err error) error { return fmt.Errorf("%w: %w", net.ErrClosed, err) }

// problem wraps an error as package net does. io.EOF stays what it is.
func (c *Conn) problem(operation string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: operation, Net: network, Source: c.local, Addr: c.remote, Err: err}
}

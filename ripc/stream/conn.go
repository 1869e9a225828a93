package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
	beginRead func() // kept, so that a Read allocates nothing
	isRead    bool   // it has its answer at once

	writing    sync.Mutex // one Write at a time has what follows
	from       []byte
	beginWrite func()
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
	c.line = node.NewLine(c)
	c.in.told, c.out.allowed = window, window
	c.out.conn, c.notice.conn = c, c
	c.beginRead = func() {
		c.isRead = c.in.begin(c.into, c.endOfReading())
		c.tell()
	}
	c.beginWrite = func() { c.isWritten = c.out.begin(c.from, c.endOfWriting()) }
	return c
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	c.into = b
	err := c.line.Do(c.beginRead)
	if err == nil && !c.isRead {
		err = c.line.Await(context.Background(), &c.in.wake)
	}
	c.into = nil
	if err != nil {
		return 0, c.problem("read", nodeClosed(err))
	}
	return c.in.result.n, c.problem("read", c.in.result.err)
}

// Write implements net.Conn. It returns when b is the program's again: the bytes are on their way.
func (c *Conn) Write(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.from = b
	err := c.line.Do(c.beginWrite)
	if err == nil && !c.isWritten {
		err = c.line.Await(context.Background(), &c.out.wake)
	}
	c.from = nil
	if err != nil {
		return 0, c.problem("write", nodeClosed(err))
	}
	return c.out.result.n, c.problem("write", c.out.result.err)
}

// linger is how long Close waits for the other process to have taken what was written.
const linger = time.Second

// Close implements net.Conn. What was written is delivered; what was not read is forgotten. A second Close does nothing.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		c.handle.Closed()
		if c.line.Do(c.close) != nil {
			return // the node is closed, and the connection with it
		}
		ctx, cancel := context.WithTimeout(context.Background(), linger)
		defer cancel()
		_ = c.line.Await(ctx, &c.settled) // who does not take it in time has lost it
	})
	return nil
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

package soft

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tcpCall is a connection on which hello was said. It implements caller.
type tcpCall struct {
	device  *Device
	conn    net.Conn // of TCP, of a Unix socket, or of TLS over one of them
	asked   bool     // the other side has called, and waits for an answer
	depth   uint32   // of its send queue
	party   identity // its device
	binding []byte   // of the connection, if the other side has called
}

// brief is how long a few bytes may take to a socket that has all its room.
const brief = time.Second

// meet makes the connection that of q. If that fails, the life is broken: nobody else will call.
func (c *tcpCall) meet(q *QueuePair, l *life) {
	if err := c.connect(q, l); err != nil {
		_ = c.conn.Close()
		c.device.config.Log.Warn("connect", "device", c.device.config.Name, "queue", q.number, "error", err)
		l.breakTo(phaseOrphaned)
	}
}

func (c *tcpCall) connect(q *QueuePair, l *life) error {
	p, err := q.cq.needPoller()
	if err != nil {
		return err
	}
	if c.asked {
		_ = c.conn.SetWriteDeadline(time.Now().Add(brief))
		if _, err := c.conn.Write(answerText(uint32(q.config.SendDepth), l.heard.prove(provesCalled, c.binding), nil)); err != nil {
			return err
		}
	}
	s, fd, err := takePipe(c.conn, c.device.config.PeerTimeout)
	if err != nil {
		return err
	}
	// Package tls may hold what came together with the answer: the kernel does not report that.
	w := &wire{q: q, life: l, poller: p, pipe: s, fd: fd, depth: int(c.depth), legible: true}
	if err := w.begin(c.party); err != nil {
		s.close()
		return err
	}
	return nil
}

// refuse tells a caller why it is not met.
func (c *tcpCall) refuse(why error) {
	if c.asked {
		_ = c.conn.SetWriteDeadline(time.Now().Add(brief))
		_, _ = c.conn.Write(answerText(0, proof{}, why))
	}
	_ = c.conn.Close()
}

// takeSocket takes the socket out of the hands of package net, and closes what is left there.
func takeSocket(conn net.Conn, timeout time.Duration) (fd int, err error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(old uintptr) {
		if fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0); failed == nil {
			tune(fd, timeout)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, noDescriptor("take a socket", err)
	}
	if err := conn.Close(); err != nil {
		_ = unix.Close(fd)
		return 0, fmt.Errorf("soft: take a socket: %w", err)
	}
	return fd, nil
}

// loopbackBuffer is how much the kernel may hold of what a socket sends to a process of this host; it takes twice as much
// for its own books. Left to itself it takes megabytes, and by the time the peer reads them they have left the processor's
// cache: with this limit 1 MiB messages cost a tenth less. Between hosts the kernel knows better how long the way is.
const loopbackBuffer = 400 << 10

// tune makes a TCP socket send at once, and gives up a peer whose host does not even acknowledge. A Unix socket needs
// none of it, and refuses.
func tune(fd int, timeout time.Duration) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(timeout.Milliseconds()))
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	if toLoopback(fd) {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, loopbackBuffer)
	}
}

func toLoopback(fd int) bool {
	peer, _ := unix.Getpeername(fd)
	switch peer := peer.(type) {
	case *unix.SockaddrInet4:
		return net.IP(peer.Addr[:]).IsLoopback()
	case *unix.SockaddrInet6:
		return net.IP(peer.Addr[:]).IsLoopback()
	}
	return false
}

package soft

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// outbox is what a device says to a neighbour. Nobody who speaks waits: a neighbour that is stopped reads nothing, and who
// closes or resets queue pairs must not be held up by it. What the socket has no room for waits here.
type outbox struct {
	mu      sync.Mutex
	letters []letter // oldest first; the first one may be under way
	posting bool     // a goroutine sends them
	failed  error    // why nothing is sent any more
}

// letter is a packet that waits, with a descriptor of its own or -1.
type letter struct {
	packet []byte
	fd     int
}

// maxLetters bounds what waits for a neighbour: a few notes for each of its queue pairs. One that lets more than that pile
// up is given up.
const maxLetters = 1 << 17

// say sends a note, with a descriptor unless fd is negative. The neighbour may get it later.
func (n *neighbour) say(m *note, extents []extent, fd int) error {
	packet := m.encode(extents)
	o := &n.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.failed
	if err == nil && len(o.letters) == 0 {
		if err = send(n.conn, packet, fd, false); err == nil {
			return nil
		}
	}
	if err == nil || errors.Is(err, unix.EAGAIN) {
		err = n.keep(packet, fd)
	}
	if err != nil {
		return fmt.Errorf("soft: to neighbour %v: %w", n.peer, err)
	}
	return nil
}

// keep has a packet sent later.
func (n *neighbour) keep(packet []byte, fd int) (err error) {
	o := &n.outbox
	if len(o.letters) >= maxLetters {
		_ = n.conn.Close()
		return fmt.Errorf("%d notes wait already", maxLetters)
	}
	if fd >= 0 {
		if fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return fmt.Errorf("keep a descriptor: %w%s", err, descriptorHint(err))
		}
	}
	o.letters = append(o.letters, letter{packet, fd})
	if !o.posting {
		o.posting = true
		n.device.neighbours.serving.Go(n.runOutbox)
	}
	return nil
}

// runOutbox sends what waits. It ends when nothing does, or when the socket is closed; Device.Close waits for it.
func (n *neighbour) runOutbox() {
	o := &n.outbox
	for {
		o.mu.Lock()
		if o.posting = len(o.letters) > 0 && o.failed == nil; !o.posting {
			o.throwAway()
			o.mu.Unlock()
			return
		}
		l := o.letters[0]
		o.mu.Unlock()
		err := send(n.conn, l.packet, l.fd, true)
		closeDescriptor(l.fd)
		o.mu.Lock()
		o.letters[0] = letter{}
		o.letters, o.failed = o.letters[1:], err
		o.mu.Unlock()
	}
}

// throwAway drops what will not be sent.
func (o *outbox) throwAway() {
	for _, l := range o.letters {
		closeDescriptor(l.fd)
	}
	o.letters = nil
}

// send writes a packet. If there is no room it waits, or else returns EAGAIN.
func send(conn *net.UnixConn, packet []byte, fd int, wait bool) error {
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Write(func(socket uintptr) bool {
		sent = unix.Sendmsg(int(socket), packet, rights, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		return sent != unix.EAGAIN || !wait
	})
	if err != nil {
		return err
	}
	return sent
}

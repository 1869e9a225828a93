package soft

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
)

// neighbour is a device of another process of this user on this host, or of this process, with which this one shares
// memory. The two talk over a Unix socket of packets: to connect queue pairs, to pass on the files of registered memory
// when a key is first used, and to learn that the other is gone, because then the kernel closes the socket. After that,
// data moves without it.
type neighbour struct {
	device *Device
	peer   identity
	conn   *net.UnixConn
	pid    *processHandle
	arena  *sight // the peer's
	ended  chan struct{}
	left   bool // it has said goodbye; its goroutine's

	sending sync.Mutex
	mu      sync.Mutex // guards what follows
	gone    bool
	ties    map[appointment]*tie
	views   map[viewKey]*region
	asked   map[viewKey][]*bell // who waits for an answer
	refused map[viewKey]bool    // answers that nobody has looked at yet
	wakers  map[ref]*waker      // by where the words of the completion queue lie
}

// viewKey is a remote key, or a local key of one of the peer's domains.
type viewKey struct{ domain, key uint64 }

// tie is a connection between a life here and one at the neighbour's. Each has the other's words mapped, so neither may
// use its own again before both have let go.
type tie struct {
	neighbour *neighbour
	at        appointment
	mine      *life
	pool      *pool // of mine, unless it is shared
	view      *life // nil: not connected yet
	answer    chan noteWithFD
	letGo     [2]bool // here, there

	standing sync.Mutex // guards what follows: who stands inside the gate, and since when
	seen     uint64
	since    clock.Time
}

// noteWithFD is a note that has come, with the descriptor that came along or -1.
type noteWithFD struct {
	note
	extents []extent
	fd      int
}

// say sends a note, with a descriptor unless fd is negative.
func (n *neighbour) say(m *note, extents []extent, fd int) error {
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	n.sending.Lock()
	defer n.sending.Unlock()
	_, _, err := n.conn.WriteMsgUnix(m.encode(extents), rights, nil)
	if err != nil {
		return fmt.Errorf("soft: to neighbour %v: %w", n.peer, err)
	}
	return nil
}

// hear waits for a note. Every descriptor beyond the first is closed.
func hear(conn *net.UnixConn) (in noteWithFD, err error) {
	in.fd = -1
	packet, rights := make([]byte, noteSize+24*maxExtents+1), make([]byte, unix.CmsgSpace(4))
	size, rightsSize, flags, _, err := conn.ReadMsgUnix(packet, rights)
	if err != nil {
		return in, err
	}
	if in.fd, err = takeDescriptor(rights[:rightsSize]); err != nil {
		return in, err
	}
	if size == 0 {
		err = net.ErrClosed
	} else if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.New("a note that is too long")
	} else {
		in.note, in.extents, err = decodeNote(packet[:size])
	}
	if err != nil {
		closeDescriptor(in.fd)
		in.fd = -1
	}
	return in, err
}

// takeDescriptor returns the descriptor that came with a packet, or -1.
func takeDescriptor(rights []byte) (int, error) {
	if len(rights) == 0 {
		return -1, nil
	}
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return -1, err
	}
	fd := -1
	for i := range messages {
		list, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, got := range list {
			if fd < 0 {
				fd = got
				unix.CloseOnExec(fd)
			} else {
				unix.Close(got)
			}
		}
	}
	return fd, nil
}

func closeDescriptor(fd int) {
	if fd >= 0 {
		unix.Close(fd)
	}
}

// run hears the neighbour out until it is gone. It is the neighbour's goroutine; Device.Close waits for it.
func (n *neighbour) run() {
	for {
		in, err := hear(n.conn)
		if errors.Is(err, unix.ECONNRESET) { // it has hung up without reading all; what it has said is still there
			in, err = hear(n.conn)
		}
		if err == nil {
			err = n.take(in)
		}
		if err != nil {
			n.lose(err)
			return
		}
	}
}

// take acts on a note. An error ends the neighbourhood: the peer does not keep to the protocol.
func (n *neighbour) take(in noteWithFD) error {
	switch in.Kind {
	case noteCall:
		return n.takeCall(in)
	case noteAccept, noteRefuse:
		return n.takeAnswer(in)
	case noteAsk:
		closeDescriptor(in.fd)
		return n.takeQuestion(&in.note)
	case noteRegion:
		return n.takeRegion(in)
	}
	closeDescriptor(in.fd)
	switch in.Kind {
	case noteRetire:
		n.letGo(appointment{in.There.name(), in.Here.name()}, 1)
	case noteClosed:
		n.mu.Lock()
		delete(n.views, viewKey{0, in.Key})
		delete(n.views, viewKey{in.Domain, uint64(in.Region.LocalKey)})
		n.mu.Unlock()
	case noteBye:
		n.left = true
		return errHungUp
	default:
		return fmt.Errorf("a note of unknown kind %d", in.Kind)
	}
	return nil
}

// lose ends everything with a neighbour that is gone, has hung up or talks nonsense.
func (n *neighbour) lose(why error) {
	n.conn.Close()
	dead := n.left || !n.device.neighbours.closing.Load() && n.hasTies() && n.pid.hasEnded()
	n.mu.Lock()
	n.gone = true
	ties := make([]*tie, 0, len(n.ties))
	for _, t := range n.ties {
		ties = append(ties, t)
	}
	waiting := n.asked
	n.asked, n.views, n.wakers = nil, nil, nil
	n.mu.Unlock()
	n.device.forgetNeighbour(n)
	if len(ties) > 0 {
		n.device.config.Log.Info("neighbour is gone", "device", n.device.config.Name, "peer", n.peer.String(), "dead", dead,
			"connections", len(ties), "error", why)
	}
	for _, t := range ties {
		t.cut(dead)
	}
	for _, bells := range waiting {
		for _, b := range bells {
			b.ring()
		}
	}
	n.pid.close()
	close(n.ended)
}

func (n *neighbour) hasTies() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.ties) > 0
}

// cut breaks a connection whose other side is gone. If that process is dead, it is inside the gate no more.
func (t *tie) cut(dead bool) {
	if t.view != nil {
		t.view.phaseWord.Store(uint32(phaseOver))
	}
	if t.mine.breakTo(phaseOrphaned) {
		t.mine.announceChained()
	}
	if dead {
		t.mine.gate.sweep()
	}
	t.mine.bell.ring()
	if dead {
		t.neighbour.letGo(t.at, 1)
	}
}

// letGo notes that one side has no more use for a connection's words, and frees this side's when both have none.
func (n *neighbour) letGo(at appointment, side int) {
	n.mu.Lock()
	t := n.ties[at]
	if t == nil {
		n.mu.Unlock()
		return
	}
	t.letGo[side] = true
	both := t.letGo[0] && t.letGo[1]
	if both {
		delete(n.ties, at)
	}
	n.mu.Unlock()
	if both {
		t.free()
	}
}

// free gives the words of this side back.
func (t *tie) free() {
	a := t.neighbour.device.arena
	give[end](a, t.mine.endRef, 1)
	give[uint32](a, t.mine.orderRef, len(t.mine.order))
	if t.pool != nil {
		t.pool.release()
	}
}

// dialShared calls a queue pair of a neighbour, and returns when that has connected too.
func (d *Device) dialShared(ctx context.Context, line *line, l *life, a address) (caller, error) {
	n, err := d.neighbourAt(ctx, a)
	if err != nil {
		return nil, err
	}
	t := n.tie(appointment{lifeName{d.identity, l.number, l.epoch}, a.lifeName}, l)
	if t == nil {
		return nil, errHungUp
	}
	l.domain.offerAll(n)
	m := &note{Kind: noteCall, Here: t.at.here.note(), There: t.at.there.note(), Life: l.describe()}
	if err := n.say(m, nil, l.bell.cq.wakeDescriptor()); err != nil {
		return nil, err
	}
	line.free()
	select {
	case in := <-t.answer:
		if in.Kind == noteRefuse {
			return nil, fmt.Errorf("the peer says: %s", in.why())
		}
		return &sharedCall{tie: t, in: in}, nil
	case <-n.ended:
		return nil, errHungUp
	case <-ctx.Done():
		return nil, fmt.Errorf("the peer has not answered: %w", ctx.Err())
	}
}

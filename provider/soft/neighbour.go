package soft

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"weak"

	"golang.org/x/sys/unix"
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

	outbox  outbox
	mu      sync.Mutex // guards what follows
	gone    bool
	ties    map[appointment]*tie
	views   map[viewKey]*region
	asked   map[viewKey]map[*bell]bool  // who waits for an answer
	refused map[viewKey]bool            // answers that nobody has looked at yet
	domains map[uint64]bool             // numbers of our domains whose memory it was offered
	wakers  map[ref]weak.Pointer[waker] // by where the words of the completion queue lie
}

// viewKey is a remote key, or a local key of one of the peer's domains.
type viewKey struct{ domain, key uint64 }

// noteWithFD is a note that has come, with the descriptor that came along or -1.
type noteWithFD struct {
	note
	extents []extent
	fd      int
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
				closeDescriptor(got)
			}
		}
	}
	return fd, nil
}

func closeDescriptor(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
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
	case noteAccept:
		return n.takeAccept(in)
	case noteAsk:
		closeDescriptor(in.fd)
		return n.takeQuestion(&in.note)
	case noteRegion:
		return n.takeRegion(in)
	}
	closeDescriptor(in.fd)
	switch in.Kind {
	case noteRefuse, noteRetire:
		n.takeEnd(in)
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

// lose ends everything with a neighbour that is gone, has hung up or talks nonsense. Connections break at once; whether
// their words can be used again depends on whether its process has ended.
func (n *neighbour) lose(why error) {
	_ = n.conn.Close()
	ties, waiting := n.depart()
	n.device.forgetNeighbour(n)
	close(n.ended)
	for _, t := range ties {
		t.cut(true)
	}
	for b := range waiting {
		b.ring()
	}
	if len(ties) > 0 {
		dead := n.left || !n.device.neighbours.closing.Load() && n.pid.hasEnded()
		if !n.left && !n.device.neighbours.closing.Load() {
			n.device.config.Log.Warn("neighbour is gone", "device", n.device.config.Name, "peer", n.peer.String(), "dead", dead,
				"connections", len(ties), "error", why)
		}
		for _, t := range ties {
			if dead {
				t.bury()
			}
		}
	}
	n.pid.close()
}

func (n *neighbour) isGone() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gone
}

// depart notes that the neighbour is gone, and returns who must hear of it.
func (n *neighbour) depart() (ties []*tie, waiting map[*bell]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone = true
	for _, t := range n.ties {
		if !t.letGo[1] { // else its words may be another's at any time
			ties = append(ties, t)
		}
	}
	waiting = make(map[*bell]bool)
	for _, bells := range n.asked {
		maps.Copy(waiting, bells)
	}
	n.asked, n.views, n.wakers = nil, nil, nil
	return ties, waiting
}

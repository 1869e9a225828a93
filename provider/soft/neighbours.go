package soft

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
)

var errNotSealed = errors.New("a neighbour's memory could be truncated: its file is not sealed against shrinking")

// neighbours is whom a device shares memory with, and the socket where new ones come. The socket is abstract: it has no
// file that a crash could leave behind, and anybody of the network namespace may call, so the kernel is asked who does.
type neighbours struct {
	listener *net.UnixListener // nil: the device has no such lane
	serving  sync.WaitGroup    // goroutines of the listener and of the neighbours
	greeting chan struct{}     // holds one for each caller whose hello is awaited
	closing  atomic.Bool       // the device hangs up: nobody need find out why the others do
	met      atomic.Bool       // somebody was given the arena, and can write there

	mu    sync.Mutex
	known map[identity]*meetingPoint
}

// meetingPoint is a neighbour, or the wait for one.
type meetingPoint struct {
	ready chan struct{} // closed when one of the following is set
	*neighbour
	err error
}

const maxGreetings = 64

func meetingName(device identity) *net.UnixAddr {
	return &net.UnixAddr{Name: "@weft-" + device.String(), Net: "unixpacket"}
}

// openShared opens the lane of shared memory.
func (d *Device) openShared() (err error) {
	if d.arena, err = newArena(); err != nil {
		return err
	}
	ns := &d.neighbours
	ns.known, ns.greeting = make(map[identity]*meetingPoint), make(chan struct{}, maxGreetings)
	if ns.listener, err = net.ListenUnix("unixpacket", meetingName(d.identity)); err != nil {
		return fmt.Errorf("soft: device %s: the meeting socket of shared memory: %w", d.config.Name, err)
	}
	ns.serving.Go(d.acceptNeighbours)
	return nil
}

// hangUp closes all sockets. Neighbours find the device gone.
func (ns *neighbours) hangUp() {
	if ns.listener == nil {
		return
	}
	ns.closing.Store(true)
	_ = ns.listener.Close()
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for _, p := range ns.known {
		if p.neighbour != nil {
			_ = p.conn.Close()
		}
	}
}

// sayBye tells the neighbours that all queue pairs of the device are closed.
func (ns *neighbours) sayBye() {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for _, p := range ns.known {
		if p.neighbour != nil {
			_ = p.say(&note{Kind: noteBye}, nil, -1)
		}
	}
}

// close hangs up, and waits for all goroutines.
func (ns *neighbours) close() {
	ns.hangUp()
	ns.serving.Wait()
}

// acceptNeighbours is the listener's goroutine.
func (d *Device) acceptNeighbours() {
	ns := &d.neighbours
	for {
		conn, err := ns.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors: others may be freed
			d.config.Log.Warn("accept a neighbour", "device", d.config.Name, "error", err)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		ns.greeting <- struct{}{}
		ns.serving.Go(func() { d.greet(conn) })
	}
}

// greet meets a caller, and then serves it.
func (d *Device) greet(conn *net.UnixConn) {
	n, err := d.shakeHands(conn, nil)
	if err == nil {
		if err = d.neighbours.add(n); err != nil {
			n.pid.close()
		}
	}
	<-d.neighbours.greeting
	if err != nil {
		d.config.Log.Warn("a neighbour was turned away", "device", d.config.Name, "error", err)
		_ = conn.Close()
		return
	}
	n.run()
}

// add makes a neighbour known that has called.
func (ns *neighbours) add(n *neighbour) error {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if ns.closing.Load() { // whoever hangs up does not know of n
		return errHungUp
	}
	if ns.known[n.peer] != nil {
		return fmt.Errorf("soft: neighbour %v has called already", n.peer)
	}
	p := &meetingPoint{ready: make(chan struct{}), neighbour: n}
	close(p.ready)
	ns.known[n.peer] = p
	return nil
}

// forget has the neighbours forget a domain that is closed.
func (ns *neighbours) forget(domain uint64) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for _, p := range ns.known {
		if n := p.neighbour; n != nil {
			n.mu.Lock()
			delete(n.domains, domain)
			n.mu.Unlock()
		}
	}
}

func (d *Device) forgetNeighbour(n *neighbour) {
	ns := &d.neighbours
	ns.mu.Lock()
	if p := ns.known[n.peer]; p != nil && p.neighbour == n {
		delete(ns.known, n.peer)
	}
	ns.mu.Unlock()
}

// neighbourAt returns the neighbour with an address: the one that is known, or else it calls.
func (d *Device) neighbourAt(ctx context.Context, a address) (*neighbour, error) {
	ns := &d.neighbours
	ns.mu.Lock()
	p := ns.known[a.device]
	if p == nil {
		p = &meetingPoint{ready: make(chan struct{})}
		ns.known[a.device] = p
		ns.mu.Unlock()
		d.approach(ctx, a, p)
	} else {
		ns.mu.Unlock()
	}
	select {
	case <-p.ready:
		return p.neighbour, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// approach calls a device, and says at p what came of it.
func (d *Device) approach(ctx context.Context, a address, p *meetingPoint) {
	n, err := d.callNeighbour(ctx, a.device)
	ns := &d.neighbours
	ns.mu.Lock()
	defer ns.mu.Unlock()
	p.neighbour, p.err = n, err
	close(p.ready)
	if err != nil {
		delete(ns.known, a.device)
		return
	}
	ns.serving.Go(n.run)
}

func (d *Device) callNeighbour(ctx context.Context, peer identity) (*neighbour, error) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unixpacket", meetingName(peer).Name)
	if err != nil {
		return nil, fmt.Errorf("nobody meets there: %w", err)
	}
	n, err := d.shakeHands(c.(*net.UnixConn), &peer)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return n, nil
}

// shakeHands asks the kernel who is there, and exchanges hellos. Who calls knows whom, and speaks first.
func (d *Device) shakeHands(conn *net.UnixConn, called *identity) (*neighbour, error) {
	if err := conn.SetDeadline(time.Now().Add(d.config.PeerTimeout)); err != nil {
		return nil, err
	}
	pid, err := checkUser(conn)
	if err != nil {
		return nil, err
	}
	n := &neighbour{device: d, conn: conn, ended: make(chan struct{}), ties: make(map[appointment]*tie),
		views: make(map[viewKey]*region), asked: make(map[viewKey]map[*bell]bool), refused: make(map[viewKey]bool),
		domains: make(map[uint64]bool), wakers: make(map[ref]weak.Pointer[waker])}
	if called != nil {
		if err := n.hello(*called); err != nil {
			return nil, err
		}
	}
	if err := n.takeHello(called); err != nil {
		return nil, err
	}
	if called == nil {
		if err := n.hello(n.peer); err != nil {
			return nil, err
		}
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	n.pid = watchProcess(pid)
	d.meetings.progress.Store(int64(clock.Real.Now())) // who waits for one of its queue pairs knows now that it lives
	return n, nil
}

func (n *neighbour) hello(to identity) error {
	m := &note{Kind: noteHello, Device: uint64(n.device.identity), There: noteName{Device: uint64(to)}}
	n.device.neighbours.met.Store(true)
	return n.say(m, nil, n.device.arena.fd)
}

// takeHello hears who it is and maps its arena.
func (n *neighbour) takeHello(called *identity) error {
	in, err := hear(n.conn)
	if err != nil {
		return fmt.Errorf("no hello: %w", err)
	}
	n.peer = identity(in.Device)
	if in.Kind != noteHello || in.fd < 0 || in.There.Device != uint64(n.device.identity) || called != nil && n.peer != *called {
		closeDescriptor(in.fd)
		return fmt.Errorf("a note of kind %d from device %v to %v instead of a hello", in.Kind, n.peer, in.There.name())
	}
	n.arena, err = newSight(&n.device.resources, in.fd)
	return err
}

// checkUser returns the process at the other end of a socket, if the kernel says that it is this user's.
func checkUser(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	if err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, credErr
	}
	if int(cred.Uid) != os.Geteuid() {
		return 0, fmt.Errorf("user %d is there, and memory is shared only within user %d", cred.Uid, os.Geteuid())
	}
	return int(cred.Pid), nil
}

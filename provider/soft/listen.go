package soft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/internal/advertise"
)

// network is the TCP lane of a device.
type network struct {
	listener net.Listener
	parties  parties
	attend   attendant
	ended    sync.WaitGroup // goroutines that accept, and that hear a hello

	mu      sync.Mutex
	callers []net.Conn // who has not said hello yet, oldest first
	closed  bool
}

// What strangers may take. When there are too many, the one that has kept us waiting longest goes: who means it says
// hello at once.
const (
	maxStrangers  = 1024
	helloPatience = 2 * time.Second
)

// openNetwork begins to listen, if the device has the TCP lane.
func (d *Device) openNetwork() error {
	if !d.config.Lanes.has(TCP) {
		return nil
	}
	if err := checkTLS(d.config.TLS); err != nil {
		return fmt.Errorf("soft: device %q: %w", d.config.Name, err)
	}
	l, err := d.config.listen()
	if err != nil {
		return fmt.Errorf("soft: device %q: listen on %s: %w", d.config.Name, d.config.Listen, err)
	}
	n := &d.network
	n.listener = l
	if d.dialled = d.config.Advertise; d.dialled == "" {
		d.dialled = advertise.Address(d.config.Listen, whereOf(l.Addr()))
	}
	n.ended.Go(d.runAccept)
	return nil
}

// listen is the listener that was given, or a new one.
func (c *Config) listen() (net.Listener, error) {
	if c.Listener != nil {
		return c.Listener, nil
	}
	scheme, at := splitWhere(c.Listen)
	return listen(scheme, at)
}

// splitWhere tells Unix sockets from TCP.
func splitWhere(where string) (scheme, at string) {
	if path, ok := strings.CutPrefix(where, unixScheme); ok {
		return "unix", path
	}
	return "tcp", where
}

func whereOf(a net.Addr) string {
	if a.Network() == "unix" {
		return unixScheme + a.String()
	}
	return a.String()
}

// listen explains an address that is in use, and takes the place of a Unix socket whose owner has died.
func listen(scheme, at string) (net.Listener, error) {
	l, err := net.Listen(scheme, at)
	if !errors.Is(err, unix.EADDRINUSE) {
		return l, err
	}
	if scheme == "unix" && isStale(at) {
		if err := os.Remove(at); err != nil {
			return nil, err
		}
		return net.Listen(scheme, at)
	}
	return nil, fmt.Errorf("%w: another program listens there; stop it, or choose another port (0 takes a free one) or path", err)
}

// isStale reports whether a Unix socket has nobody behind it.
func isStale(path string) bool {
	c, err := net.DialTimeout("unix", path, helloPatience)
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, unix.ECONNREFUSED)
}

// close ends listening, and waits for who hears a hello. Early calls are the meetings'.
func (n *network) close() {
	if n.listener == nil {
		return
	}
	n.hangUp()
	n.ended.Wait()
}

// hangUp closes the listener and whoever has not said hello.
func (n *network) hangUp() {
	if n.listener == nil {
		return
	}
	_ = n.listener.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, c := range n.callers {
		_ = c.Close()
	}
}

// runAccept takes in whoever dials. Device.Close closes the listener, and waits.
func (d *Device) runAccept() {
	for {
		c, err := d.network.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			d.config.Log.Warn("accept", "device", d.config.Name, "error", noDescriptor("accept", err))
			time.Sleep(10 * time.Millisecond) // most likely descriptors have run out; some will be free again
			continue
		}
		d.network.admit(c)
		d.network.ended.Go(func() { d.runHello(c) })
	}
}

// admit notes a stranger.
func (n *network) admit(c net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		_ = c.Close()
	}
	if len(n.callers) == maxStrangers {
		_ = n.callers[0].Close()
		n.callers = n.callers[1:]
	}
	n.callers = append(n.callers, c)
}

// known says that c is a stranger no more, or has gone.
func (n *network) known(c net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.callers {
		if n.callers[i] == c {
			n.callers = append(n.callers[:i], n.callers[i+1:]...)
			return
		}
	}
}

// runHello hears what a caller wants, and passes it on. It ends by itself; Device.Close waits.
func (d *Device) runHello(c net.Conn) {
	defer d.network.known(c)
	_ = c.SetDeadline(time.Now().Add(max(helloPatience, d.config.ConnectTimeout)))
	t, err := d.serveTLS(c)
	if err != nil {
		_ = c.Close()
		d.config.Log.Warn("hello", "device", d.config.Name, "from", c.RemoteAddr().String(), "error", err)
		return
	}
	call := &tcpCall{device: d, conn: t, asked: true}
	h, err := d.hearHello(call)
	if err != nil {
		call.refuse(err)
		d.config.Log.Warn("hello", "device", d.config.Name, "from", c.RemoteAddr().String(), "error", err)
		return
	}
	d.network.known(c)
	call.depth, call.party = h.depth, h.from.device
	_ = c.SetDeadline(time.Time{})
	d.answer(appointment{h.to, h.from.lifeName}, call)
}

// hearHello reads a hello that is meant for this device, by somebody who was told of whom it names.
func (d *Device) hearHello(c *tcpCall) (h hello, err error) {
	if c.binding, err = bindingOf(c.conn); err != nil {
		return h, err
	}
	if h, err = readHello(c.conn); err != nil {
		return h, err
	}
	if h.to.device != d.identity {
		return h, fmt.Errorf("device %v is not here: the address is an old one, or leads elsewhere", h.to.device)
	}
	if l := d.presentLife(h.to.number); l != nil && l.epoch == h.to.epoch && !l.secret.isProven(h.proof, provesCaller, c.binding) {
		return h, errWrongCaller
	}
	return h, nil
}

// dialTCP calls a queue pair, and returns when that has been met. Who is cut off without a word may have been taken for
// one stranger too many, and calls again.
func (d *Device) dialTCP(ctx context.Context, line *line, l *life, a address) (caller, error) {
	for {
		c, err := d.dialOnce(ctx, line, l, a)
		if !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) && !errors.Is(err, unix.EPIPE) {
			return c, err
		}
		select {
		case <-time.After(redial):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// redial is how long who was cut off waits before it calls again.
const redial = 20 * time.Millisecond

func (d *Device) dialOnce(ctx context.Context, line *line, l *life, a address) (caller, error) {
	scheme, at := splitWhere(a.tcp)
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, scheme, at)
	if err != nil {
		return nil, noDescriptor("dial", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	call, err := d.sayHello(ctx, line, c, l, a)
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("call %s: %w", a.tcp, err)
	}
	return call, nil
}

func (d *Device) sayHello(ctx context.Context, line *line, c net.Conn, l *life, a address) (*tcpCall, error) {
	if len(d.config.Preface) > 0 {
		if _, err := c.Write(d.config.Preface); err != nil {
			return nil, err
		}
	}
	t, err := d.dialTLS(ctx, c, a)
	if err != nil {
		return nil, err
	}
	q := d.queuePair(l.number)
	if q == nil {
		return nil, errNobodyHere
	}
	binding, err := bindingOf(t)
	if err != nil {
		return nil, err
	}
	h := hello{depth: uint32(q.config.SendDepth), to: a.lifeName, proof: a.secret.prove(provesCaller, binding), from: d.address(l)}
	if _, err := t.Write(h.text()); err != nil {
		return nil, err
	}
	line.free()
	depth, said, err := readAnswer(t)
	if err == nil && !l.secret.isProven(said, provesCalled, binding) {
		err = errWrongCalled
	}
	if err != nil {
		return nil, err
	}
	return &tcpCall{device: d, conn: t, depth: depth, party: a.device}, nil
}

package lan

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/ripc/find"
)

// DefaultGroup is where resolvers meet if they are not told another place.
const DefaultGroup = "239.255.87.87:7487"

// Limits of a Config.
const (
	minKey   = 16
	minLease = 20 * time.Millisecond
)

// Config says how to meet. It needs a Key, or Open. All resolvers of a network have the same Group, Key and Lease.
type Config struct {
	// Group is the address and port of an IPv4 multicast group; empty is DefaultGroup.
	Group string
	// Interface is the network to meet on, by name; empty is the one that the system chooses for multicasts.
	Interface string
	// Key is what all who may take part know: 16 bytes or more.
	Key []byte
	// Open says that there is no key: anybody on the network can claim anything, and end anybody's claim.
	Open bool
	// Lease is how long a process that stands still keeps its services, and how long claiming takes; 0 is 1 s. Whole
	// milliseconds.
	Lease time.Duration
	// Window is how far the wall clocks of two hosts may be apart; 0 is 30 s.
	Window time.Duration
	// Log is told once of each reason for which something that was heard is dropped; nil is slog.Default().
	Log *slog.Logger
}

func (c Config) prepare() (Config, netip.AddrPort, error) {
	c.Lease = cmp.Or(c.Lease, time.Second)
	c.Window = cmp.Or(c.Window, 30*time.Second)
	c.Log = cmp.Or(c.Log, slog.Default())
	group, err := netip.ParseAddrPort(cmp.Or(c.Group, DefaultGroup))
	switch {
	case err != nil:
		err = fmt.Errorf("group %q: %w", c.Group, err)
	case !group.Addr().Is4() || !group.Addr().IsMulticast() || group.Port() == 0:
		err = fmt.Errorf("group %s is not an IPv4 multicast address (224.0.0.0 to 239.255.255.255) with a port", group)
	case len(c.Key) == 0 && !c.Open:
		err = errors.New("there is no key: give one, or say by Open that anybody may claim anything")
	case len(c.Key) > 0 && c.Open:
		err = errors.New("there is a key, and Open says that there is none: leave one of them out")
	case len(c.Key) > 0 && len(c.Key) < minKey:
		err = fmt.Errorf("the key has %d bytes, it needs %d", len(c.Key), minKey)
	case c.Lease < minLease || c.Lease > maxLease || c.Lease%time.Millisecond != 0:
		err = fmt.Errorf("a lease of %v: it has %v to %v, in whole milliseconds", c.Lease, minLease, maxLease)
	case c.Window < time.Second || c.Window > 24*time.Hour:
		err = fmt.Errorf("a window of %v: it has a second to a day", c.Window)
	}
	return c, group, err
}

// Resolver is a process among those of a network. It is a find.Resolver.
type Resolver struct {
	config  Config
	sockets *sockets
	watch   find.Watchers
	handle  leak.Handle
	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	runs    sync.WaitGroup
	closing sync.Once
	wake    chan struct{} // has one when the machine may have something earlier to do
	since   clock.Time    // when it began to listen

	mu      sync.Mutex
	machine *machine
	guard   *guard
	sender  [16]byte
	number  uint64          // of the last packet that was sent
	news    chan struct{}   // closed when something was heard
	dropped map[string]bool // reasons that the log was told of
}

var _ find.Resolver = (*Resolver)(nil)

// Open begins to listen.
func Open(config Config) (*Resolver, error) {
	config, group, err := config.prepare()
	if err != nil {
		return nil, fmt.Errorf("services of the network: %w", err)
	}
	r := &Resolver{config: config, wake: make(chan struct{}, 1), since: clock.Real.Now(), machine: newMachine(config.Lease),
		guard: newGuard(config.Window), news: make(chan struct{}), dropped: map[string]bool{}}
	_, _ = rand.Read(r.sender[:]) // crypto/rand never fails: it ends the process instead
	if r.sockets, err = openSockets(group, config.Interface); err != nil {
		return nil, fmt.Errorf("services of the network: %s: %w", group, err)
	}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.handle = leak.Opened("find/lan resolver")
	r.runs.Go(func() { r.runReceive(r.sockets.all) })
	r.runs.Go(func() { r.runReceive(r.sockets.own) })
	r.runs.Go(r.runTick)
	return r, nil
}

// Name is "lan".
func (r *Resolver) Name() string { return "lan" }

// do lets f step the machine, and then sends and tells what came of it. It fails after Close.
func (r *Resolver) do(f func(m *machine, now clock.Time)) error {
	r.mu.Lock()
	if r.ctx.Err() != nil {
		r.mu.Unlock()
		return find.ErrClosed
	}
	changes := r.step(f)
	r.mu.Unlock()
	r.watch.Tell(changes...)
	return nil
}

// step steps the machine and sends. The lock is held, so that packets leave in the order of their numbers.
func (r *Resolver) step(f func(m *machine, now clock.Time)) []find.Change {
	m := r.machine
	f(m, clock.Real.Now())
	for i := range m.out {
		o := &m.out[i]
		r.number++
		o.sender, o.number, o.sent, o.lease = r.sender, r.number, time.Now().UnixNano(), r.config.Lease
		if err := r.sockets.send(o.to, o.seal(r.config.Key)); err != nil && r.ctx.Err() == nil {
			r.report("not sent", err)
		}
	}
	changes := m.changes
	m.out, m.changes = nil, nil
	if len(changes) > 0 {
		close(r.news)
		r.news = make(chan struct{})
		r.kick()
	}
	return changes
}

// report tells the log of what got lost, once for each reason. The lock is held.
func (r *Resolver) report(what string, err error) {
	if reason := what + err.Error(); !r.dropped[reason] && len(r.dropped) < 64 {
		r.dropped[reason] = true
		r.config.Log.Warn("services of the network: a datagram was "+what, "error", err)
	}
}

// runReceive takes what arrives at a socket. Close stops it by closing the socket, and waits for it.
func (r *Resolver) runReceive(from *net.UDPConn) {
	b := make([]byte, maxDatagram+1)
	for {
		n, sender, err := from.ReadFromUDPAddrPort(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // what the network says of an earlier datagram
			if pause.For(r.ctx, time.Millisecond) != nil {
				return
			}
			continue
		}
		r.receive(sender, b[:n])
	}
}

func (r *Resolver) receive(from netip.AddrPort, b []byte) {
	p, err := unseal(r.config.Key, b)
	if err == nil && p.sender == r.sender {
		return // one's own, back from the group
	}
	_ = r.do(func(m *machine, now clock.Time) {
		if err == nil {
			err = r.guard.pass(p, time.Now().UnixNano())
		}
		if err != nil {
			r.report("dropped", err)
			return
		}
		m.take(now, from, p)
	})
}

// kick has runTick look again when it has something to do.
func (r *Resolver) kick() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// runTick does what is due. Close stops it and waits for it.
func (r *Resolver) runTick() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		next := clock.Never
		_ = r.do(func(m *machine, now clock.Time) { next = m.tick(now) })
		timer.Reset(min(time.Hour, max(time.Millisecond, next.Sub(clock.Real.Now()))))
	}
}

// Close withdraws all claims, and lets the others know.
func (r *Resolver) Close() (err error) {
	r.closing.Do(func() {
		r.mu.Lock()
		r.step(func(m *machine, _ clock.Time) {
			for _, s := range m.mine {
				m.withdraw(s, find.ErrClosed)
			}
		})
		r.cancel(find.ErrClosed)
		r.mu.Unlock()
		err = r.sockets.close()
		r.runs.Wait()
		r.handle.Closed()
	})
	return err
}

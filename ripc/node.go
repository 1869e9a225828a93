package ripc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/internal/advertise"
	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// ID names a service, wherever it runs.
type ID = wire.ID

// Config describes a node. Only Device is required.
type Config struct {
	Device   *verbs.Device // what messages travel through; it stays the program's
	Resolver find.Resolver // who finds services; it stays the program's. Nil: only those of this node are found
	Listen   []string      // where other processes reach this one, as connect.Listen takes it: see "Between hosts"; empty: on a Unix socket of its own
	Listener net.Listener  // the same, if it is there already: one that shares a port with others. It is the node's from now on, also if Open fails
	Preface  []byte        // what this process says first to every other that it dials, whose Listener knows by it whom it means
	Keys     *keys.Keyring // who this process is and whom it talks to; nil: to processes of this user, over Unix sockets
	Plain    bool          // talk to anybody, who reaches an address of Listen or is called, without Keys; everybody may have every name
	Waiting  loop.Waiting  // how to wait when there is nothing to do
	Log      *slog.Logger  // nil: only what nobody should miss is logged, a handler's panic for one, not its errors, by slog.Default()

	SlotSize int // bytes of the largest short message, its head included; 0: 4 KiB
	MaxSlots int // messages that may be held at a time; 0: 4096, or what the device can
	Window   int // messages of one process that a service gets before it releases some, about: see "What a slow service holds up"; 0: 64

	Idle time.Duration // links that were not used for so long are given up; 0: a minute
}

// Node is this process among others. Its methods may be called from any goroutine.
type Node struct {
	config Config
	id     ID   // drawn anew with every start
	salt   salt // that it was drawn with
	log    *slog.Logger
	domain *verbs.Domain
	queue  *verbs.CompletionQueue
	loop   *loop.Loop
	shared *loop.Shared
	pool   *pool
	cache  *find.Cache // nil: there is no resolver
	at     []string    // where its listeners are
	handle leak.Handle

	office    *office // belongs to the loop
	listeners []*connect.Listener
	meetings  chan struct{} // one for each that is greeted

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	over   context.Context // ends with Close, when nothing can be sent any more
	end    context.CancelCauseFunc
	runs   sync.WaitGroup
	once   sync.Once
	failed error // what Close says
}

// Open opens a node.
func Open(config Config) (*Node, error) {
	n, err := open(config)
	if err != nil && config.Listener != nil {
		_ = config.Listener.Close() // or the node has, already
	}
	return n, err
}

func open(config Config) (*Node, error) {
	if config.Device == nil {
		return nil, fmt.Errorf("open a node: Config.Device is nil: %w", ErrArgument)
	}
	if config.Idle == 0 {
		config.Idle = time.Minute
	}
	if config.Idle < 0 {
		return nil, fmt.Errorf("open a node: Config.Idle is %v: %w", config.Idle, ErrArgument)
	}
	if err := config.checkTrust(); err != nil {
		return nil, fmt.Errorf("open a node: %w: %w", err, ErrArgument)
	}
	n := &Node{config: config, salt: newSalt(), log: logOf(&config), meetings: make(chan struct{}, maxMeetings)}
	n.id = processID(config.own().owner, n.salt)
	n.ctx, n.cancel = context.WithCancelCause(context.Background())
	n.over, n.end = context.WithCancelCause(context.Background())
	n.handle = leak.Opened("ripc.Node")
	if err := n.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open a node: %w", err), n.Close())
	}
	return n, nil
}

func (n *Node) open() (err error) {
	device := n.config.Device
	if n.domain, err = device.NewDomain(); err != nil {
		return err
	}
	if n.queue, err = device.NewCompletionQueue(min(device.Limits().MaxCompletion, 1<<20)); err != nil {
		return err
	}
	if n.loop, err = loop.New(loop.Config{Completions: n.queue, Waiting: n.config.Waiting}); err != nil {
		return err
	}
	n.pool = newPool(n.domain)
	n.office = newOffice(n)
	n.office.hub, err = link.NewHub(link.Config{Domain: n.domain, Loop: n.loop, Handler: n.office, SlotSize: n.config.SlotSize,
		MaxSlots: n.config.MaxSlots, Window: n.config.Window})
	if err != nil {
		return err
	}
	if n.shared, err = loop.NewShared(n.loop); err != nil {
		return err
	}
	if n.config.Resolver != nil {
		n.cache = find.NewCache(find.CacheConfig{}, n.config.Resolver)
		n.config.Resolver.Watch(func(c find.Change) {
			_ = n.on(func() { n.office.heard(&c.Record) }) // after Close nobody sends
		})
	}
	n.runs.Go(n.runIdle)
	return n.listen()
}

// runIdle gives up links that nobody uses. Close ends it and waits for it.
func (n *Node) runIdle() {
	for pause.For(n.ctx, n.config.Idle/2) == nil {
		_ = n.on(func() { n.office.leaveIdle(n.config.Idle) }) // after Close there are none
	}
}

// listen opens the listeners, and has their clients greeted.
func (n *Node) listen() error {
	places := n.config.Listen
	if len(places) == 0 && n.config.Listener == nil {
		places = []string{fmt.Sprintf("%s%x", ownSocket, n.id[1:])}
	}
	for _, place := range places {
		l, err := connect.Listen(n.ctx, place, n.options())
		if err != nil {
			return err
		}
		n.attend(place, l)
	}
	if n.config.Listener == nil {
		return nil
	}
	l, err := connect.ListenOn(n.config.Listener, n.options())
	if err != nil {
		return err
	}
	n.attend("", l)
	return nil
}

// attend has the clients of a listener greeted, which was told to listen somewhere.
func (n *Node) attend(place string, l *connect.Listener) {
	n.listeners = append(n.listeners, l)
	n.at = append(n.at, advertise.Address(place, l.Address()))
	n.runs.Go(func() { n.runAccept(l) })
}

// ownSocket is where a process listens that was not told where. Those of other hosts cannot dial it.
const ownSocket = "unix:@weft-ripc-"

// linkTimeout bounds how long two processes take to be linked.
const linkTimeout = 5 * time.Second

func (n *Node) options() connect.Options {
	o := connect.Options{Name: "ripc", Plain: n.config.Plain, Timeout: linkTimeout, Preface: n.config.Preface,
		OnRefused: func(err error) { n.log.Info("a process was turned away", "error", err) }}
	if n.config.Keys != nil {
		o.TLS = n.config.Keys.TLS()
	}
	return o
}

// ID is the node's own: messages that no service sends come from it.
func (n *Node) ID() ID { return n.id }

// Addresses are where other processes reach this one.
func (n *Node) Addresses() []string { return n.at }

// Alloc returns a buffer. Its content is undefined.
func (n *Node) Alloc(size int) (*Buffer, error) { return n.pool.take(size) }

// Counts is what the node's links have done.
func (n *Node) Counts() (c link.Counts, err error) {
	err = n.on(func() { c = n.office.hub.Counts() })
	return c, err
}

// Stats is what a node has done since it was opened, and what it has now.
type Stats struct {
	link.Counts
	Dropped  uint64 // messages sent with Drop that nobody was ready for
	Waiting  int    // messages that other processes, or services there, have no room for yet
	Services int    // with a name or without, and members of groups
	Links    int    // to other processes, also those that are being made
	Lent     int    // bytes of buffers that the program has not released
}

// Stats is what the node has done, and what it has.
func (n *Node) Stats() (s Stats, err error) {
	err = n.on(func() {
		s = Stats{Counts: n.office.hub.Counts(), Dropped: n.office.dropped, Waiting: n.office.hub.Waiting(),
			Services: len(n.office.all()), Links: n.office.hub.Links()}
	})
	s.Lent = n.pool.inUse()
	return s, err
}

// on runs f on the loop.
func (n *Node) on(f func()) error { return closedAs(n.shared.Do(f)) }

// await waits for an event of the loop's.
func (n *Node) await(ctx context.Context, e *loop.Event) error {
	err := closedAs(n.shared.Await(ctx, e))
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ended(ctx)
	}
	return err
}

// closedAs says that the node is closed when its loop is.
func closedAs(err error) error {
	if errors.Is(err, loop.ErrClosed) {
		return errNodeClosed
	}
	return err
}

// Close ends the node at once: services, links and listeners. Who waits hears ErrClosed. Messages and buffers that were not released can still
// be looked at. What is to end well is shut down first.
// A second Close does nothing but return what the first did.
func (n *Node) Close() error {
	n.once.Do(func() { n.failed = n.close() })
	return n.failed
}

func (n *Node) close() error {
	n.cancel(ErrClosed)
	var failed error
	for _, l := range n.listeners {
		failed = errors.Join(failed, l.Close())
	}
	if n.shared != nil {
		failed = errors.Join(failed, n.on(n.office.close))
	}
	n.end(errNodeClosed)
	n.runs.Wait()
	if n.shared != nil {
		failed = errors.Join(failed, n.shared.Close())
	}
	return errors.Join(failed, n.closeVerbs())
}

// closeVerbs closes what open has opened below, children first.
func (n *Node) closeVerbs() (failed error) {
	if n.office != nil && n.office.hub != nil {
		failed = errors.Join(failed, n.office.hub.Close())
	}
	if n.loop != nil {
		failed = errors.Join(failed, n.loop.Close())
	}
	if n.cache != nil {
		failed = errors.Join(failed, n.cache.Close())
	}
	if n.pool != nil {
		failed = errors.Join(failed, n.pool.close())
	}
	if n.queue != nil {
		failed = errors.Join(failed, n.queue.Close())
	}
	if n.domain != nil {
		failed = errors.Join(failed, n.domain.Close())
	}
	n.handle.Closed()
	return failed
}

// Package agent is the daemon of a host that files are pushed to. It does nothing by itself: pushers open pushes at it, by calls to its
// service (package push/control), and it receives, checks, passes on and writes what they send.
//
//	place, err := way.Open(way.Config{Listen: "0.0.0.0:7470", Keys: ring})
//	…
//	err = agent.Run(ctx, agent.Config{Place: place, Keys: ring, Root: "/srv/data"})
//
// # Who may do what
//
// Only a member whose certificate has the role of a pusher is listened to, and a push belongs to whoever has opened it. The key that its
// blocks are signed with must be certified by the very member that calls. Nothing outside the root is touched: package push/target sees to it.
//
// # How a push ends
//
// By finish, when all blocks are there, verified and named; by abort; by a failure here, which the pusher hears with the next status; or
// when nothing was heard of the pusher for the time of the lease. Whatever it is, what has arrived stays as a partial, and a later push of
// the same files goes on from there.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/push/target"
	"github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/ripc"
)

// Limits.
const (
	MaxPushes = 64  // that are open at a time, those included whose end was not asked for
	MaxCalls  = 256 // that are answered at a time
)

// How long things last.
const (
	sweepEvery  = time.Hour
	farewell    = time.Second // that pushers have to hear that the agent stops
	farewellGap = 5 * time.Millisecond
)

// Config describes an agent. Place, Keys and Root are required.
type Config struct {
	Place   *way.Place    // it stays the program's
	Keys    *keys.Keyring // by which those are judged who push
	Root    string        // directory below which everything happens
	Name    string        // of the service: agent/NAME; empty: all of that kind that the certificate lists, or the certificate's own name
	Version string        // of the program, for people

	PlainAllowed bool          // data that is not encrypted is taken, if the pusher wants that
	Grace        time.Duration // that pushes have to come to their end when the agent is stopped; 0: none
	Lease        time.Duration // 0: control.Lease
	PartialAge   time.Duration // after which partials are removed that nobody came back for; 0: a day

	Ready    func()                // called once when pushers are served; may be nil
	Stopping func()                // called once when the agent begins to stop; may be nil
	Log      *slog.Logger          // nil: nobody is told
	Registry prometheus.Registerer // of metrics; nil: none

	// Blocks replaces what is done with blocks, by a test whose host does not do as it should; nil: nothing does.
	Blocks func(member.Blocks) member.Blocks
}

// agent is one that runs.
type agent struct {
	config Config
	disk   disk
	enlist func(id manifest.ID, w wish) (crew, error)
	ways   []string
	names  []string
	log    *slog.Logger
	counts *metrics
	blocks *budget // memory for blocks
	pages  *budget // and for their hashes
	guests *guests

	runs sync.WaitGroup // of sessions

	opening sync.Mutex // one push is opened at a time

	mu         sync.Mutex
	sessions   map[manifest.ID]*session
	disowned   []disowned // the last pushes that were ended without being known here
	isStopping bool
}

// Run serves pushers until ctx ends, and then stops: pushes that are under way have Config.Grace to end, those left over are given up. Their
// pushers are told, and partials stay.
func Run(ctx context.Context, config Config) error {
	root, err := target.OpenRoot(config.Root)
	if err != nil {
		return err
	}
	a, err := newAgent(config, onDisk{root})
	if err != nil {
		return errors.Join(err, root.Close())
	}
	a.enlist, a.ways = enlistAt(config.Place, a.log), config.Place.Ways()
	return errors.Join(a.run(ctx), root.Close())
}

func newAgent(config Config, d disk) (*agent, error) {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	config.Lease = cmp.Or(config.Lease, control.Lease)
	if config.Blocks == nil {
		config.Blocks = func(b member.Blocks) member.Blocks { return b }
	}
	config.PartialAge = cmp.Or(config.PartialAge, 24*time.Hour)
	a := &agent{config: config, disk: d, log: config.Log, guests: newGuests(),
		blocks: newBudget("blocks", control.MemoryBudget), pages: newBudget("hashes", control.PagesBudget), sessions: map[manifest.ID]*session{}}
	a.names = serviceNames(config.Name, config.Keys.Identity())
	var err error
	a.counts, err = newMetrics(config.Registry, a.openPushes, a.blocks.used)
	return a, err
}

func (a *agent) run(ctx context.Context) error {
	serving, end := context.WithCancel(context.WithoutCancel(ctx)) // calls are answered while the agent stops
	services, err := a.register(ctx)
	defer closeAll(services)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer end()
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	failed := make(chan error, len(services))
	for _, s := range services {
		helpers.Go(func() { failed <- s.Serve(serving, MaxCalls, a.handle) })
	}
	helpers.Go(func() { a.runSweeps(serving) })
	a.log.Info("agent is ready", "services", a.names, "root", a.config.Root, "ways", a.ways)
	if a.config.Ready != nil {
		a.config.Ready()
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
		err = fmt.Errorf("agent: a service has ended: %w", err)
	}
	a.stop()
	return err
}

// register makes the agent known by its names.
func (a *agent) register(ctx context.Context) (services []*ripc.Service, err error) {
	for _, name := range a.names {
		s, err := a.config.Place.Node().Register(ctx, name)
		if err != nil {
			return services, err
		}
		services = append(services, s)
		if err := s.TakeOnlyCalls(); err != nil {
			return services, err
		}
	}
	return services, nil
}

func closeAll(services []*ripc.Service) {
	for _, s := range services {
		_ = s.Close() // the place may be closed by now
	}
}

// runSweeps removes partials that nobody came back for, until ctx ends. Run waits for it.
func (a *agent) runSweeps(ctx context.Context) {
	for {
		if err := a.disk.Sweep(time.Now(), a.config.PartialAge); err != nil {
			a.log.Warn("old partials were not removed", "error", err)
		}
		if pause.For(ctx, sweepEvery) != nil {
			return
		}
	}
}

// errStopping is why a push has ended here.
var errStopping = &control.Trouble{Class: control.Unreachable, Text: "the agent of this host is stopping; what has arrived stays, a later push goes on from there"}

// stop takes no new pushes, lets those under way end, gives up the others, and waits until their pushers were told, for a moment.
func (a *agent) stop() {
	a.mu.Lock()
	a.isStopping = true
	a.mu.Unlock()
	if a.config.Stopping != nil {
		a.config.Stopping()
	}
	a.log.Info("agent stops", "pushes", a.openPushes(), "grace", a.config.Grace)
	a.await(a.config.Grace, (*session).hasEnded)
	for _, s := range a.all() {
		s.fail(errStopping)
	}
	a.await(farewell, func(s *session) bool { return s.board.isQuiet() })
	for _, s := range a.all() {
		s.forget()
	}
	a.runs.Wait()
}

// await waits until all sessions are as they should be, but not for long.
func (a *agent) await(long time.Duration, isSo func(*session) bool) {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	for _, s := range a.all() {
		for !isSo(s) && pause.For(ctx, farewellGap) == nil {
		}
	}
}

package etcd

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// Directory is a resolver that keeps records in etcd. Its methods may be called from any goroutine.
type Directory struct {
	config Config
	keys   keys
	client *clientv3.Client
	hangUp context.CancelFunc // ends the client's context
	ctx    context.Context    // of everything that it does by itself; ends with Close
	cancel context.CancelFunc
	runs   sync.WaitGroup // its goroutines, and calls that others make
	once   sync.Once      // Close
	handle leak.Handle

	watchers find.Watchers
	granting chan struct{} // holds one token while a lease is asked for
	sweeping chan struct{} // wakes the sweeper
	trouble  atomic.Value  // a string, why the last call failed: see overhear
	opened   atomic.Bool   // it has answered once
	garbled  sync.Once     // to log that something in the directory is not a record

	mu       sync.Mutex
	closed   bool
	view     view
	base     base
	lease    *lease                   // nil if there is none at present
	claims   map[string]*claim        // by key. Invariant: all are bound to lease
	busy     map[string]chan struct{} // keys that a call of ours is about to change; closed when it is done
	unwanted map[string]bool          // keys with our lease that nobody has claimed, to be deleted
}

var _ find.Resolver = (*Directory)(nil)

// Open connects to the directory and reads it. If it does not answer in time, that is an error, and so at once if nobody listens at any of its
// endpoints.
func Open(ctx context.Context, config Config) (*Directory, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("open the directory: %w", err)
	}
	d := &Directory{
		config: config, keys: newKeys(config.Prefix),
		granting: make(chan struct{}, 1), sweeping: make(chan struct{}, 1),
		view:   view{entries: map[string]entry{}},
		claims: map[string]*claim{}, busy: map[string]chan struct{}{}, unwanted: map[string]bool{},
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	if err := d.connect(ctx); err != nil {
		d.cancel()
		return nil, err
	}
	d.opened.Store(true)
	d.handle = leak.Opened("etcd directory")
	d.runs.Go(d.runFollow)
	d.runs.Go(d.runSweep)
	return d, nil
}

// connect makes the client and takes the first look.
func (d *Directory) connect(ctx context.Context) (err error) {
	ctx, cancel := withLimit(ctx, d.config.Timeout)
	defer cancel()
	config := d.config.client()
	config.DialOptions = append(config.DialOptions, grpc.WithChainUnaryInterceptor(d.knock, d.overhear))
	// With a password the client asks for a token at once, and takes no other context for that than the one it lives with.
	config.Context, d.hangUp = context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, d.hangUp)()
	if d.client, err = clientv3.New(config); err == nil {
		if err = d.survey(ctx); err != nil {
			_ = d.client.Close() // what went wrong is known
		}
	}
	if err != nil {
		d.hangUp()
	}
	return d.explain(ctx, err, "open the directory")
}

// Name is "etcd".
func (d *Directory) Name() string { return "etcd" }

// Watch has f called when a service has come, moved or gone since Open.
func (d *Directory) Watch(f func(find.Change)) { d.watchers.Watch(f) }

// Find asks the directory, and so sees every claim that was made before.
func (d *Directory) Find(ctx context.Context, id wire.ID) ([]find.Record, error) {
	ctx, done, err := d.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("find %v: %w", id, err)
	}
	defer done()
	now, err := d.read(ctx, d.keys.of(id))
	if err != nil {
		return nil, d.explain(ctx, err, "find %v", id)
	}
	records := now.records()
	if len(records) == 0 {
		return nil, fmt.Errorf("find %v: %w in the directory", id, find.ErrNotFound)
	}
	return records, nil
}

// List returns all records in the directory.
func (d *Directory) List(ctx context.Context) ([]find.Record, error) {
	ctx, done, err := d.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("list services: %w", err)
	}
	defer done()
	now, err := d.read(ctx, d.keys.services)
	return now.records(), d.explain(ctx, err, "list services")
}

// begin begins a call: it gives it a context that also ends with the directory and with the timeout. Close waits for
// done.
func (d *Directory) begin(ctx context.Context) (bounded context.Context, done func(), err error) {
	return d.beginFor(ctx, d.config.Timeout)
}

func (d *Directory) beginFor(ctx context.Context, limit time.Duration) (bounded context.Context, done func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, nil, find.ErrClosed
	}
	d.runs.Add(1)
	bounded, cancel := withLimit(ctx, limit)
	stop := context.AfterFunc(d.ctx, cancel)
	return bounded, func() {
		stop()
		cancel()
		d.runs.Done()
	}, nil
}

// withLimit is a context that ends also after so long, and says so.
func withLimit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, lateError{limit})
}

// Close ends all claims, and deletes them from the directory if it answers; else they expire there. A second Close does
// nothing.
func (d *Directory) Close() error {
	d.once.Do(d.close)
	return nil
}

func (d *Directory) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.cancel()
	d.runs.Wait()
	for _, c := range d.claims {
		c.End(find.ErrClosed)
	}
	if d.lease != nil {
		d.revoke(d.lease)
	}
	_ = d.client.Close() // it says that its context has ended, which it has ended itself
	d.hangUp()
	d.handle.Closed()
}

// pause waits, and returns false if the context ends before.
func pause(ctx context.Context, long time.Duration) bool {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Package host lets the processes of one user on one host find each other, with nothing to configure. They meet in a directory
// that only this user may enter.
//
// # Files
//
// Every service has a file, named by its ID, every member of a group as well; it holds the record and who holds it. Every
// resolver has one more file: its holder file. That is locked for as long as the process lives, so that everybody can see
// whether it does, and it says up to when its lease runs. So there is one lease for all services of a process, and renewing
// it writes eight bytes.
//
// Claiming, withdrawing and clearing up after the dead is done under a lock on the directory. Renewing is not: a process that
// is stopped while it has that lock keeps others from claiming, but their services go on.
//
// # Leases
//
// The lease's end is written in the time of CLOCK_MONOTONIC, which all processes of a host share, and which stands still while
// the host sleeps, as clock.Real does. The holder writes a new end and then looks at the clock: if the old end has not come
// yet, nobody can have found the lease run out, and whoever looks from now on reads the new end. If it has come, somebody may
// be taking a service over at this moment; then it takes the directory's lock and looks which services are still its own.
//
// A claim succeeds at once if the holder is dead, and when the lease has run out if it is alive but stands still.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/ripc/find"
)

// Config says where the processes of this host meet. The zero value is fine.
type Config struct {
	// Dir is the directory: one of this user's, on a local file system, that nobody else may write to. It is made if it is
	// not there. Empty is weft-UID in /dev/shm: unlike a directory in /run/user, that is the same for processes that were
	// started before this user has logged in, and stays when he leaves.
	Dir string
	// Lease is how long a process that stands still keeps its services; 0 is 1 s. It is renewed when a third of it is over.
	Lease time.Duration
	// Log is told of files that are not what they should be, once for each; nil is slog.Default().
	Log *slog.Logger
}

// minLease is more than the scheduler of a busy machine keeps a goroutine waiting in most cases.
const minLease = 10 * time.Millisecond

// Resolver is a process among those of this host. It is a find.Resolver.
type Resolver struct {
	dir     *directory
	watch   find.Watchers
	handle  leak.Handle
	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	runs    sync.WaitGroup
	closing sync.Once

	mu     sync.Mutex // taken after the directory's lock
	closed bool
	lease  *lease
	claims map[string]*claim // by the file's name

	watching sync.Mutex
	seen     *view // what watchers know; nil while there are none
}

var _ find.Resolver = (*Resolver)(nil)

// Open takes part in the directory. If another process keeps it locked for seconds, that is an error.
func Open(config Config) (*Resolver, error) { return OpenContext(context.Background(), config) }

// OpenContext is Open for who does not wait for a lock longer than ctx lasts.
func OpenContext(ctx context.Context, config Config) (*Resolver, error) {
	r, err := open(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("services of this host: %w", err)
	}
	r.handle = leak.Opened("find/host resolver")
	r.runs.Go(r.runRenew)
	r.runs.Go(r.runWatch)
	return r, nil
}

func open(ctx context.Context, config Config) (*Resolver, error) {
	length := cmp.Or(config.Lease, time.Second)
	if length < minLease {
		return nil, fmt.Errorf("a lease of %v is too short, it has at least %v", length, minLease)
	}
	dir, err := openDirectory(cmp.Or(config.Dir, defaultDir()), cmp.Or(config.Log, slog.Default()))
	if err != nil {
		return nil, err
	}
	r := &Resolver{dir: dir, claims: map[string]*claim{}}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	unlock, err := dir.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	dir.sweep()
	r.lease, err = newLease(dir, length)
	return r, err
}

// Name is "host".
func (r *Resolver) Name() string { return "host" }

// Close withdraws all claims. A file that cannot be removed, because another process keeps the directory locked, is removed by
// whoever sees that this holder is gone.
func (r *Resolver) Close() (err error) {
	r.closing.Do(func() {
		r.cancel(find.ErrClosed)
		r.runs.Wait()
		r.endAll()
		cleared := r.clear(context.Background())
		err = errors.Join(cleared, r.lease.close())
		r.handle.Closed()
	})
	return err
}

func (r *Resolver) endAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, c := range r.claims {
		c.End(find.ErrClosed)
	}
}

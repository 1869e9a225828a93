package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/ripc/find"
)

// maxClaims is how many services a process can have.
const maxClaims = 1 << 14

// claim is a service of this process.
type claim struct {
	*find.Hold
	of   *Resolver
	file string
}

// Claim takes a service that nobody has, or whose holder is dead or stands still for longer than its lease.
func (r *Resolver) Claim(ctx context.Context, record find.Record) (find.Claim, error) {
	if err := record.CheckClaim(); err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	c, err := r.claim(ctx, record)
	if err != nil && !errors.Is(err, find.ErrTaken) {
		err = fmt.Errorf("claim %s on this host: %w", record.Title(), err)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (r *Resolver) claim(ctx context.Context, record find.Record) (*claim, error) {
	unlock, err := r.dir.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.ctx.Err() != nil {
		return nil, find.ErrClosed
	}
	if err := r.renewLocked(); err != nil {
		return nil, err
	}
	name := fileOf(record.Key())
	if mine := r.claims[name]; mine != nil && mine.Err() == nil {
		if mine.Record().Node != record.Node {
			return nil, &find.TakenError{By: mine.Record()}
		}
		return mine, r.change(mine, record)
	}
	if by, taken := r.dir.taken(name, r.lease.holder); taken {
		return nil, &find.TakenError{By: by}
	}
	if len(r.claims) >= maxClaims {
		return nil, fmt.Errorf("this process has %d services, more it cannot", len(r.claims))
	}
	return r.take(name, record)
}

// take makes the service ours. Both locks are held, and nobody has it.
func (r *Resolver) take(name string, record find.Record) (*claim, error) {
	var err error
	if record.Epoch, err = r.dir.nextEpoch(record.Epoch); err != nil {
		return nil, err
	}
	if err := r.dir.writeRecord(name, r.lease.holder, &record); err != nil {
		return nil, err
	}
	c := &claim{find.NewHold(record, r.lease.end.real()), r, name}
	r.claims[name] = c
	return c, nil
}

// change writes what a record says now of a service that we have. Its epoch never falls.
func (r *Resolver) change(c *claim, record find.Record) error {
	record.Epoch = max(record.Epoch, c.Record().Epoch)
	if err := r.dir.writeRecord(c.file, r.lease.holder, &record); err != nil {
		return err
	}
	c.Renew(record, r.lease.end.real())
	return nil
}

// taken says which other resolver has a service: one that lives, and whose lease has not run out.
func (d *directory) taken(name string, mine holder) (find.Record, bool) {
	by, record, err := d.readRecord(name)
	return record, err == nil && by != mine && !d.dead(by) && !d.expired(by)
}

// Withdraw removes the service's file. If that takes longer than ctx allows, the claim has ended all the same, and the file is
// removed later.
func (c *claim) Withdraw(ctx context.Context) error {
	if !c.End(find.ErrWithdrawn) {
		return nil
	}
	if err := c.of.clear(ctx); err != nil {
		return fmt.Errorf("withdraw: %w", err)
	}
	return nil
}

// clear removes the files of claims that have ended. Where there are none it needs no lock, which another process may keep.
func (r *Resolver) clear(ctx context.Context) error {
	if !r.ended() {
		return nil
	}
	unlock, err := r.dir.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	var failed error
	for name, c := range r.claims {
		if c.Err() == nil {
			continue
		}
		failed = errors.Join(failed, r.dir.removeOwn(name, r.lease.holder))
		delete(r.claims, name)
	}
	return failed
}

// runRenew renews the lease when a third of it is over. Close stops it and waits for it.
func (r *Resolver) runRenew() {
	tick := time.NewTicker(r.lease.length / 3)
	defer tick.Stop()
	for failed := false; ; {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
		}
		err := r.renew()
		if err != nil && !failed && r.ctx.Err() == nil {
			r.dir.log.Warn("the services of this process are not valid until their lease can be renewed", "error", err)
		}
		failed = err != nil
		_ = r.clear(r.ctx) // or next time
	}
}

// ended reports whether there are claims that have ended, and whose files are there.
func (r *Resolver) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.claims {
		if c.Err() != nil {
			return true
		}
	}
	return false
}

// renew renews the lease: without the directory's lock, unless it is late.
func (r *Resolver) renew() error {
	sure, err := r.renewInTime()
	if errors.Is(err, errRemoved) {
		r.loseAll(err)
	}
	if err != nil || sure {
		return err
	}
	unlock, err := r.dir.lock(r.ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.renewLocked()
}

func (r *Resolver) renewInTime() (sure bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sure, err = r.lease.renew(); sure {
		r.extend()
	}
	return sure, err
}

// renewLocked renews the lease, and if it had run out looks which services are still ours. Both locks are held.
func (r *Resolver) renewLocked() error {
	sure, err := r.lease.renewLocked()
	if err != nil {
		return err
	}
	if !sure {
		r.lookAfter()
	}
	r.extend()
	return nil
}

// lookAfter ends the claims of services that others have taken over.
func (r *Resolver) lookAfter() {
	for name, c := range r.claims {
		if err := r.dir.ours(name, r.lease.holder); err != nil {
			c.End(err)
			delete(r.claims, name)
		}
	}
}

// extend says to all claims up to when they hold now.
func (r *Resolver) extend() {
	until := r.lease.end.real()
	for _, c := range r.claims {
		c.Renew(c.Record(), until)
	}
}

// ours says who has a service that was ours, or nil if it still is.
func (d *directory) ours(name string, mine holder) error {
	by, record, err := d.readRecord(name)
	switch {
	case err != nil:
		return fmt.Errorf("%w, and has left since", find.ErrSuperseded)
	case by != mine:
		return &find.SupersededError{By: record}
	}
	return nil
}

// loseAll ends all claims.
func (r *Resolver) loseAll(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, c := range r.claims {
		c.End(fmt.Errorf("%w: %w", find.ErrLost, why))
		delete(r.claims, name)
	}
}

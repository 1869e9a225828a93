package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/weft-fabric/weft/ripc/find"
)

// maxAttempts is how often a claim is tried against others who change the directory at the same time.
const maxAttempts = 16

// claim is a service that this process has.
type claim struct {
	*find.Hold
	directory *Directory
	key       string
	revision  int64 // of the transaction that wrote it; under Directory.mu
}

// Claim writes the record into the directory, if nobody has the service. What this process has is written anew, and keeps
// its epoch unless r has a higher one.
func (d *Directory) Claim(ctx context.Context, r find.Record) (find.Claim, error) {
	if err := checkClaim(&r); err != nil {
		return nil, fmt.Errorf("claim %s: %w", r.Title(), err)
	}
	bounded, done, err := d.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("claim %s: %w", r.Title(), err)
	}
	defer done()
	key := d.keys.record(&r)
	leave, err := d.enter(bounded, key)
	if err == nil {
		defer leave()
		var c *claim
		if c, err = d.claim(bounded, key, r); err == nil {
			return c, nil
		}
	}
	if errors.Is(err, find.ErrTaken) {
		return nil, err
	}
	return nil, d.explain(bounded, err, "claim %s", r.Title())
}

func checkClaim(r *find.Record) error {
	if r.Epoch > maxBase {
		return fmt.Errorf("%w: epoch %d, a directory takes at most %d", find.ErrRecord, r.Epoch, uint64(maxBase))
	}
	return r.CheckClaim()
}

// claim tries until nobody else changes the directory at the same time. It starts from what was seen last: most often
// that is right, and one question is enough.
func (d *Directory) claim(ctx context.Context, key string, r find.Record) (*claim, error) {
	a := d.attempt(key, r)
	for range maxAttempts {
		l, err := d.current(ctx)
		if err != nil {
			return nil, err
		}
		revision, err := d.try(ctx, l, a)
		switch {
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			d.lose(l)
		case err != nil:
			return nil, err
		case revision > 0:
			if c := d.hold(l, a, revision); c != nil {
				return c, nil
			}
		}
	}
	return nil, errBusy
}

// hold makes the claim that an attempt has written. It returns nil if the lease was lost since.
func (d *Directory) hold(l *lease, a *attempt, revision int64) *claim {
	r, raised := a.plan()
	if r.Epoch == 0 {
		r.Epoch = raised + uint64(revision)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lease != l {
		return nil
	}
	d.base = a.base
	if raised != a.base.value {
		d.base = base{value: raised, revision: revision}
	}
	c := d.claims[a.key]
	if c == nil || !c.Renew(r, l.until) {
		c = &claim{Hold: find.NewHold(r, l.until), directory: d, key: a.key}
		d.claims[a.key] = c
	}
	c.revision = revision
	return c
}

// Withdraw deletes the record from the directory. If that fails the claim has ended all the same, and the record is deleted
// when the directory answers.
func (c *claim) Withdraw(ctx context.Context) error {
	if !c.End(find.ErrWithdrawn) {
		return nil
	}
	d, r := c.directory, c.Record()
	ctx, done, err := d.begin(ctx)
	if err != nil {
		return nil // Close deletes everything
	}
	defer done()
	leave, err := d.enter(ctx, c.key)
	if err == nil {
		defer leave()
		err = d.drop(ctx, c)
	}
	return d.explain(ctx, err, "withdraw %s, which will be tried again", r.Title())
}

// drop deletes the key of a claim that has ended, unless it was claimed again.
func (d *Directory) drop(ctx context.Context, c *claim) error {
	d.mu.Lock()
	mine := d.claims[c.key] == c
	if mine {
		delete(d.claims, c.key)
	}
	d.mu.Unlock()
	if !mine {
		return nil
	}
	return d.remove(ctx, c.key)
}

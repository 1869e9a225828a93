package find

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weft-fabric/weft/clock"
)

// maxRaises is how often a joint claim is made before its epochs are the same. The second time each resolver is asked for the
// highest that any of them gave, so that two are enough.
const maxRaises = 8

// withdrawTimeout is for resolvers of a joint claim when one of the others has lost it.
const withdrawTimeout = 5 * time.Second

// joint is one service, claimed with several resolvers.
type joint struct {
	*Hold
	claims []Claim
	runs   sync.WaitGroup
}

// Join claims a service with several resolvers, one after the other, with one epoch. The claim is valid as long as all of them
// say so; if it ends with one, it is withdrawn from the others. If one refuses, that is the error, and the others have it no
// more. Claiming takes the time of all resolvers together.
func Join(ctx context.Context, r Record, resolvers ...Resolver) (Claim, error) {
	if err := r.CheckClaim(); err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	if len(resolvers) == 0 {
		return nil, fmt.Errorf("claim %s: there is no resolver to make it known", r.Title())
	}
	j := &joint{}
	for range maxRaises {
		if err := j.claim(ctx, &r, resolvers); err != nil {
			return nil, errors.Join(err, j.withdraw())
		}
		if j.agreed(r.Epoch) {
			j.start(r)
			return j, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("claim %s: the resolvers cannot agree on its epoch", r.Title()), j.withdraw())
}

// claim claims with each resolver, for the first time or again, and leaves the highest epoch in r.
func (j *joint) claim(ctx context.Context, r *Record, resolvers []Resolver) error {
	for i, resolver := range resolvers {
		c, err := resolver.Claim(ctx, *r)
		if err != nil {
			return fmt.Errorf("%s: %w", resolver.Name(), err)
		}
		if i == len(j.claims) {
			j.claims = append(j.claims, c)
		}
		r.Epoch = max(r.Epoch, c.Record().Epoch)
	}
	return nil
}

// agreed reports whether all claims are of the epoch.
func (j *joint) agreed(epoch uint64) bool {
	return !slices.ContainsFunc(j.claims, func(c Claim) bool { return c.Record().Epoch != epoch })
}

func (j *joint) start(r Record) {
	j.Hold = NewHold(r, clock.Never)
	for _, c := range j.claims {
		j.runs.Go(func() { j.runUntilEnd(c) })
	}
}

// runUntilEnd ends the whole when one claim ends. It is stopped by the end of the whole; Withdraw waits for it.
func (j *joint) runUntilEnd(c Claim) {
	select {
	case <-j.Done():
	case <-c.Done():
		if j.End(c.Err()) {
			_ = j.withdraw() // they are leases: what cannot be withdrawn runs out
		}
	}
}

// withdraw withdraws the claims that are left.
func (j *joint) withdraw() error {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawTimeout)
	defer cancel()
	return j.withdrawAll(ctx)
}

func (j *joint) withdrawAll(ctx context.Context) (failed error) {
	for _, c := range j.claims {
		failed = errors.Join(failed, c.Withdraw(ctx))
	}
	return failed
}

// ValidUntil is that of the claim that ends first.
func (j *joint) ValidUntil() clock.Time {
	until := j.Hold.ValidUntil()
	for _, c := range j.claims {
		until = min(until, c.ValidUntil())
	}
	return until
}

// Withdraw withdraws all claims.
func (j *joint) Withdraw(ctx context.Context) error {
	ended := j.End(ErrWithdrawn)
	j.runs.Wait()
	if !ended {
		return nil
	}
	return j.withdrawAll(ctx)
}

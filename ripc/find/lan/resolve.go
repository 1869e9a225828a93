package lan

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// maxClaims is how many services a process can have: their announcements have to go by in a third of a lease.
const maxClaims = 1024

// claim is a service of this process.
type claim struct {
	*find.Hold
	of *Resolver
	s  *service
}

// Claim says that the service will be ours, and waits for a lease's time whether somebody objects.
func (r *Resolver) Claim(ctx context.Context, record find.Record) (find.Claim, error) {
	err := record.CheckClaim()
	if size := len(record.Append(nil)); err == nil && size > maxRecord {
		err = fmt.Errorf("%w: %d bytes do not fit into a datagram, %d do: leave some addresses out", find.ErrRecord, size, maxRecord)
	}
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	s, err := r.claim(record)
	if err != nil {
		return nil, fmt.Errorf("claim %s on the network: %w", record.Title(), err)
	}
	select {
	case <-s.settled:
	case <-ctx.Done():
		c := &claim{s.hold, r, s}
		_ = c.Withdraw(ctx)
		return nil, fmt.Errorf("claim %s on the network: %w", record.Title(), context.Cause(ctx))
	}
	if err := s.hold.Err(); err != nil {
		return nil, err
	}
	return &claim{s.hold, r, s}, nil
}

// claim begins a claim, or changes one that we have.
func (r *Resolver) claim(record find.Record) (s *service, err error) {
	closed := r.do(func(m *machine, now clock.Time) {
		s = m.mine[record.Key()]
		switch {
		case s == nil && len(m.mine) >= maxClaims:
			err = fmt.Errorf("this process has %d services, more it cannot", len(m.mine))
		case s == nil:
			s = m.claim(now, time.Now().UnixNano(), record)
		case s.record.Node != record.Node:
			err = &find.TakenError{By: s.record}
		default:
			m.changeMine(s, record)
		}
	})
	if closed != nil {
		return nil, closed
	}
	r.kick()
	return s, err
}

// Withdraw gives the service up and says so to all. It does not wait.
func (c *claim) Withdraw(context.Context) error {
	_ = c.of.do(func(m *machine, _ clock.Time) { m.withdraw(c.s, find.ErrWithdrawn) })
	return nil
}

// Find returns what was heard, and asks if that is nothing. Who has listened for less than a lease may not have heard of all
// members of a group, and asks for them.
func (r *Resolver) Find(ctx context.Context, id wire.ID) ([]find.Record, error) {
	records, err := r.find(ctx, id, id.Kind() == wire.Group && clock.Real.Now() < r.since.Add(r.config.Lease))
	if err == nil && len(records) == 0 {
		err = fmt.Errorf("nobody answered: %w", find.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("find %v on the network: %w", id, err)
	}
	return records, nil
}

// List asks for all services, and returns what was heard.
func (r *Resolver) List(ctx context.Context) ([]find.Record, error) {
	records, err := r.find(ctx, wire.ID{}, true)
	if err != nil {
		return nil, fmt.Errorf("services of the network: %w", err)
	}
	return records, nil
}

// find asks until something is known, or to the last question if all is asked for. The answer is no after pauses of 20, 40, 80
// and 160 ms.
func (r *Resolver) find(ctx context.Context, id wire.ID, all bool) ([]find.Record, error) {
	records, _, err := r.known(id)
	for wait := firstPause; err == nil && wait <= lastPause && (all || len(records) == 0); wait *= 2 {
		err = r.do(func(m *machine, _ clock.Time) {
			m.out = append(m.out, outgoing{everybody, packet{kind: ask, id: id}})
		})
		if err == nil {
			records, err = r.await(ctx, id, all, wait)
		}
	}
	return records, err
}

// known returns what is known of an ID, and what is closed when there is news.
func (r *Resolver) known(id wire.ID) (records []find.Record, news <-chan struct{}, err error) {
	err = r.do(func(m *machine, now clock.Time) { records, news = m.known(now, id), r.news })
	return records, news, err
}

// await waits for answers, or for the first one if that is enough.
func (r *Resolver) await(ctx context.Context, id wire.ID, all bool, wait time.Duration) ([]find.Record, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		records, news, err := r.known(id)
		if err != nil || len(records) > 0 && !all {
			return records, err
		}
		select {
		case <-news:
		case <-timer.C:
			return records, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-r.ctx.Done():
			return nil, find.ErrClosed
		}
	}
}

// Watch has f told of what is heard, and of what was not heard of for a lease.
func (r *Resolver) Watch(f func(find.Change)) { r.watch.Watch(f) }

package etcd

import (
	"context"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-fabric/weft/ripc/find"
)

// enter waits until no other call of this process changes a key. Until leave the key is not settled.
func (d *Directory) enter(ctx context.Context, key string) (leave func(), err error) {
	for {
		leave, before := d.tryEnter(key)
		if leave != nil {
			return leave, nil
		}
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryEnter returns leave, or else what is closed when the other call leaves.
func (d *Directory) tryEnter(key string) (leave func(), before <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if before, ok := d.busy[key]; ok {
		return nil, before
	}
	mine := make(chan struct{})
	d.busy[key] = mine
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.busy, key)
		close(mine)
		d.settle(key)
	}, nil
}

// settle compares what this process claims with what the directory holds at a key: a claim that is not there ends, and what is
// there unclaimed is to be deleted. The latter is left by calls whose answer did not come, by claims that could not be
// withdrawn, and by those that somebody else wants. Directory.mu is held.
func (d *Directory) settle(key string) {
	if isWish(key) {
		d.settle(strings.TrimSuffix(key, wish) + holder)
	}
	if _, ok := d.busy[key]; ok {
		return
	}
	if c := d.claims[key]; c != nil {
		why := d.verdict(c)
		if why == nil {
			return
		}
		c.End(why)
		delete(d.claims, key)
	}
	if e := d.view.entries[key]; d.lease != nil && e.lease == d.lease.id {
		d.unwanted[key] = true
		d.wakeSweeper()
	}
}

// verdict says why a claim has ended, or nil. Directory.mu is held.
func (d *Directory) verdict(c *claim) error {
	e := d.view.entries[c.key]
	wanted := d.view.entries[strings.TrimSuffix(c.key, holder)+wish]
	switch {
	case d.view.revision < c.revision:
		return nil // what is known is older than the claim
	case e.revision == 0:
		return errDropped
	case e.revision != c.revision:
		return &find.SupersededError{By: e.record}
	case wanted.revision > c.revision:
		return &find.SupersededError{By: wanted.record}
	}
	return nil
}

func (d *Directory) wakeSweeper() {
	select {
	case d.sweeping <- struct{}{}:
	default:
	}
}

// runSweep deletes what is unwanted. It ends with Close, which waits for it, and revokes the lease of the rest.
func (d *Directory) runSweep() {
	for {
		select {
		case <-d.sweeping:
		case <-d.ctx.Done():
			return
		}
		if !d.sweep() && pause(d.ctx, again) {
			d.wakeSweeper()
		}
	}
}

// sweep returns false if something is left. What is busy is left too, but whoever leaves it wakes the sweeper.
func (d *Directory) sweep() (clean bool) {
	d.mu.Lock()
	keys := make([]string, 0, len(d.unwanted))
	for key := range d.unwanted {
		keys = append(keys, key)
	}
	clear(d.unwanted)
	d.mu.Unlock()
	clean = true
	for _, key := range keys {
		if leave, _ := d.tryEnter(key); leave != nil {
			clean = d.sweepOne(key) && clean
			leave()
		}
	}
	return clean
}

// sweepOne deletes a key if it is still unclaimed. If that fails, settling it will find it again.
func (d *Directory) sweepOne(key string) bool {
	d.mu.Lock()
	claimed := d.claims[key] != nil
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(d.ctx, d.config.Timeout)
	defer cancel()
	return claimed || d.remove(ctx, key) == nil
}

// remove deletes a key, if it is bound to the lease of this process.
func (d *Directory) remove(ctx context.Context, key string) error {
	d.mu.Lock()
	l := d.lease
	d.mu.Unlock()
	if l == nil {
		return nil
	}
	answer, err := d.client.Txn(ctx).If(clientv3.Compare(clientv3.LeaseValue(key), "=", l.id)).Then(clientv3.OpDelete(key)).Commit()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e, ok := d.view.entries[key]; ok && e.revision <= answer.Header.Revision {
		e.lease = clientv3.NoLease // it is not ours any more, although it is in the view until the watch says that it is gone
		d.view.entries[key] = e
	}
	return nil
}

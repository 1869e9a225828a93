package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-fabric/weft/ripc/find"
)

// TakeOver claims a service that another process may have: for one that moves. The holder's claim ends with ErrSuperseded;
// a holder that does not answer is waited for until its lease has run out. If TakeOver fails, the holder may have let go all
// the same.
func (d *Directory) TakeOver(ctx context.Context, r find.Record) (find.Claim, error) {
	c, err := d.Claim(ctx, r)
	if !errors.Is(err, find.ErrTaken) {
		return c, err
	}
	ctx, done, err := d.beginFor(ctx, d.config.Timeout+2*d.config.TTL)
	if err != nil {
		return nil, fmt.Errorf("take over %s: %w", r.Title(), err)
	}
	defer done()
	leave, err := d.enter(ctx, d.keys.wanted(r.Service))
	if err != nil {
		return nil, d.explain(ctx, err, "take over %s", r.Title())
	}
	defer leave() // which finds the wish unclaimed, and has it deleted
	for {
		if err := d.want(ctx, &r); err != nil {
			return nil, d.explain(ctx, err, "take over %s", r.Title())
		}
		c, err := d.Claim(ctx, r)
		if !errors.Is(err, find.ErrTaken) {
			return c, err
		}
	}
}

// want says that this process wants the service, and waits until its holder has changed.
func (d *Directory) want(ctx context.Context, r *find.Record) error {
	l, err := d.current(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	base := d.base.value
	d.mu.Unlock()
	has := d.keys.holder(r.Service)
	wish := *r
	wish.Epoch = 0
	answer, err := d.client.Txn(ctx).Then(
		clientv3.OpPut(d.keys.wanted(r.Service), value(base, &wish), clientv3.WithLease(l.id)),
		clientv3.OpGet(has),
	).Commit()
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		d.lose(l)
		return nil
	}
	if err != nil || len(answer.Responses[1].GetResponseRange().Kvs) == 0 {
		return err
	}
	return d.awaitChange(ctx, has, answer.Header.Revision)
}

// awaitChange waits until a key changes after a revision.
func (d *Directory) awaitChange(ctx context.Context, key string, after int64) error {
	watching, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for r := range d.client.Watch(watching, key, clientv3.WithRev(after+1)) {
		if len(r.Events) > 0 {
			return nil
		}
	}
	if !pause(ctx, again) { // the watch broke: look again, but not at once
		return fmt.Errorf("%w: %w", errStays, ctx.Err())
	}
	return nil
}

package etcd

import (
	"context"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-fabric/weft/clock"
)

// lease is what all claims of this process are bound to.
type lease struct {
	id    clientv3.LeaseID
	ttl   time.Duration
	until clock.Time // up to when it holds, for certain; under Directory.mu
	ctx   context.Context
	end   context.CancelFunc // ends its renewal

	// Of runRenew alone: the stream on which it asks, if there is one, and its context.
	stream pb.Lease_LeaseKeepAliveClient
	open   context.Context
	hangUp context.CancelFunc
}

// validity is up to when a lease holds that was asked for at a moment: see the package's documentation.
func validity(asked clock.Time, ttl time.Duration) clock.Time { return asked.Add(ttl - ttl/10) }

// current returns the lease, and gets one if there is none.
func (d *Directory) current(ctx context.Context) (*lease, error) {
	select {
	case d.granting <- struct{}{}:
		defer func() { <-d.granting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	d.mu.Lock()
	l := d.lease
	d.mu.Unlock()
	if l != nil {
		return l, nil
	}
	return d.grant(ctx)
}

func (d *Directory) grant(ctx context.Context) (*lease, error) {
	asked := clock.Real.Now()
	granted, err := d.client.Grant(ctx, d.config.seconds())
	if err != nil {
		return nil, err
	}
	l := &lease{id: granted.ID, ttl: time.Duration(granted.TTL) * time.Second}
	l.until = validity(asked, l.ttl)
	l.ctx, l.end = context.WithCancel(d.ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lease = l
	d.runs.Go(func() { d.runRenew(l) })
	return l, nil
}

// runRenew keeps a lease alive. It ends when the lease is lost, or with Close, which waits for it.
func (d *Directory) runRenew(l *lease) {
	wait, silent := l.ttl/3, false
	for pause(l.ctx, wait) {
		asked := clock.Real.Now()
		ttl, err := d.renew(l)
		switch {
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			d.lose(l)
		case err != nil:
			wait = l.ttl / 20
		default:
			wait = l.ttl / 3
			d.extend(l, validity(asked, ttl))
		}
		if failed := err != nil && l.ctx.Err() == nil; failed != silent {
			silent = failed
			d.logSilence(err)
		}
	}
}

// logSilence says once that the directory has fallen silent, and once that it is back.
func (d *Directory) logSilence(err error) {
	if err != nil {
		d.config.Logger.Warn("the directory does not renew the claims of this process", "at", d.config.Endpoints, "error", err)
		return
	}
	d.config.Logger.Info("the directory renews the claims of this process again", "at", d.config.Endpoints)
}

// renew asks once, on a stream that stays open: to open one may cost the server a check of the password. It does not use the
// client's renewal, which neither tells when it asked nor pauses between tries.
func (d *Directory) renew(l *lease) (time.Duration, error) {
	if l.stream == nil {
		l.open, l.hangUp = context.WithCancel(clientv3.WithRequireLeader(l.ctx))
	}
	limit := time.AfterFunc(l.ttl/3, l.hangUp)
	ttl, err := d.ask(l)
	// An answer that comes too late would be taken for that of the next question.
	if !limit.Stop() || err != nil {
		l.hangUp()
		l.stream = nil
	}
	return ttl, err
}

// ask asks, and waits for the answer until the stream is ended.
func (d *Directory) ask(l *lease) (_ time.Duration, err error) {
	if l.stream == nil {
		if l.stream, err = clientv3.RetryLeaseClient(d.client).LeaseKeepAlive(l.open); err != nil {
			return 0, err
		}
	}
	if err := l.stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(l.id)}); err != nil {
		return 0, err
	}
	answer, err := l.stream.Recv()
	if err != nil {
		return 0, err
	}
	if answer.TTL <= 0 {
		return 0, rpctypes.ErrLeaseNotFound
	}
	return time.Duration(answer.TTL) * time.Second, nil
}

// extend tells the claims that the lease was renewed.
func (d *Directory) extend(l *lease, until clock.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lease != l {
		return
	}
	l.until = until
	for _, c := range d.claims {
		c.Renew(c.Record(), until)
	}
}

// lose ends a lease that the directory does not know any more, and the claims with it. The next claim gets a new one.
func (d *Directory) lose(l *lease) {
	l.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lease != l {
		return
	}
	d.lease = nil
	for _, c := range d.claims {
		c.End(errDropped)
	}
	clear(d.claims)
	clear(d.unwanted)
}

// revoke gives a lease back, and so deletes everything that is bound to it. If that fails it expires.
func (d *Directory) revoke(l *lease) {
	ctx, cancel := context.WithTimeout(context.Background(), min(d.config.Timeout, l.ttl))
	defer cancel()
	l.end()
	if _, err := d.client.Revoke(ctx, l.id); err != nil {
		d.config.Logger.Warn("the directory was not told that services are gone: it will notice", "after", l.ttl, "error", err)
	}
}

package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-fabric/weft/ripc/find"
)

// attempt is what a claim wants to write, and what it takes to be in the directory.
type attempt struct {
	key    string
	record find.Record // as it was asked for
	passed int64       // a revision that the directory has reached
	base   base
	found  entry // at key: of this process, or none
}

// attempt begins one with what was seen last.
func (d *Directory) attempt(key string, r find.Record) *attempt {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := &attempt{key: key, record: r, passed: d.view.revision, base: d.base}
	if e := d.view.entries[key]; e.record.Node == r.Node {
		a.found = e
	}
	return a
}

// farAhead is more revisions than pass between reading the directory and writing to it.
const farAhead = 1 << 40

// plan returns the record to be written, and the base of epochs. A new claim is given its epoch by its revision, unless one is
// asked for that is certainly higher than all before. A claim that is written anew keeps its epoch, or has a higher one that
// is asked for. The base is raised so that what comes later is higher.
func (a *attempt) plan() (r find.Record, base uint64) {
	r, base = a.record, a.base.value
	reached := base + uint64(a.passed)
	if reached < r.Epoch {
		base = r.Epoch
	}
	switch {
	case a.found.revision != 0:
		r.Epoch = max(r.Epoch, a.found.record.Epoch)
	case r.Epoch < reached+farAhead:
		r.Epoch = 0
	}
	return r, base
}

// try writes the claim if the directory is as the attempt takes it to be, and returns the revision. Else it returns 0, and the
// attempt knows better; if another process has the service, that is an error.
func (d *Directory) try(ctx context.Context, l *lease, a *attempt) (int64, error) {
	r, base := a.plan()
	write := []clientv3.Op{clientv3.OpPut(a.key, value(base, &r), clientv3.WithLease(l.id))}
	if base != a.base.value {
		write = append(write, clientv3.OpPut(d.keys.epochs, encodeBase(base)))
	}
	answer, err := d.client.Txn(ctx).If(
		clientv3.Compare(clientv3.ModRevision(a.key), "=", a.found.revision),
		clientv3.Compare(clientv3.ModRevision(d.keys.epochs), "=", a.base.revision),
	).Then(write...).Else(
		clientv3.OpGet(a.key), clientv3.OpGet(d.keys.epochs),
	).Commit()
	if err != nil {
		return 0, err
	}
	if !answer.Succeeded {
		return 0, a.learn(d.keys, answer)
	}
	return answer.Header.Revision, nil
}

// learn takes what the directory holds from its answer to a failed attempt.
func (a *attempt) learn(k keys, answer *clientv3.TxnResponse) (err error) {
	a.found, a.base, a.passed = entry{}, base{}, answer.Header.Revision
	for _, kv := range answer.Responses[1].GetResponseRange().Kvs {
		a.base.revision = kv.ModRevision
		if a.base.value, err = decodeBase(kv.Value); err != nil {
			return fmt.Errorf("at key %s: %w; every claim would begin anew if it were deleted", kv.Key, err)
		}
	}
	for _, kv := range answer.Responses[0].GetResponseRange().Kvs {
		if a.found, err = k.entry(kv); err != nil {
			return fmt.Errorf("at key %s: %w; delete it", kv.Key, err)
		}
		if a.found.record.Node != a.record.Node {
			return &find.TakenError{By: a.found.record}
		}
	}
	return nil
}

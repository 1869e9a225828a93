package etcd

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-fabric/weft/ripc/find"
)

const (
	pageSize   = 500     // entries that are read at a time
	maxEntries = 1 << 20 // in the directory; with more it is taken for broken
	again      = 200 * time.Millisecond
)

// runFollow keeps the view up to date, tells those who watch, and ends claims that others have now. It ends with Close,
// which waits for it.
func (d *Directory) runFollow() {
	for d.ctx.Err() == nil {
		d.follow()
		// The watch ends if what it should begin with was compacted, or if its server has lost the others. What was missed is
		// found by comparing.
		for pause(d.ctx, again) {
			ctx, cancel := context.WithTimeout(d.ctx, d.config.Timeout)
			err := d.survey(ctx)
			cancel()
			if err == nil {
				break
			}
		}
	}
}

// survey makes the view anew.
func (d *Directory) survey(ctx context.Context) error {
	now, err := d.read(ctx, d.keys.services)
	if err != nil {
		return err
	}
	d.mu.Lock()
	changes := d.view.replace(now)
	for key := range d.claims {
		d.settle(key)
	}
	for key := range d.view.entries {
		d.settle(key)
	}
	d.mu.Unlock()
	d.watchers.Tell(changes...)
	return nil
}

// follow applies changes to the view, from the revision after its own.
func (d *Directory) follow() {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(d.ctx))
	defer cancel()
	d.mu.Lock()
	next := d.view.revision + 1
	d.mu.Unlock()
	for r := range d.client.Watch(ctx, d.keys.services, clientv3.WithPrefix(), clientv3.WithRev(next), clientv3.WithFragment()) {
		if r.Err() != nil {
			return
		}
		d.watchers.Tell(d.apply(r.Events)...)
	}
}

// apply puts changes into the view. They are those of whole revisions, in order.
func (d *Directory) apply(events []*clientv3.Event) (changes []find.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, event := range events {
		changes = append(changes, d.applyOne(event)...)
		d.view.revision = event.Kv.ModRevision
	}
	for _, event := range events {
		d.settle(string(event.Kv.Key))
	}
	return changes
}

func (d *Directory) applyOne(event *clientv3.Event) []find.Change {
	key := string(event.Kv.Key)
	if event.Type == mvccpb.PUT {
		if e, ok := d.understand(event.Kv); ok {
			return d.view.put(key, e)
		}
	}
	return d.view.remove(key)
}

// understand takes apart what is in the directory. What is not a record does not count; that is logged once, since whoever
// writes such things may do it often.
func (d *Directory) understand(kv *mvccpb.KeyValue) (entry, bool) {
	e, err := d.keys.entry(kv)
	if err != nil {
		d.garbled.Do(func() {
			d.config.Logger.Warn("something in the directory is not a record, and is ignored", "key", string(kv.Key), "error", err)
		})
	}
	return e, err == nil
}

// read returns everything below a prefix, as it was at one moment.
func (d *Directory) read(ctx context.Context, prefix string) (view, error) {
	v := view{entries: map[string]entry{}}
	from, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	for {
		page, err := d.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithRev(v.revision), clientv3.WithLimit(pageSize))
		if err != nil {
			return view{}, err
		}
		if v.revision == 0 {
			v.revision = page.Header.Revision
		}
		for _, kv := range page.Kvs {
			if e, ok := d.understand(kv); ok {
				v.entries[string(kv.Key)] = e
			}
			from = string(kv.Key) + "\x00" // the next possible key
		}
		if !page.More {
			return v, nil
		}
		if len(v.entries) > maxEntries {
			return view{}, fmt.Errorf("more than %d records below %s: that cannot be right", maxEntries, prefix)
		}
	}
}

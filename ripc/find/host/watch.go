package host

import (
	"os"
	"time"

	"github.com/weft-fabric/weft/ripc/find"
)

// view is what the directory had when somebody looked.
type view struct {
	written time.Time // the directory's time before it was read; zero: read it again in any case
	all     []held
	living  map[find.Key]find.Record
}

// grain is more than the steps in which a file system counts time. What was written so shortly before looking may have been
// followed by something with the same time.
const grain = 50 * time.Millisecond

// look looks at the directory. Files are read only if one of them came or went since the last view; whether their holders
// live is looked at each time, because a death does not touch the directory.
func (d *directory) look(last *view) (*view, error) {
	info, err := os.Stat(d.path)
	if err != nil {
		return nil, err
	}
	now := &view{written: info.ModTime(), living: map[find.Key]find.Record{}}
	if last != nil && now.written.Equal(last.written) {
		now.all = last.all
	} else if now.all, err = d.held(""); err != nil {
		return nil, err
	}
	if time.Since(now.written).Abs() < grain {
		now.written = time.Time{}
	}
	for _, record := range d.living(now.all) {
		now.living[record.Key()] = record
	}
	return now, nil
}

// Watch has f told of what changes from now on, within a third of the lease.
func (r *Resolver) Watch(f func(find.Change)) {
	r.watching.Lock()
	defer r.watching.Unlock()
	if r.seen == nil {
		if r.seen, _ = r.dir.look(nil); r.seen == nil {
			r.seen = &view{} // all that is there will have come
		}
	}
	r.watch.Watch(f)
}

// runWatch looks what has changed, three times in a lease. It is not runRenew, which nobody who is told may hold up. Close
// stops it and waits for it.
func (r *Resolver) runWatch() {
	tick := time.NewTicker(r.lease.length / 3)
	defer tick.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
			r.watch.Tell(r.news()...)
		}
	}
}

// news returns what has changed since it was called last. If the directory cannot be read, that is nothing yet.
func (r *Resolver) news() []find.Change {
	r.watching.Lock()
	defer r.watching.Unlock()
	if r.seen == nil {
		return nil
	}
	old := r.seen
	now, err := r.dir.look(old)
	if err != nil {
		return nil
	}
	r.seen = now
	return compare(old, now)
}

// compare returns what happened between two views.
func compare(old, now *view) (changes []find.Change) {
	for key, record := range now.living {
		before, was := old.living[key]
		switch {
		case !was:
			changes = append(changes, find.Change{What: find.Came, Record: record})
		case !record.Equal(&before):
			changes = append(changes, find.Change{What: find.Moved, Record: record})
		}
	}
	for key, record := range old.living {
		if _, is := now.living[key]; !is {
			changes = append(changes, find.Change{What: find.Gone, Record: record})
		}
	}
	return changes
}

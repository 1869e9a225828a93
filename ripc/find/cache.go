package find

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/wire"
)

// CacheConfig says how a cache remembers. The zero value is fine.
type CacheConfig struct {
	Expiry  time.Duration // how long a record is believed; 0 is 30 s
	Absence time.Duration // how long it is believed that there is none; 0 is 250 ms
	Timeout time.Duration // of one lookup, with all resolvers together; 0 is 5 s
	Size    int           // how many IDs are remembered; 0 is 4096. The one that was not asked for longest goes first
	Clock   clock.Clock   // nil is clock.Real
}

func (c CacheConfig) withDefaults() CacheConfig {
	c.Expiry = orElse(c.Expiry, 30*time.Second)
	c.Absence = orElse(c.Absence, 250*time.Millisecond)
	c.Timeout = orElse(c.Timeout, 5*time.Second)
	c.Size = orElse(c.Size, 4096)
	if c.Clock == nil {
		c.Clock = clock.Real
	}
	return c
}

// orElse is the value, or what stands for it if it is not positive.
func orElse[T int | time.Duration](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}

// Cache asks resolvers in order, and remembers what they said. Its methods may be called from any goroutine. It does not
// close the resolvers.
//
// What it remembers ends by its age, by Forget, by Learn, and by what the resolvers hear of changes. There is one lookup at a
// time for an ID, whose result goes to all who ask for it; lookups of different IDs do not wait for each other.
type Cache struct {
	config    CacheConfig
	resolvers []Resolver
	ctx       context.Context // of all lookups; ends with Close
	cancel    context.CancelCauseFunc
	runs      sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	known   memory
	lookups map[wire.ID]*lookup // those whose result is still wanted in known
}

// NewCache makes a cache. The resolvers are asked in this order.
func NewCache(config CacheConfig, resolvers ...Resolver) *Cache {
	config = config.withDefaults()
	c := &Cache{config: config, resolvers: slices.Clone(resolvers), known: newMemory(config.Size), lookups: map[wire.ID]*lookup{}}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	for _, r := range resolvers {
		r.Watch(c.changed)
	}
	return c
}

// Find returns the records for an ID: the first that a resolver has for a service, those of all resolvers for a group. The
// slice is shared, and not to be changed. If no resolver knows one, that is ErrNotFound; if one of them failed, the error
// wraps that as well.
func (c *Cache) Find(ctx context.Context, id wire.ID) ([]Record, error) {
	c.mu.Lock()
	if e := c.known.at(id, c.config.Clock.Now()); e != nil {
		c.mu.Unlock()
		return e.records, e.err
	}
	l, err := c.join(id)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	defer c.leave(l)
	select {
	case <-l.done:
		return l.records, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("find %v: %w", id, context.Cause(ctx))
	}
}

// Forget drops what is remembered of an ID, unless that is newer than the epoch: of a service that did not answer, or that was
// not where its record says. What a lookup finds that is under way is not remembered either, unless it is newer.
func (c *Cache) Forget(id wire.ID, epoch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.lookups[id]; l != nil {
		l.doubted, l.doubt = true, max(l.doubt, epoch)
	}
	if e := c.known.entries[id]; e != nil && !newer(e.records, epoch) {
		c.known.remove(id)
	}
}

// newer reports whether there are records, and all are of a higher epoch.
func newer(records []Record, epoch uint64) bool {
	return len(records) > 0 && !slices.ContainsFunc(records, func(r Record) bool { return r.Epoch <= epoch })
}

// Learn remembers a record that was seen elsewhere, for example in a message, if it is newer than what is remembered. It
// must pass Check, or nothing happens.
func (c *Cache) Learn(r Record) {
	if r.Check() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	now := c.config.Clock.Now()
	e := c.known.at(r.Service, now)
	if r.Service.Kind() == wire.Group && (e == nil || e.err != nil) {
		return // one member is not the group
	}
	var old []Record
	if e != nil {
		old = e.records
	}
	if records, news := merge(old, r); news {
		delete(c.lookups, r.Service)
		c.known.put(r.Service, records, nil, now.Add(c.config.Expiry))
	}
}

// merge returns old with r in it, and whether that is news. What was old stays as it was: others read it.
func merge(old []Record, r Record) ([]Record, bool) {
	i := slices.IndexFunc(old, func(o Record) bool { return o.Key() == r.Key() })
	if i < 0 {
		return append(slices.Clip(old), r), true
	}
	if old[i].Epoch >= r.Epoch {
		return old, false
	}
	changed := slices.Clone(old)
	changed[i] = r
	return changed, true
}

// changed is told by resolvers what they have heard. The next Find asks them. A lookup that is under way may have read what is
// no longer so: it answers those who wait for it, but its result is not kept.
func (c *Cache) changed(change Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known.remove(change.Record.Service)
	delete(c.lookups, change.Record.Service)
}

// List returns what all resolvers list, each service once: as the first resolver has it that knows it. Those that fail are
// named by the error; the records of the others are returned with it.
func (c *Cache) List(ctx context.Context) ([]Record, error) {
	var all []Record
	var failed []error
	seen := map[Key]bool{}
	for _, resolver := range c.resolvers {
		records, err := resolver.List(ctx)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", resolver.Name(), err))
		}
		for _, r := range records {
			if key := r.Key(); !seen[key] {
				seen[key] = true
				all = append(all, r)
			}
		}
	}
	return all, errors.Join(failed...)
}

// Close ends all lookups. A second Close does nothing.
func (c *Cache) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel(ErrClosed)
	c.runs.Wait()
	return nil
}

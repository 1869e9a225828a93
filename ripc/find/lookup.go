package find

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/ripc/wire"
)

// lookup is one question to the resolvers, for all who ask it at that time. It has a context of its own, so that one of
// them who gives up does not end it for the others; when all have, it ends.
type lookup struct {
	id      wire.ID
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{} // closed when records and err are there
	records []Record
	err     error

	// Under Cache.mu:
	waiting int    // who wants to know
	doubted bool   // Forget was called meanwhile,
	doubt   uint64 // up to this epoch: what is not newer is not remembered
}

// join takes part in the lookup of an ID, and begins it if there is none. Cache.mu is held.
func (c *Cache) join(id wire.ID) (*lookup, error) {
	if c.closed {
		return nil, fmt.Errorf("find %v: %w", id, ErrClosed)
	}
	l := c.lookups[id]
	if l == nil {
		l = &lookup{id: id, done: make(chan struct{})}
		l.ctx, l.cancel = context.WithTimeout(c.ctx, c.config.Timeout)
		c.lookups[id] = l
		c.runs.Go(func() { c.runLookup(l) })
	}
	l.waiting++
	return l, nil
}

// leave ends one's part in a lookup.
func (c *Cache) leave(l *lookup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.waiting--; l.waiting > 0 {
		return
	}
	l.cancel()
	if c.lookups[l.id] == l {
		delete(c.lookups, l.id)
	}
}

// runLookup asks and remembers. It ends with the resolvers' answers, with its timeout, when nobody waits any more, or with
// Close, which waits for it.
func (c *Cache) runLookup(l *lookup) {
	defer l.cancel()
	expiry := c.ask(l)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(l.done)
	if c.lookups[l.id] != l {
		return
	}
	delete(c.lookups, l.id)
	if expiry > 0 && (!l.doubted || newer(l.records, l.doubt)) {
		c.known.put(l.id, l.records, l.err, c.config.Clock.Now().Add(expiry))
	}
}

// ask fills in what the resolvers say, and returns how long that is to be believed. Half a group is believed no longer than
// that there is none, and a failure not at all.
func (c *Cache) ask(l *lookup) time.Duration {
	var failed error
	l.records, failed = c.askAll(l.ctx, l.id)
	switch {
	case len(l.records) > 0 && failed == nil:
		return c.config.Expiry
	case len(l.records) > 0:
		return c.config.Absence
	case c.ctx.Err() != nil:
		l.err = fmt.Errorf("find %v: %w", l.id, ErrClosed)
	case failed != nil:
		l.err = fmt.Errorf("find %v: %w: %w", l.id, ErrNotFound, failed)
	default:
		l.err = fmt.Errorf("find %v: %w", l.id, ErrNotFound)
		return c.config.Absence
	}
	return 0
}

// askAll asks the resolvers in order: for a service up to the first that knows it, for a group all of them. One that fails
// does not keep the next from being asked.
func (c *Cache) askAll(ctx context.Context, id wire.ID) (found []Record, failed error) {
	for _, resolver := range c.resolvers {
		records, err := resolver.Find(ctx, id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", resolver.Name(), err))
			continue
		}
		for _, r := range records {
			found, _ = merge(found, r)
		}
		if len(found) > 0 && id.Kind() != wire.Group {
			return found, nil
		}
	}
	return found, failed
}

package soft

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// SharedReceives is a pool of receives for several queue pairs of one completion queue. It implements
// driver.SharedReceives.
type SharedReceives struct {
	domain *Domain
	cq     *CompletionQueue
	pool   *pool
	closed bool
}

// NewSharedReceives makes an empty pool.
func (d *Domain) NewSharedReceives(config driver.SharedConfig) (driver.SharedReceives, error) {
	c := config.Completions.(*CompletionQueue)
	if err := c.usable(); err != nil {
		return nil, err
	}
	if err := d.bear(); err != nil {
		return nil, err
	}
	p, err := newPool(d.device, config.Depth, config.MaxSpans, true)
	if err != nil {
		d.drop()
		return nil, err
	}
	return &SharedReceives{domain: d, cq: c, pool: p}, nil
}

// PostReceive adds receives to the pool.
func (s *SharedReceives) PostReceive(list []driver.Receive) (n int, err error) {
	if err := s.cq.enter(); err != nil {
		return 0, err
	}
	defer s.cq.exit()
	if s.closed {
		return 0, fmt.Errorf("soft: shared receives are %w", driver.ErrClosed)
	}
	if err := s.pool.postAll(list); err != nil {
		return 0, err
	}
	return len(list), nil
}

// Close drops what is still posted, and withdraws what was completed. The queue pairs that use the pool must be closed.
func (s *SharedReceives) Close() error {
	s.cq.mu.Lock()
	defer s.cq.mu.Unlock()
	if s.closed {
		return fmt.Errorf("soft: close shared receives: already %w", driver.ErrClosed)
	}
	if n := len(s.pool.users); n > 0 {
		return fmt.Errorf("soft: close shared receives: %d queue pairs use them", n)
	}
	s.closed = true
	s.pool.drop()
	s.cq.done.withdraw(s.pool.source)
	s.domain.drop()
	return nil
}

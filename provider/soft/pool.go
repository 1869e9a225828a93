package soft

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft/verbs/driver"
)

// slot is one receive: written by the owner when it is posted, then by the peer's requester that has taken it.
type slot struct {
	tag   driver.Tag
	bytes uint64 // how long a message fits
	first driver.Span
	more  int // further spans in pool.spans

	taker  uint32 // number of the queue pair whose message took the receive
	length uint32 // of the message
	imm    uint32
	op     driver.Op
	status driver.Status
}

// pool is a table of receives, and the ring of those that are posted and not yet taken. The owner posts; requesters
// take, each inside the gate of an end that uses the pool. If several ends share it, a lock keeps them apart.
type pool struct {
	depth    int // receives, including those whose arrival the owner has not seen
	maxSpans int
	shared   bool

	posted atomic.Uint64 // receives posted: up to, not including. Written by the owner
	taken  atomic.Uint64 // receives taken: up to, not including. Written by the taker
	wanted atomic.Uint32 // 1: some end of the pool has its wanting set

	// Allocated with the first receive.
	slots  []slot
	spans  []driver.Span // further spans of slot i from i*(maxSpans-1)
	posts  []uint32      // ring of slots in posting order
	vacant []uint32      // slots that are not in use; the owner's

	taking sync.Mutex     // among the takers of a shared pool
	locks  *atomic.Uint64 // counts when taking is taken
	users  []*QueuePair   // the owner's
	source *source        // of the receives' completions; its queue pair's too, unless the pool is shared
}

func newPool(d *Device, depth, maxSpans int, shared bool) *pool {
	return &pool{depth: depth, maxSpans: maxSpans, shared: shared, locks: &d.locks, source: new(source)}
}

// ringSize is how long a ring of slots must be: all that can be outstanding, and a power of two so that it wraps cheaply.
func (p *pool) ringSize() int { return powerOfTwo(p.depth) }

// powerOfTwo returns the smallest power of two that is at least n and 1.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }

func (p *pool) allocate() {
	p.slots = make([]slot, p.depth)
	p.spans = make([]driver.Span, p.depth*(p.maxSpans-1))
	p.posts = make([]uint32, p.ringSize())
	p.vacant = make([]uint32, 0, p.depth)
	for i := range p.depth {
		p.vacant = append(p.vacant, uint32(p.depth-1-i))
	}
}

// postAll adds receives. Called by the owner.
func (p *pool) postAll(list []driver.Receive) {
	if p.slots == nil {
		p.allocate()
	}
	for i := range list {
		p.post(&list[i])
	}
	p.ringWanting()
}

// post adds one receive. Package verbs posts no more than there are slots for, and no more spans than they hold; if it
// did, one receive would take the place of another.
func (p *pool) post(r *driver.Receive) {
	if len(p.vacant) == 0 || len(r.More) >= p.maxSpans {
		panic(fmt.Sprintf("soft: a receive of %d spans, most is %d, with %d of %d slots vacant", 1+len(r.More), p.maxSpans,
			len(p.vacant), p.depth))
	}
	n := p.vacant[len(p.vacant)-1]
	p.vacant = p.vacant[:len(p.vacant)-1]
	s := &p.slots[n]
	s.tag, s.bytes, s.first, s.more, s.length, s.imm = r.Tag, r.Bytes(), r.Span, len(r.More), 0, 0
	copy(p.spans[int(n)*(p.maxSpans-1):], r.More)
	at := p.posted.Load()
	p.posts[at&uint64(len(p.posts)-1)] = n
	p.posted.Store(at + 1)
}

// more returns the slot's spans after the first.
func (p *pool) more(n uint32) []driver.Span {
	return p.spans[int(n)*(p.maxSpans-1):][:p.slots[n].more]
}

// take removes the oldest posted receive and returns its slot.
func (p *pool) take() (uint32, bool) {
	if p.shared {
		p.taking.Lock()
		defer p.taking.Unlock()
		p.locks.Add(1)
	}
	at := p.taken.Load()
	if at == p.posted.Load() {
		return 0, false
	}
	n := p.posts[at&uint64(len(p.posts)-1)]
	p.taken.Store(at + 1)
	return n, true
}

// vacate makes a slot free again. Called by the owner.
func (p *pool) vacate(n uint32) { p.vacant = append(p.vacant, n) }

// addUser and removeUser keep the list of users. The last one takes the place of one that goes.
func (p *pool) addUser(q *QueuePair) {
	q.user = len(p.users)
	p.users = append(p.users, q)
}

func (p *pool) removeUser(q *QueuePair) {
	last := len(p.users) - 1
	p.users[last].user, p.users[q.user] = q.user, p.users[last]
	p.users[last] = nil
	p.users = p.users[:last]
}

// ringWanting tells the requesters that found no receive to look again. Called by the owner after posting: requesters
// raise the flags first and look for a receive afterwards, so one of the two notices.
func (p *pool) ringWanting() {
	if p.wanted.Load() == 0 {
		return
	}
	p.wanted.Store(0)
	for _, q := range p.users {
		l := q.life.Load()
		if l.wanting.Load() != 0 {
			l.wanting.Store(0)
			if q.wire != nil {
				q.wire.sayReady()
				continue
			}
			l.peer.Load().bell.ring()
		}
	}
}

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
	return &SharedReceives{domain: d, cq: c, pool: newPool(d.device, config.Depth, config.MaxSpans, true)}, nil
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
	s.pool.postAll(list)
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
	s.cq.done.withdraw(s.pool.source)
	s.domain.drop()
	return nil
}

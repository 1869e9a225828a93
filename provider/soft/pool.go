package soft

import (
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/weft-fabric/weft/verbs/driver"
)

// slot is one receive, written by the owner when it is posted. Takers write nothing but the claim: one that was evicted may
// go on at any time, when the receive is somebody else's.
type slot struct {
	claim atomic.Uint64 // who has taken it
	landing
}

// landing is the memory of a receive.
type landing struct {
	bytes uint64 // how long a message fits
	first driver.Span
	more  uint32 // further spans in pool.spans
}

// A claim is a turn, which is never the same for two posts of a slot, and in its lower half the number of the queue pair
// whose message has taken the receive: nobody while it is posted, vacated if it ended without one. The slot itself names
// its taker, so that the receive of a taker that dies at any instruction can be found and given back.
const (
	claimTaker = 1<<32 - 1
	nobody     = 0
	vacated    = claimTaker
)

// poolWords is what the owner and the takers of a pool share.
type poolWords struct {
	posted atomic.Uint64 // receives posted: up to, not including. Written by the owner
	_      [56]byte
	taken  atomic.Uint64 // where to look for the next one. Written by takers
	wanted atomic.Uint32 // 1: some end of the pool has its wanting set
	_      [52]byte
}

// pool is a table of receives, and the ring of those that are posted and not yet taken. The owner posts; requesters
// take, each inside the gate of an end that uses the pool.
type pool struct {
	*poolWords
	depth    int // receives, including those whose arrival the owner has not seen
	maxSpans int
	shared   bool
	arena    *arena

	// Allocated with the first receive, or when a peer of another process is to see them.
	slots []slot
	spans []driver.Span   // further spans of slot i from i*(maxSpans-1)
	posts []atomic.Uint32 // ring of slots in posting order. A taker that is late may look while the owner posts
	refs  poolRefs

	// holders is the owner, and every tie whose other side may still look at the pool. The last one to drop it frees it.
	holders atomic.Int32

	// takers is what is true of each slot, on the Go heap: the number of the taker, if it is of this process, nobody, or vacated.
	takers []atomic.Uint32

	// The owner's.
	tags     []driver.Tag
	fits     []uint64 // how long a message fits into each slot, as it was posted
	vacant   []uint32 // slots that are not in use
	line     []uint32 // what posts should hold: peers of other processes could write there
	count    uint64   // and what posted should be
	reported uint64   // receives of a pool that is not shared that have ended: up to, not including
	users    []*QueuePair
	shown    recentKeys
	source   *source // of the receives' completions; its queue pair's too, unless the pool is shared
}

// poolRefs is where the parts of a pool lie in the arena.
type poolRefs struct{ words, slots, spans, posts ref }

func newPool(d *Device, depth, maxSpans int, shared bool) (*pool, error) {
	p := &pool{depth: depth, maxSpans: maxSpans, shared: shared, arena: d.arena, source: new(source)}
	p.holders.Store(1)
	var err error
	p.poolWords, p.refs.words, err = placeOne[poolWords](p.arena)
	return p, err
}

// ringSize is how long a ring of slots must be: all that can be outstanding, and a power of two so that it wraps cheaply.
func (p *pool) ringSize() int { return powerOfTwo(p.depth) }

// powerOfTwo returns the smallest power of two that is at least n and 1.
func powerOfTwo(n int) int { return 1 << logarithm(uint64(max(n, 1))) }

// logarithm returns how many bits the smallest power of two has behind the one that is at least n.
func logarithm(n uint64) int { return bits.Len64(n - 1) }

// allocate makes the pool's tables, unless they are there.
func (p *pool) allocate() (err error) {
	if p.tags != nil {
		return nil
	}
	if err = placeOnce(p.arena, &p.slots, &p.refs.slots, p.depth); err != nil {
		return err
	}
	if err = placeOnce(p.arena, &p.spans, &p.refs.spans, p.depth*(p.maxSpans-1)); err != nil {
		return err
	}
	if err = placeOnce(p.arena, &p.posts, &p.refs.posts, p.ringSize()); err != nil {
		return err
	}
	p.tags = make([]driver.Tag, p.depth)
	p.fits = make([]uint64, p.depth)
	p.takers = make([]atomic.Uint32, p.depth)
	p.line = make([]uint32, len(p.posts))
	p.vacant = make([]uint32, 0, p.depth)
	for i := range p.depth {
		p.vacant = append(p.vacant, uint32(p.depth-1-i))
		p.takers[i].Store(vacated)
	}
	return nil
}

// hold keeps the pool for one more, drop ends that.
func (p *pool) hold() { p.holders.Add(1) }

func (p *pool) drop() {
	if p.holders.Add(-1) == 0 {
		p.release()
	}
}

// release gives the tables back. Nobody looks at them any more.
func (p *pool) release() {
	give[slot](p.arena, p.refs.slots, p.depth)
	give[driver.Span](p.arena, p.refs.spans, p.depth*(p.maxSpans-1))
	give[atomic.Uint32](p.arena, p.refs.posts, p.ringSize())
	give[poolWords](p.arena, p.refs.words, 1)
}

// postAll adds receives. Called by the owner.
func (p *pool) postAll(list []driver.Receive) error {
	if err := p.allocate(); err != nil {
		return err
	}
	p.showAll(list)
	for i := range list {
		p.post(&list[i])
	}
	p.posted.Store(p.count)
	p.ringWanting()
	return nil
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
	p.tags[n] = r.Tag
	s := &p.slots[n]
	s.bytes, s.first, s.more = r.Bytes(), r.Span, uint32(len(r.More))
	p.fits[n] = s.bytes
	if len(r.More) > 0 {
		copy(p.spans[int(n)*(p.maxSpans-1):], r.More)
	}
	p.takers[n].Store(nobody)
	s.claim.Store(s.claim.Load()&^claimTaker + claimTaker + 1) // the next turn, nobody's
	at := p.count & uint64(len(p.posts)-1)
	p.posts[at].Store(n)
	p.line[at] = n
	p.count++
}

// more returns the spans after the first of r, which is what slot n holds.
func (p *pool) more(n uint32, r *landing) []driver.Span {
	return p.spans[int(n)*(p.maxSpans-1):][:min(int(r.more), p.maxSpans-1)]
}

// take claims the oldest posted receive for a queue pair and returns its slot. A claim counts; the place in the ring is
// only where to look: a taker may have died, or stand still, before it moved on, and then the next one does.
//
// The taker looks at its mark after it has looked at the claim: if it was evicted before that, it takes nothing, and if
// it is evicted later, renew has changed the claim.
//
// There are never so many receives to pass by as it tries, unless another process has spoiled the words.
func (p *pool) take(taker uint32, g *gate, mark uint64) (uint32, bool) {
	const races = 1024 // that others may win meanwhile
	for tries := 0; ; tries++ {
		at := p.taken.Load()
		if at >= p.posted.Load() || tries > 2*len(p.posts)+races { // the ring may be looked at once something was posted
			return 0, false
		}
		n := p.posts[at&uint64(len(p.posts)-1)].Load()
		if int(n) >= len(p.slots) {
			return 0, false // another process has spoiled it
		}
		claim := &p.slots[n].claim
		if seen := claim.Load(); seen&claimTaker != nobody {
			p.taken.CompareAndSwap(at, at+1)
		} else if !g.holds(mark) {
			return 0, false
		} else if claim.CompareAndSwap(seen, seen|uint64(taker)) {
			p.taken.CompareAndSwap(at, at+1)
			if p.grants(n, taker) {
				return n, true
			}
		}
	}
}

// grants reports whether a claim is good: one on what is vacant, or another's, is possible if a neighbour has written what it liked to the
// words. Of a neighbour's own claims the owner finds out, when it is told what has arrived.
func (p *pool) grants(n, taker uint32) bool {
	return p.holders.Load() <= 1 || p.takers[n].CompareAndSwap(nobody, taker)
}

// taker returns the number of the queue pair that has taken a slot, or nobody, or vacated. The claim says so where no better is known.
func (p *pool) taker(n uint32) uint32 {
	if taker := p.takers[n].Load(); taker != nobody {
		return taker
	}
	return uint32(p.slots[n].claim.Load() & claimTaker)
}

// isStray reports whether a receive that is posted is claimed for a queue pair that is none of the users: a neighbour's lie.
func (p *pool) isStray(n uint32) bool {
	claimed := uint32(p.slots[n].claim.Load() & claimTaker)
	isClaimed := func(q *QueuePair) bool { return q.number == claimed }
	return claimed != nobody && p.takers[n].Load() == nobody && !slices.ContainsFunc(p.users, isClaimed)
}

// skip moves on over the receives that were taken. Called by the owner, for takers that cannot any more.
func (p *pool) skip() {
	for at := p.taken.Load(); at < p.count; at = p.taken.Load() {
		if p.taker(p.line[at&uint64(len(p.line)-1)]) == nobody {
			return
		}
		p.taken.CompareAndSwap(at, at+1)
	}
}

// mend makes the ring what the owner knows it to be, and has who found nothing there look again. A neighbour may have moved on over
// receives that nobody has taken, or to where none are, or have written what it liked to the ring itself.
func (p *pool) mend() {
	oldest, isLater := p.count, make([]bool, p.depth)
	for at := p.count; at > 0 && p.count-at < uint64(len(p.line)); {
		at--
		n := p.line[at&uint64(len(p.line)-1)]
		p.posts[at&uint64(len(p.line)-1)].Store(n)
		if !isLater[n] && p.taker(n) == nobody {
			oldest = at
		}
		isLater[n] = true // what is before is an earlier post of it, which has ended
	}
	p.posted.Store(p.count)
	p.taken.Store(oldest) // others may have taken that meanwhile: the next one moves on
	p.wanted.Store(1)
	p.ringWanting()
}

// renew makes every claim that somebody may have prepared, and not made yet, come to nothing. Called by the owner when a
// taker was evicted.
func (p *pool) renew() {
	for i := range p.slots {
		claim := &p.slots[i].claim
		if seen := claim.Load(); seen&claimTaker == nobody {
			claim.CompareAndSwap(seen, seen+claimTaker+1)
		}
	}
}

// vacate makes a slot free again. Called by the owner. What was taken is not to be had as long as its claim says so.
func (p *pool) vacate(n uint32) {
	claim := &p.slots[n].claim
	if seen := claim.Load(); seen&claimTaker == nobody {
		claim.Store(seen | vacated)
	}
	p.takers[n].Store(vacated)
	p.vacant = append(p.vacant, n)
	p.reported++
}

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
			} else if peer := l.peer.Load(); peer != nil {
				peer.bell.ring()
			}
		}
	}
}

package soft

import (
	"math"
	"sync"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// A device with a rate sends in portions. Whoever has something to send is given the next portion, and the time from which it may
// be sent: behind those of all who asked before. So connections take turns, long messages are spread evenly, and what the peer
// waits to hear is held up by no more than a portion of each connection.
const (
	portionTime = 2 * time.Millisecond
	minPortion  = 512
	maxPortion  = 256 << 10

	// catchUp is how much of the past may be made up for by who was late, or had nothing to send: all that is ever sent at once.
	catchUp = 5 * time.Millisecond
)

// pacer gives out portions. Any goroutine may call it.
type pacer struct {
	rate    uint64 // bytes a second
	portion uint64 // bytes, at most

	mu   sync.Mutex
	next clock.Time // when all portions that were given are sent
}

// newPacer returns nil for a rate of zero: then nobody asks.
func newPacer(rate uint64) *pacer {
	if rate == 0 {
		return nil
	}
	return &pacer{rate: rate, portion: max(minPortion, min(rate/uint64(time.Second/portionTime), maxPortion))}
}

// give gives a portion of size bytes, or less, and says how many and since when they may be sent.
func (p *pacer) give(size uint64, now clock.Time) (n uint64, since clock.Time) {
	n = min(size, p.portion)
	takes := (n*uint64(time.Second) + p.rate - 1) / p.rate
	p.mu.Lock()
	defer p.mu.Unlock()
	since = max(p.next, now.Add(-catchUp))
	p.next = since.Add(time.Duration(min(takes, math.MaxInt64)))
	return n, since
}

// allowance is the portion of one connection.
type allowance struct {
	left  uint64     // bytes
	since clock.Time // when they may be sent
}

// ask returns how many of size bytes may be sent now: some, or none before since.
func (a *allowance) ask(p *pacer, size uint64, now clock.Time) uint64 {
	if a.left == 0 {
		a.left, a.since = p.give(size, now)
	}
	if now < a.since {
		return 0
	}
	return min(size, a.left)
}

// spend says that n bytes were sent.
func (a *allowance) spend(n uint64) { a.left -= min(n, a.left) }

// pace cuts a batch to what may be sent now, and reports whether that is something. What tells the peer only that this end lives,
// and has heard it, is never held up.
func (w *wire) pace(p *pacer, b *batch) bool {
	if b.isOnlyWords() {
		p.give(uint64(b.size), clock.Real.Now())
		return true
	}
	b.cut(int(w.allowed.ask(p, uint64(b.size), clock.Real.Now())))
	return b.size > 0
}

// carryPaced is carry for a device with a rate. What a Read brings is the peer's to limit, who cannot.
func (q *QueuePair) carryPaced(w *waiting) verdict {
	me, r := &q.requester, &w.request
	rest := r.Bytes() - me.moved
	if rest == 0 || r.Op.IsLocal() || r.Op == driver.OpRead || r.Op.IsAtomic() {
		me.budget = copyQuantum
		return q.carry(r, w.taken)
	}
	n := me.allowed.ask(q.device.pacer, rest, clock.Real.Now())
	if n == 0 {
		return paced
	}
	me.budget = n
	v := q.carry(r, w.taken)
	me.allowed.spend(n - me.budget)
	return v
}

package soft

import (
	"fmt"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// requester is the half of a queue pair that carries requests out on the peer's memory.
type requester struct {
	peer     *life      // set when the queue pair becomes Ready
	left     uint64     // what this requester left in the peer's gate when it was last there
	recent   [4]*region // of the peer's domain, found lately; dead ones do no harm
	oldest   int        // in recent
	aimed    target     // of the last short write
	aimedKey uint64     // the remote key that names it
	backlog  backlog    // requests that could not be carried out when they were posted
	budget   uint64     // bytes that may still be copied in this turn
	owes     bool       // counts in the completion queue's owing
	watched  *life      // where the bell was last left, for an arrival; it may still be there. nil: nowhere

	// Progress of the oldest request, whether it is in the backlog or just being posted.
	moved    uint64     // bytes that have been copied
	slot     uint32     // 1 + the receive at the peer that a message has taken; 0: none yet
	deadline clock.Time // when waiting for a receive ends; 0: not waiting
	askBy    clock.Time // when waiting for a neighbour's memory ends; 0: not waiting
	seen     uint64     // who was inside this end's gate when a window's loan ended

	allowed allowance // of bytes to send, if the device has a rate
}

// reset forgets the peer. The backlog is empty, and keeps its memory.
func (r *requester) reset() { *r = requester{backlog: r.backlog} }

// begin prepares for the next request.
func (r *requester) begin() { r.moved, r.slot, r.deadline, r.askBy, r.seen = 0, 0, 0, 0, 0 }

// find returns the region of the peer's domain with a remote key, or nil. Whether it is alive is asked inside the gate.
func (r *requester) find(key uint64) *region {
	for _, known := range r.recent {
		if known != nil && known.remoteKey == key {
			return known
		}
	}
	found := r.peer.keys.find(key)
	if found != nil {
		r.remember(found)
	}
	return found
}

func (r *requester) remember(found *region) {
	r.recent[r.oldest] = found
	r.oldest = (r.oldest + 1) % len(r.recent)
}

func (r *requester) forget(key uint64) {
	for i, known := range r.recent {
		if known != nil && known.remoteKey == key {
			r.recent[i] = nil
		}
	}
}

// waiting is a request in the backlog.
type waiting struct {
	request driver.Request // its After is zero as soon as the arrival has come
	more    []driver.Span  // what request.More refers to; kept for reuse
	inline  []byte         // room for taken; kept for reuse
	taken   []byte         // the bytes of an Inline request, copied when it was posted; nil: use its spans
	after   *life          // whose arrivals a chained request waits for; nil: of a queue pair that was not there
	carried bool           // on a wire, a Bind or a Revoke: done, and to be reported in its turn
}

// backlog is a ring of requests that grows by doubling up to the queue pair's depth. Its entries keep their buffers, so
// that nothing is allocated once it has gone round.
type backlog struct {
	items []waiting
	head  int // of the oldest
	count int
}

func (b *backlog) front() *waiting { return &b.items[b.head] }

// at returns the i-th, counted from the oldest.
func (b *backlog) at(i int) *waiting { return &b.items[(b.head+i)%len(b.items)] }

func (b *backlog) pop() {
	b.head = (b.head + 1) % len(b.items)
	b.count--
}

// push adds a copy of r and returns it. It must fit into depth.
func (b *backlog) push(r *driver.Request, depth int) *waiting {
	if b.count == len(b.items) {
		b.grow(depth)
	}
	w := &b.items[(b.head+b.count)%len(b.items)]
	b.count++
	w.request = *r
	w.more = append(w.more[:0], r.More...)
	w.request.More = w.more
	w.taken, w.after, w.carried = nil, nil, false
	return w
}

// grow panics if the backlog is as long as it may be: package verbs posts no more than that.
func (b *backlog) grow(depth int) {
	if b.count >= depth {
		panic(fmt.Sprintf("soft: %d requests are outstanding in a queue pair of depth %d: no room for one more", b.count, depth))
	}
	longer := make([]waiting, min(max(2*len(b.items), 4), depth))
	n := copy(longer, b.items[b.head:])
	copy(longer[n:], b.items[:b.head])
	b.items, b.head = longer, 0
}

package soft

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft/verbs/driver"
)

// life is a queue pair from its making, or its last Reset, to the next Reset or Close: the end that the peer sees, and
// the Go side of it, which peers in this process may follow. A life is connected at most once.
//
// Of a life in another process that this one is connected to there is a view here: the same words, mapped.
type life struct {
	*end
	epoch   uint32
	number  uint32
	secret  secret  // that the peer knows it by; zero in a view
	heard   secret  // the peer's, which Connect has named; guarded by the lock of the completion queue
	domain  *Domain // nil in a view
	place   int     // among the lives of the domain; guarded by its lock
	bell    *bell
	keys    keyring      // of the domain
	loans   *loanTable   // of the queue pair
	fragile *atomic.Bool // the domain has memory that may be truncated
	pool    *pool        // where messages find their receives
	order   []arrival    // ring, in the order of arrival; allocated before the first receive can be taken

	endRef, orderRef ref
	tie              atomic.Pointer[tie] // to a neighbour (see tied); nil: the peer is not one, or there is none yet
	sight            *sight              // of a view: what its words lie in
	neighbour        *neighbour          // of a view: to the process that it lies in

	// peer is the life that the owner has named in Connect, or nil. It is set once. The connection is made when two
	// lives have named each other: each side stores its own, then looks at the other's, so one of them sees both.
	peer atomic.Pointer[life]

	chain struct {
		mu      sync.Mutex
		waiting []*bell // of queue pairs with a chained request that waits for an arrival here; may ring in vain
	}
}

// reach allocates the ring of arrivals. It holds as many as there can be receives, so it never overflows.
func (l *life) reach() (err error) {
	if l.order == nil {
		l.order, l.orderRef, err = placeMany[arrival](l.domain.device.arena, l.pool.ringSize())
	}
	return err
}

// arrival is a message that has taken a receive, and how that came out. It lies in the ring of its own connection.
type arrival struct {
	slot   uint32
	length uint32 // of the message
	imm    uint32
	op     driver.Op
	status driver.Status
}

// arrive publishes the next arrival: that of a request op of length bytes in the receive of a slot. Called by the peer's
// requester, inside the gate. The fields are stored where they stay, as by CompletionQueue.report.
func (l *life) arrive(op driver.Op, imm uint32, slot uint32, length uint64, status driver.Status) {
	if status != driver.OK {
		length = 0
	}
	if op == driver.OpSend {
		imm = 0
	}
	n := l.arrived.Load()
	a := &l.order[n&uint64(len(l.order)-1)]
	a.slot, a.length, a.imm, a.op, a.status = slot, uint32(length), imm, op.Arrived(), status
	l.arrived.Store(n + 1)
}

// announce tells everybody who may care that a message has arrived or that the phase has changed: the owner, and the
// requests that are chained to an arrival.
func (l *life) announce() {
	l.bell.ring()
	if l.neighbour == nil { // elsewhere, the owner tells
		l.announceChained()
	}
}

// announceChained is announce for when the owner knows.
func (l *life) announceChained() {
	if l.watched.Load() != 0 {
		l.ringChained()
	}
}

// ringChained rings everybody who waits, and forgets them: who still waits afterwards watches again.
func (l *life) ringChained() {
	l.chain.mu.Lock()
	defer l.chain.mu.Unlock()
	l.domain.device.locks.Add(1)
	l.watched.Store(0)
	for _, b := range l.chain.waiting {
		b.ring()
	}
	clear(l.chain.waiting) // a bell left behind the end would keep its completion queue
	l.chain.waiting = l.chain.waiting[:0]
}

// watch has b rung at the next arrival or change of phase. Who calls it must look once more afterwards.
func (l *life) watch(b *bell) {
	l.chain.mu.Lock()
	defer l.chain.mu.Unlock()
	l.domain.device.locks.Add(1)
	if !slices.Contains(l.chain.waiting, b) {
		l.chain.waiting = append(l.chain.waiting, b)
		l.watched.Store(1)
	}
}

// unwatch takes b away, if it is still there.
func (l *life) unwatch(b *bell) {
	l.chain.mu.Lock()
	defer l.chain.mu.Unlock()
	l.domain.device.locks.Add(1)
	if i := slices.Index(l.chain.waiting, b); i >= 0 {
		l.chain.waiting = slices.Delete(l.chain.waiting, i, i+1)
	}
}

// breakPeer moves the other end to Failed or Orphaned too, and tells it.
func (l *life) breakPeer(to phase) {
	if p := l.peer.Load(); p != nil && p.peer.Load() == l && p.breakTo(to) {
		p.announce()
	}
}

// finish ends the life for good, whatever its phase, and orphans the peer.
func (l *life) finish() {
	l.phaseWord.Store(uint32(phaseOver))
	l.announceChained()
	l.breakPeer(phaseOrphaned)
}

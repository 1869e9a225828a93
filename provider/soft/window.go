package soft

import (
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Window is what a piece of memory is lent through to the peer of its queue pair. It implements driver.Window. What changes
// is guarded by the lock of the queue pair's completion queue.
//
// Its loan stands in a table of its own queue pair, and a requester looks only in that of its peer: so a key is of no use
// through another queue pair.
type Window struct {
	q      *QueuePair
	loan   *loan
	index  uint32 // of the loan
	number uint32
	closed bool
}

// windows is the windows of a queue pair. The table is kept from one life to the next.
type windows struct {
	table  loanTable
	open   map[uint32]*Window // by number
	last   uint32             // number that was given
	used   uint32             // indexes that were ever given: up to, not including
	vacant []uint32           // of those, the ones that are free
	random *rand.ChaCha8
}

// NewWindow makes a window through which nothing is lent yet.
func (q *QueuePair) NewWindow() (driver.Window, error) {
	if err := q.enter(); err != nil {
		return nil, err
	}
	defer q.cq.exit()
	w := &Window{q: q}
	if err := q.windows.add(q.device.arena, w); err != nil {
		return nil, q.errorf("new window: %w", err)
	}
	q.windows.table.show(q.life.Load())
	return w, nil
}

// add gives w its number and its loan.
func (s *windows) add(a *arena, w *Window) (err error) {
	if s.last+1 == 0 {
		return fmt.Errorf("%d windows were made: %w", s.last, driver.ErrLimit)
	}
	if s.open == nil {
		s.begin()
	}
	w.index = s.used
	if n := len(s.vacant); n > 0 {
		w.index = s.vacant[n-1]
	}
	if w.loan, err = s.table.take(a, w.index); err != nil {
		return err
	}
	if n := len(s.vacant); n > 0 {
		s.vacant = s.vacant[:n-1]
	} else {
		s.used++
	}
	s.last++
	w.number = s.last
	s.open[w.number] = w
	return nil
}

// begin seeds a generator that nobody can predict: a key is a capability.
func (s *windows) begin() {
	var seed [32]byte
	crand.Read(seed[:])
	s.open, s.random = make(map[uint32]*Window), rand.NewChaCha8(seed)
}

// endAll ends what is lent. Nobody is inside the gate any more.
func (s *windows) endAll() {
	for _, w := range s.open {
		w.loan.key.Store(0)
	}
}

// close ends all windows of a queue pair that is closed.
func (s *windows) close(a *arena) {
	for _, w := range s.open {
		w.closed = true
	}
	s.open = nil
	s.table.give(a)
}

// Number names the window among all that its queue pair ever had.
func (w *Window) Number() uint32 { return w.number }

// NextKey draws a key. It is random, and long enough not to be drawn twice.
func (w *Window) NextKey() uint64 {
	return lentKey(w.q.windows.random.Uint64(), w.index)
}

// Close ends what is lent. It waits for the peer to leave the gate, which takes no longer than copying a quantum.
func (w *Window) Close() error {
	w.q.cq.mu.Lock()
	defer w.q.cq.mu.Unlock()
	if w.closed {
		return fmt.Errorf("soft: close window %d of queue pair %d: already %w", w.number, w.q.number, driver.ErrClosed)
	}
	w.closed = true
	w.loan.key.Store(0)
	w.q.life.Load().awaitLeft() // also if a Revoke has begun to
	set := &w.q.windows
	delete(set.open, w.number)
	set.vacant = append(set.vacant, w.index)
	return nil
}

// carryLocal binds or revokes. If the window was closed meanwhile, nothing is left to be done: what a Bind would have opened is
// closed.
func (q *QueuePair) carryLocal(r *driver.Request) verdict {
	w := q.windows.open[uint32(r.Compare)]
	switch {
	case w == nil:
		return verdict(driver.OK)
	case r.Op == driver.OpBind:
		return w.bind(r)
	}
	return w.revoke()
}

// bind opens a piece of memory to the peer. If the memory is being closed just now, it is found dead by who comes.
func (w *Window) bind(r *driver.Request) verdict {
	local := w.q.domain.keys.local(r.Span.Key)
	if r.Span.Length == 0 || !local.covers(r.Span) || w.loan.key.Load() != 0 {
		return verdict(driver.LocalProtection)
	}
	w.loan.open(local, r.Span, driver.Access(r.Swap), r.Remote.Key)
	return verdict(driver.OK)
}

// revoke ends what is lent, and then waits for the one visitor who may have found it still there. On a wire there is none:
// who looks there for the peer holds the lock that is held now.
func (w *Window) revoke() verdict {
	q := w.q
	l, me := q.life.Load(), &q.requester
	if w.loan.key.Swap(0) != 0 && q.wire == nil {
		me.seen = l.gate.look()
	}
	if !l.left(me.seen) {
		return again
	}
	return verdict(driver.OK)
}

// isRevoked reports whether a request is a Revoke that has begun, and whose visitor has left.
func (q *QueuePair) isRevoked(r *driver.Request) bool {
	if r.Op != driver.OpRevoke {
		return false
	}
	w := q.windows.open[uint32(r.Compare)]
	return w != nil && w.loan.key.Load() == 0 && q.life.Load().left(q.requester.seen)
}

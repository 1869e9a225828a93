package ibv

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// window lends memory to the peer of its queue pair (InfiniBand: a memory window of type 2). Its key is an index of the device's and eight
// bits that change with every Bind, so that it can be guessed, and comes again after 256 times. What protects is that the device
// ties the window to the queue pair: nobody but its peer can use the key, and the peer reaches by it what is lent to it now, and nothing else.
type window struct {
	pair   *queuePair
	number uint32
	drawn  uint32 // the last key that was drawn
	isUsed bool   // something was given to the device for it:
	last   uint32 // the request
	call   uint32 // of those by which the queue pair gives, the one that bound it last

	// Guarded by the domain's mu: memory may be closed by any goroutine.
	native *native.Window // nil: memory that was lent was closed, and the window with it
	isLent bool           // a Bind was given to the device, and no Revoke behind it
	loans  []loan         // from Bind until the end of Revoke, the oldest first
}

// loan is what was lent by one Bind.
type loan struct {
	key     uint32        // of the memory
	piece   native.Memory // registered for this alone,
	isApart bool          // or the memory's own registration is used
}

func (l *loan) end() error {
	if !l.isApart {
		return nil
	}
	return l.piece.Close()
}

// NewWindow makes a window for the peer.
func (q *queuePair) NewWindow() (driver.Window, error) {
	d := q.domain
	if d.device.lost.Load() {
		return nil, d.device.errLost()
	}
	if !d.device.lends {
		return nil, fmt.Errorf("%v has no memory windows of type 2: %w", d.device.choice, driver.ErrNotSupported)
	}
	n, err := d.native.NewWindow()
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return nil, fmt.Errorf("%w: the library has no memory windows for %v: %w", err, d.device.choice, driver.ErrNotSupported)
	}
	if err != nil {
		return nil, explainLimit(err)
	}
	q.lastWindow++
	w := &window{pair: q, number: q.lastWindow, native: n, drawn: n.Key}
	if q.windows == nil {
		q.windows = make(map[uint32]*window)
	}
	q.windows[w.number] = w
	d.mu.Lock()
	defer d.mu.Unlock()
	d.windows[w] = struct{}{}
	return w, nil
}

// Number names the window.
func (w *window) Number() uint32 { return w.number }

// NextKey draws the key of the next Bind. A window that has ended with memory that it lent begins anew; if it cannot, the Bind will fail.
func (w *window) NextKey() uint64 {
	d := w.pair.domain
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.native == nil {
		if n, err := d.native.NewWindow(); err == nil {
			w.native, w.drawn = n, n.Key
		}
	}
	w.drawn = native.NextKey(w.drawn)
	return uint64(w.drawn)
}

// Close ends what is lent. It needs no queue pair that works.
func (w *window) Close() error {
	d := w.pair.domain
	delete(w.pair.windows, w.number) // what is held for it does nothing from now on
	w.await()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.windows, w)
	return d.device.forgive(w.end())
}

// await lets the device do what it was given for the window: it would fail the queue pair if the window were gone by then. This is soon,
// unless the queue stands still: then the queue pair fails here.
func (w *window) await() {
	q := w.pair
	limit := clock.Real.Now().Add(drainLimit)
	for w.isUsed && q.state == driver.Ready && q.requests.has(w.last) {
		if clock.Real.Now() > limit {
			q.fail(0)
			return
		}
		q.queue.gather()
	}
}

// end unbinds the window, and only then ends what it was bound to.
func (w *window) end() error {
	if w.native == nil {
		return nil
	}
	err := w.native.Close()
	for i := range w.loans {
		err = errors.Join(err, w.loans[i].end())
	}
	w.native, w.loans, w.isLent = nil, nil, false
	return err
}

// endLoans ends the windows through which a memory is lent: no device lets go of memory that a window is bound to.
func (d *domain) endLoans(key uint32) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for w := range d.windows {
		if w.lends(key) {
			err = errors.Join(err, w.end())
		}
	}
	return err
}

func (w *window) lends(key uint32) bool {
	return slices.ContainsFunc(w.loans, func(l loan) bool { return l.key == key })
}

// fillLocal writes a Bind or a Revoke where the device reads it, behind n others, and returns how many are to be given then. The domain is
// locked.
func (q *queuePair) fillLocal(n int, r *driver.Request) (int, error) {
	number := uint32(r.Compare)
	w := q.windows[number]
	switch {
	case w == nil && (number == 0 || number > q.lastWindow):
		return n, fmt.Errorf("%v through window %d, which never was: %w", r.Op, number, driver.ErrArgument)
	case w == nil || r.Op == driver.OpRevoke && !w.isLent: // it was closed, or ended with its memory
		return q.fillNothing(n, r)
	case r.Op == driver.OpRevoke:
		q.fillRevoke(n, r, w)
		return n + 1, nil
	case w.isLent || w.native == nil || uint32(r.Remote.Key)>>8 != w.native.Key>>8:
		return n, fmt.Errorf("%v through window %d, which lends something, or has ended with what it lent: %w", r.Op, number, driver.ErrArgument)
	}
	memory, err := w.lend(r.Span)
	if err != nil {
		return n, err
	}
	return q.fillBind(n, r, w, memory)
}

func (q *queuePair) fillRevoke(n int, r *driver.Request, w *window) {
	to := &q.native.Sends[n]
	to.ID, to.Flags = q.label(n, r)
	to.Unbind(w.native)
	w.isLent, w.isUsed, w.last = false, true, q.requests.given+uint32(n)
}

func (q *queuePair) fillBind(n int, r *driver.Request, w *window, memory *native.Memory) (int, error) {
	if w.isUsed && w.call == q.calls { // it was bound by one of the n, and can be only once in a call
		if err := q.give(n); err != nil {
			return 0, err
		}
		n = 0
	}
	to := &q.native.Sends[n]
	to.ID, to.Flags = q.label(n, r)
	to.Bind(w.native, uint32(r.Remote.Key), memory, native.SGE{Address: r.Span.Address, Length: r.Span.Length}, accessFlags(driver.Access(r.Swap)))
	w.call, w.isLent, w.isUsed, w.last = q.calls, true, true, q.requests.given+uint32(n)
	return n + 1, nil
}

// lend returns what the window is to be bound to, and notes it.
//
// On a software device this is a registration of the piece alone, which ends when the piece is taken back. Soft-RoCE (Linux 6.1) compares
// an address with the bounds of the memory, not of the window: the peer would reach all of the memory. And a packet that has passed
// the check may be landing yet when the window is unbound; but it holds the registration, and deregistering waits for it.
func (w *window) lend(s driver.Span) (*native.Memory, error) {
	d := w.pair.domain
	whole, found := d.find(s)
	if !found {
		return nil, fmt.Errorf("lend %d bytes at %#x that are in no memory of the domain: %w", s.Length, s.Address, driver.ErrArgument)
	}
	w.loans = append(w.loans, loan{key: s.Key, isApart: d.device.isSoftware()})
	last := &w.loans[len(w.loans)-1]
	if !last.isApart {
		return whole.local, nil
	}
	if err := d.registerInto(&last.piece, bytesOf(s), d.localAccess()); err != nil {
		w.loans = w.loans[:len(w.loans)-1]
		return nil, err
	}
	return &last.piece, nil
}

// revoked is called when the device has unbound a window from the oldest that it was bound to.
func (q *queuePair) revoked(number uint32) {
	d := q.domain
	d.mu.Lock()
	defer d.mu.Unlock()
	w := q.windows[number]
	if w == nil || len(w.loans) == 0 {
		return // it was closed meanwhile
	}
	q.noteTakenBack(w.loans[0].end())
	w.loans = slices.Delete(w.loans, 0, 1)
}

// takeBack ends a window and all that it lends, without the queue pair.
func (q *queuePair) takeBack(number uint32) {
	d := q.domain
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := q.windows[number]; w != nil {
		q.noteTakenBack(w.end())
	}
}

func (q *queuePair) noteTakenBack(err error) {
	if err = q.domain.device.forgive(err); err != nil {
		q.domain.device.log.Error("what was lent on an RDMA device could not be taken back", "device", q.domain.device.Name(), "reason", err)
	}
}

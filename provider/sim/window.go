package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weft-fabric/weft/verbs/driver"
)

// maxWindows is how many windows a queue pair has at most.
const maxWindows = 1 << 16

// windows are those of one queue pair, and what is lent through them. The zero value has none.
//
// Invariant: a window stands in lent, under its key, if and only if something is lent through it. So whoever finds it there
// may use it, as far as its memory is open.
type windows struct {
	open    []*window          // sorted by number
	lent    map[uint64]*window // for look-up only
	numbers uint32             // handed out so far
}

// window is what a piece of memory is lent through to the peer of its queue pair.
type window struct {
	pair   *queuePair
	memory *memory
	offset uint64 // of the first byte that is lent
	length uint64
	key    uint64 // 0: nothing is lent
	number uint32
	access driver.Access
	closed bool
}

// NewWindow makes a window for whoever is the peer when something is lent through it.
func (q *queuePair) NewWindow() (driver.Window, error) {
	if err := q.usable(); err != nil {
		return nil, err
	}
	if q.windows == nil {
		q.windows = &windows{lent: make(map[uint64]*window)}
	}
	all := q.windows
	if len(all.open) == maxWindows || all.numbers == math.MaxUint32 {
		return nil, fmt.Errorf("sim: %s has %d windows of %d, and has had %d of %d: %w", q.name(), len(all.open), maxWindows,
			all.numbers, uint32(math.MaxUint32), driver.ErrLimit)
	}
	all.numbers++
	w := &window{pair: q, number: all.numbers}
	all.open = append(all.open, w)
	return w, nil
}

// Number names the window among those of its queue pair.
func (w *window) Number() uint32 { return w.number }

// NextKey draws a key. It is none that opens something already.
func (w *window) NextKey() uint64 {
	q := w.pair
	for {
		key := q.fabric.random.Uint64()
		if key != 0 && q.device.keys[key] == nil && q.windows.lent[key] == nil {
			return key
		}
	}
}

// Close ends what is lent, at this instant. What stands in the queue for the window will find it gone.
func (w *window) Close() error {
	q := w.pair
	if q.device.dead {
		return q.device.crashed()
	}
	if w.closed {
		return fmt.Errorf("sim: window %d of %s is closed already", w.number, q.name())
	}
	w.closed = true
	q.windows.takeBack(w)
	i, _ := q.windows.place(w.number)
	q.windows.open = slices.Delete(q.windows.open, i, i+1)
	return nil
}

// place is where the open window with a number stands, or would stand, and whether it does.
func (all *windows) place(number uint32) (int, bool) {
	return slices.BinarySearchFunc(all.open, number, func(w *window, n uint32) int { return cmp.Compare(w.number, n) })
}

// find returns the open window with a number, or nil.
func (all *windows) find(number uint32) *window {
	if i, ok := all.place(number); ok {
		return all.open[i]
	}
	return nil
}

// takeBack ends what is lent through a window, if anything is.
func (all *windows) takeBack(w *window) {
	delete(all.lent, w.key)
	w.key, w.memory = 0, nil
}

// takeBackAll ends everything that is lent.
func (q *queuePair) takeBackAll() {
	if q.windows == nil {
		return
	}
	for _, w := range q.windows.open {
		q.windows.takeBack(w)
	}
}

// serveLocal is the moment at which the NIC carries out a Bind or a Revoke. What lands from now on meets the window as it
// is now: that is the postcondition of Revoke. A window that was closed meanwhile lends nothing, and that is no failure.
func (q *queuePair) serveLocal(r *request) {
	w := q.windows.find(uint32(r.compare))
	if w != nil {
		q.windows.takeBack(w)
	}
	if r.op == driver.OpBind && !q.lend(w, r) {
		q.loseOutbound()
		q.failLocally(r, driver.LocalProtection)
		return
	}
	q.fabric.traceRequest(Changed, r)
	r.stage = done
	q.sweep()
}

// lend opens a piece of memory to the peer, through a window if there is one. It reports whether the piece is the domain's.
func (q *queuePair) lend(w *window, r *request) bool {
	piece := r.local.first
	m, offset, ok := q.local(piece)
	if !ok || w == nil {
		return ok
	}
	w.memory, w.offset, w.length = m, offset, uint64(piece.Length)
	w.key, w.access = r.remote.Key, driver.Access(r.swap)
	q.windows.lent[w.key] = w
	return true
}

// borrowed finds the memory behind a capability of a window, if that reaches n bytes and lends them for the operation.
func (q *queuePair) borrowed(s driver.RemoteSpan, n uint64, needs driver.Access) (*memory, uint64, bool) {
	if q.windows == nil {
		return nil, 0, false
	}
	w := q.windows.lent[s.Key]
	if w == nil || w.memory.closed || n > s.Length || !w.access.Allows(needs) {
		return nil, 0, false
	}
	offset := s.Address - w.memory.region.Address
	inside := offset - w.offset // of a byte before the first it has wrapped around to a huge one
	return w.memory, offset, inside <= w.length && n <= w.length-inside
}

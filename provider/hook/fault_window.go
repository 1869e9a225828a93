package hook

import (
	"errors"
	"math"

	"github.com/weft-fabric/weft/verbs/driver"
)

// revokePolls is how many polls EarlyRevoke lets pass between the completion and the end of what is lent. A poll that finds
// nothing may take a nanosecond only, and closing a window none at all; it must be long enough for a Write to land.
const revokePolls = 2000

func (f *faults) window(inner driver.Window, own driver.QueuePair) driver.Window {
	p := own.(*faultyQueuePair)
	if p.windows == nil {
		p.windows = map[uint32]*faultyWindow{}
	}
	w := &faultyWindow{Window: inner, pair: p}
	p.windows[inner.Number()] = w
	return w
}

// faultyWindow is a window that may outlive its Close, or be closed before.
type faultyWindow struct {
	driver.Window
	pair  *faultyQueuePair
	ended bool // the one inside is closed, by EarlyRevoke
}

// NextKey is one of a row if the plan says so.
func (w *faultyWindow) NextKey() uint64 {
	f := w.pair.faults
	if !f.tells(GuessableKeys, Event{}) {
		return w.Window.NextKey()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys++
	return f.keys
}

func (w *faultyWindow) Close() error {
	delete(w.pair.windows, w.Number())
	switch {
	case w.ended:
		return nil
	case w.pair.faults.tells(KeepWindow, Event{Queue: w.pair.number}):
		w.pair.leftOpen = append(w.pair.leftOpen, w.Window)
		return nil
	}
	return w.Window.Close()
}

// closeLeftOpen closes what lies have left open: a connection ends, and with it all that is lent.
func (p *faultyQueuePair) closeLeftOpen() error {
	var failed error
	for _, w := range p.leftOpen {
		failed = errors.Join(failed, w.Close())
	}
	p.leftOpen = nil
	return failed
}

func isRevoke(e Event, _ *driver.Request) bool { return e.Op == driver.OpRevoke }
func isBind(e Event, _ *driver.Request) bool   { return e.Op == driver.OpBind }

func lendForAll(_ *faultyQueuePair, _ *sent, r *driver.Request) { r.Swap = uint64(driver.RemoteAll) }

// lendAll lends the whole memory of which a piece is lent. The peer is told of the piece.
func lendAll(p *faultyQueuePair, _ *sent, r *driver.Request) {
	region := p.faults.regionOf(r.Span.Key)
	if region.Length == 0 || region.Length > math.MaxUint32 {
		return
	}
	r.Span.Address, r.Span.Length = region.Address, uint32(region.Length)
	r.Remote.Address, r.Remote.Length = region.Address, region.Length
}

// keepLent has the device lend a byte, through a window that nobody knows, where it should take something back: so the request
// has its place in the queue, and ends well.
func keepLent(p *faultyQueuePair, _ *sent, r *driver.Request) {
	piece := p.faults.anyByte()
	if piece.Length == 0 {
		return
	}
	spare, err := p.QueuePair.(driver.Windows).NewWindow()
	if err != nil {
		return
	}
	p.leftOpen = append(p.leftOpen, spare)
	*r = driver.Request{Tag: r.Tag, Op: driver.OpBind, Span: piece, Compare: uint64(spare.Number()),
		Remote: driver.RemoteSpan{Address: piece.Address, Length: 1, Key: spare.NextKey()}, Swap: uint64(driver.RemoteRead)}
}

// takeBackLate closes a window some polls after the completion of its Revoke. The program may go on to use it, and lends
// nothing.
func (p *faultyQueuePair) takeBackLate(number uint32) {
	p.queue.later(revokePolls, p, func() error {
		w := p.windows[number]
		if w == nil || w.ended {
			return nil
		}
		w.ended = true
		return w.Window.Close()
	})
}

// regionOf describes the open memory with a local key, or is empty.
func (f *faults) regionOf(key uint32) driver.Region {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.memories {
		if r := m.Region(); r.LocalKey == key {
			return r
		}
	}
	return driver.Region{}
}

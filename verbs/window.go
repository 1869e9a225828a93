package verbs

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Window lends a piece of memory to the peer of one queue pair: these bytes, for this, until it is taken back (InfiniBand:
// memory window of type 2). What a memory grants it grants to whoever holds the key; what a window lends, only the peer of
// its queue pair can use. The memory's own access does not matter for it, the queue pair's does.
//
// It belongs to the goroutine that owns the queue pair's completion queue, and is closed with the queue pair.
type Window struct {
	pair     *QueuePair
	driver   driver.Window
	place    int // among the windows of the pair
	isLent   bool
	isClosed bool
}

// NewWindow makes a window for the queue pair's peer. It fails with ErrNotSupported if the device has none, ErrLimit if it
// has no more, ErrClosed after Close.
func (q *QueuePair) NewWindow() (*Window, error) {
	if q.phase == phaseClosed {
		return nil, fail(q, ErrClosed, "new window")
	}
	own, ok := q.driver.(driver.Windows)
	if !ok {
		return nil, fail(q, ErrNotSupported, "new window")
	}
	inner, err := own.NewWindow()
	if err != nil {
		return nil, fmt.Errorf("%v: new window: %w", q, err)
	}
	w := &Window{pair: q, driver: inner, place: len(q.windows)}
	q.windows = append(q.windows, w)
	return w, nil
}

func (w *Window) String() string { return fmt.Sprintf("window %d of %v", w.driver.Number(), w.pair) }

// Bind lends a piece of memory of the queue pair's domain to the peer, which may do with it what access says. It is staged
// like any request and completes as OpBind; a Send that is staged behind it may carry the remote span that is returned. It
// fails with ErrInUse if something is lent already, ErrArgument if the piece is empty, access nothing or unknown, or flags
// are other than Quiet, and as other requests do.
func (w *Window) Bind(tag Tag, piece Span, access Access, flags Flags) (RemoteSpan, error) {
	switch {
	case w.isClosed:
		return RemoteSpan{}, fail(w, ErrClosed, "bind")
	case w.isLent:
		return RemoteSpan{}, fail(w, ErrInUse, "bind: something is lent through it; Revoke first")
	case piece.Length == 0 || access == 0 || !access.Valid() || flags&^Quiet != 0:
		return RemoteSpan{}, fail(w, ErrArgument, "bind %d bytes with access %#x and flags %#x", piece.Length, uint8(access),
			uint8(flags))
	}
	r := w.pair.draft(OpBind, flags, piece)
	remote := RemoteSpan{Address: piece.Address, Length: uint64(piece.Length), Key: w.driver.NextKey()}
	r.Remote, r.Compare, r.Swap = remote, uint64(w.driver.Number()), uint64(access)
	if err := w.pair.commit(r, tag); err != nil {
		return RemoteSpan{}, err
	}
	w.isLent = true
	return remote, nil
}

// Revoke takes back what is lent. It is staged like any request, and completes as OpRevoke: from then on nothing that the
// window let in can land. A Bind may be staged behind it. It fails with ErrState if nothing is lent, ErrArgument for flags
// other than Quiet, and as other requests do.
func (w *Window) Revoke(tag Tag, flags Flags) error {
	switch {
	case w.isClosed:
		return fail(w, ErrClosed, "revoke")
	case !w.isLent:
		return fail(w, ErrState, "revoke: nothing is lent")
	case flags&^Quiet != 0:
		return fail(w, ErrArgument, "revoke with flags %#x", uint8(flags))
	}
	r := w.pair.draft(OpRevoke, flags, Span{})
	r.Compare = uint64(w.driver.Number())
	if err := w.pair.commit(r, tag); err != nil {
		return err
	}
	w.isLent = false
	return nil
}

// Close ends what is lent, at once and in whatever state the queue pair is: when it returns, nothing that the window let in
// can land any more. A Bind or Revoke that is under way completes, and lends nothing. A second Close does nothing.
func (w *Window) Close() error {
	if w.isClosed {
		return nil
	}
	w.isClosed = true
	list := w.pair.windows
	last := len(list) - 1
	list[w.place] = list[last]
	list[w.place].place = w.place
	list[last] = nil
	w.pair.windows = list[:last]
	return w.driver.Close()
}

func (q *QueuePair) closeWindows() error {
	var failed error
	for n := len(q.windows); n > 0; n = len(q.windows) {
		failed = errors.Join(failed, q.windows[n-1].Close())
	}
	return failed
}

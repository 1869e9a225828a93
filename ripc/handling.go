package ripc

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/link"
)

// handling is a call that a handler works on, and the context that ends when nobody waits for the answer any more. A message that is
// no call has one too, which ends with Serve's alone.
type handling struct {
	receiver receiver // that waits for the message: a part of it, since each call costs what is allocated here
	ctx      context.Context
	cancel   context.CancelCauseFunc
	call     call // belongs to the loop; zero: it is not under way
}

// call is a call that was made to this process, by the number that its caller has given it.
type call struct {
	link   *link.Link
	number uint64
}

func newHandling(ctx context.Context) *handling {
	h := &handling{}
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	h.receiver.handling = h
	return h
}

// untilClosed is a context that ends with another one, and with the node: when its links have ended. Else callers would hear of it as a
// failure of the service, and not look for it elsewhere.
func (n *Node) untilClosed(ctx context.Context) (until context.Context, stop func()) {
	until, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(n.over, func() { cancel(errNodeClosed) })
	return until, func() {
		forget()
		cancel(nil)
	}
}

// beginHandling notes a call that a handler is given. Its link is kept watched: it may wait for nothing else of the caller's.
func (f *office) beginHandling(h *handling, c call) {
	h.call = c
	f.handled[c] = h
	c.link.Keep(1)
	if c.link.HasEnded() { // while it lay in the queue
		h.cancel(ErrCallerGone)
	}
}

// endHandling forgets a call, if it was noted. A peer that gives two calls one number has the second of them in the table.
func (f *office) endHandling(h *handling) {
	ended := h.call
	if ended.link == nil {
		return
	}
	h.call = call{}
	if f.handled[ended] == h {
		delete(f.handled, ended)
	}
	ended.link.Keep(-1) // last: it may be what the link has waited for to end
}

// callersGone ends the contexts of handlers whose callers were at the other end of a link.
func (f *office) callersGone(over *link.Link, why error) {
	cause := fmt.Errorf("%w: %w", ErrCallerGone, why)
	if f.isClosed {
		cause = errNodeClosed
	}
	for c, h := range f.handled {
		if c.link == over {
			h.cancel(cause)
		}
	}
}

// errOverdue is how a call ends that has waited for its turn for too long.
var errOverdue = fmt.Errorf("it was not its turn before the caller's time was over: %w", context.DeadlineExceeded)

// unwanted is why nobody waits for the answer to a call any more; nil: somebody does, or it is none.
func (m *Message) unwanted() error {
	if m.isOverdue() {
		return errOverdue
	}
	if cause := context.Cause(m.handling.ctx); errors.Is(cause, ErrCallerGone) || errors.Is(cause, ErrCallerGaveUp) {
		return cause
	}
	return nil
}

// isOverdue reports whether the caller has said that it waits no longer than until now.
func (m *Message) isOverdue() bool {
	return m.head.Patience > 0 && clock.Real.Now() >= m.patientUntil()
}

// GivenUp implements link.Handler: a call that is being handled is told so, and one that nobody has received yet is received by nobody.
func (f *office) GivenUp(l *link.Link, to ID, number uint64) {
	given := call{l, number}
	if h := f.handled[given]; h != nil {
		h.cancel(ErrCallerGaveUp)
		return
	}
	var d delivery
	if s := f.services[to]; s != nil && s.arrived.Remove(func(other delivery) bool {
		d = other
		return other.call() == given
	}) {
		f.turnAway(d)
	}
}

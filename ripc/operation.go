package ripc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// Request is a message in full. What it lends is the service's to use until it has answered, has released the message, or its time is over:
// also if the caller's context has ended before. Buffers that were lent then should be released, not used again.
type Request struct {
	To         ID
	Items      [][]byte      // short: they travel in the message
	Lend       []*Buffer     // long: the receiver reads them from where they are
	Return     []*Buffer     // of a call: the service may write its answer there
	Expiry     time.Duration // how long the peer may use what is lent; 0: a minute
	Drop       bool          // of a short send: it is dropped, silently, if the receiver is not ready for it; nobody waits
	Idempotent bool          // it does no harm if it is delivered twice: it is sent again if nobody knows whether it was
}

// operation is a message on its way, and whoever waits for it. Its fields belong to the loop until it is done.
type operation struct {
	link.Outgoing
	office *office
	from   *Service // nil: the node itself
	to     ID
	name   string     // of the service, as its record says; empty: it has none, or is here
	link   *link.Link // that it was given to
	lent   []*Buffer  // kept until they are back
	line   *Line      // that the call asks for, and that is told its end; nil: none

	isIdempotent bool
	mayDrop      bool
	until        time.Time // when whoever waits for the answer gives up; zero: never
	tries        int
	lastTry      error // why that failed
	isSent       bool
	isBack       bool
	sentErr      error      // why it was not delivered, while what it lends is not back
	backErr      error      // why what it lends was not given back
	parts        int        // of a message to a group: not sent yet
	reached      bool       // one was sent
	partErr      error      // why one was not
	whole        *operation // that it is a part of; nil: it is not
	abandoned    bool       // nobody waits any more
	slot         *link.Slot
	err          error
	done         loop.Event
	room         [1]link.Piece // where Items begin: most messages have one
}

var errAbandoned = errors.New("nobody waits any more")

// newOperation makes an operation of a request.
func (n *Node) newOperation(kind wire.Type, from *Service, r *Request) *operation {
	o := &operation{office: n.office, from: from, to: r.To, isIdempotent: r.Idempotent, mayDrop: r.Drop && kind == wire.Send}
	o.Head = wire.Head{Type: kind, From: n.id, To: r.To}
	if from != nil && from.id.Kind() != wire.Group {
		o.Head.From = from.id
	}
	o.Owner, o.Expiry, o.Confirm = o, r.Expiry, kind == wire.Send && (r.Idempotent || len(r.Lend) > 0) // who waits hears what became of it
	o.Items = o.room[:0]
	for _, item := range r.Items {
		o.Items = append(o.Items, n.pool.piece(item))
	}
	o.Loans, o.Returns = o.keepAll("Lend", r.Lend), o.keepAll("Return", r.Return)
	return o
}

// keepAll retains buffers until they are back.
func (o *operation) keepAll(name string, list []*Buffer) (pieces []link.Piece) {
	for i, b := range list {
		pieces = append(pieces, o.keep(name, i, b))
	}
	return pieces
}

// keep retains one. If that was released before, perform says so.
func (o *operation) keep(name string, i int, b *Buffer) link.Piece {
	if !b.retain() {
		o.err = wasReleased(name, i)
		return link.Piece{}
	}
	o.lent = append(o.lent, b)
	return b.piece()
}

// perform sends an operation, and waits for its end.
func (n *Node) perform(ctx context.Context, o *operation) error {
	if o.err != nil {
		o.letGo()
		return o.err
	}
	if ctx.Err() != nil {
		o.letGo()
		return fmt.Errorf("%w: %w", link.ErrNotSent, ended(ctx))
	}
	if o.Head.Type == wire.Call {
		o.until, _ = ctx.Deadline()
		o.sayPatience()
	}
	if err := n.on(o.start); err != nil {
		o.letGo()
		return err
	}
	if err := n.await(ctx, &o.done); err != nil {
		return o.giveUp(err)
	}
	return o.err
}

// sayPatience has the call say how long its answer is waited for. A handler that is told too much does no harm.
func (o *operation) sayPatience() {
	if !o.until.IsZero() {
		o.Head.Patience = uint32(max(1, min(time.Until(o.until).Milliseconds()+1, math.MaxUint32)))
	}
}

// start begins it, on the loop. An answer goes where the call came from.
func (o *operation) start() {
	if o.link == nil {
		o.office.begin(o)
	} else if err := o.link.Send(&o.Outgoing); errors.Is(err, link.ErrNotSent) {
		o.finish(fmt.Errorf("%w: %w", ErrCallerGone, err))
	} else if err != nil {
		o.finish(err)
	}
}

// giveUp ends the waiting, unless it has come to an end meanwhile. Who was not patient enough for all tries hears why the last one
// failed.
func (o *operation) giveUp(why error) error {
	err := why
	_ = o.office.node.on(func() { // after Close there is nothing to end
		if o.done.IsSet() {
			err = o.err
			return
		}
		if o.lastTry != nil {
			err = fmt.Errorf("%w; the last of %d tries: %s", why, o.tries, o.lastTry.Error()) // not wrapped: the next one might have succeeded
		} else if o.Head.Type == wire.Call && o.IsPosted() {
			err = fmt.Errorf("no answer: %w", why)
		}
		if o.abandon(why) && o.tries == 0 {
			err = fmt.Errorf("%w: %w", o.office.notSent(), err)
		}
	})
	return err
}

// notSent is that a message was not sent, and why if the program itself is in the way: it has room for no answer.
func (f *office) notSent() error {
	if held := f.hub.Held(); held > 0 {
		return fmt.Errorf("%w: %d messages of this node were received and not released (Message.Release)", link.ErrNotSent, held)
	}
	return link.ErrNotSent
}

// abandon takes it back from wherever it is, and reports whether it surely was not sent. A service that is called is told, unless the
// call has said how long it waits.
func (o *operation) abandon(why error) (isTakenBack bool) {
	o.abandoned = true
	switch {
	case o.link == nil: // who has it next drops it
	case o.link.Cancel(&o.Outgoing):
		o.finish(errAbandoned)
		return true
	case !o.until.IsZero() && errors.Is(why, context.DeadlineExceeded):
		o.link.Abandon(&o.Outgoing)
	default:
		o.link.GiveUp(&o.Outgoing)
	}
	if o.isBack {
		o.finish(errAbandoned) // its answer is all that was waited for, and nobody is told of that any more
	}
	return false
}

// Sent implements link.Owner.
func (o *operation) Sent(_ *link.Outgoing, err error) {
	if err != nil && o.lends() && o.IsPosted() && !o.isBack {
		o.sentErr = err // nothing of it may be under way when it is sent again
		return
	}
	if err != nil {
		o.failed(err)
		return
	}
	o.isSent = true
	o.complete()
}

func (o *operation) lends() bool { return len(o.Loans)+len(o.Returns) > 0 }

// Answered implements link.Owner.
func (o *operation) Answered(_ *link.Outgoing, s *link.Slot, err error) {
	if err != nil {
		o.failed(err)
		return
	}
	o.slot = s
	o.complete()
}

// Returned implements link.Owner.
func (o *operation) Returned(_ *link.Outgoing, err error) {
	o.isBack, o.backErr = true, err
	switch {
	case o.abandoned:
		o.finish(errAbandoned)
	case o.sentErr != nil && o.slot == nil: // the answer may have been faster
		o.link.Disown(&o.Outgoing) // the NIC reads nothing of it: it was taken back behind it
		o.failed(o.sentErr)
	default:
		o.complete()
	}
}

// complete ends the operation when everything has come that belongs to it.
func (o *operation) complete() {
	isCall := o.Head.Type == wire.Call
	if !o.isSent || isCall && o.slot == nil || o.lends() && !o.isBack || o.done.IsSet() {
		return
	}
	if !isCall && o.backErr != nil { // who has answered a call has had what it needs
		o.failed(o.backErr)
		return
	}
	if code, refused := o.refusal(); refused {
		o.slot.Release()
		o.slot = nil
		o.refused(code)
		return
	}
	o.finish(nil)
}

// refusal is the code of an answer that is none.
func (o *operation) refusal() (wire.Code, bool) {
	if o.slot == nil {
		return 0, false
	}
	m := &o.office.message
	if err := m.Take(o.slot.Bytes()); err != nil {
		return wire.Failed, true // it was looked at before: somebody has written to it since
	}
	return m.Head.Code, m.Head.Type == wire.Refusal
}

// refused looks for a service elsewhere that was not where it was thought to be: it was not delivered, so it may be sent again.
func (o *operation) refused(code wire.Code) {
	if code != wire.NotHere && code != wire.Moved {
		o.finish(refusal(code))
		return
	}
	o.office.route(o.to).forget()
	o.tryAgain(refusal(code))
}

// failed hears that the link has ended. What was surely not delivered is sent again, and so is what may be delivered twice.
func (o *operation) failed(err error) {
	var refused *link.RefusedError
	if errors.As(err, &refused) {
		o.refused(refused.Code)
		return
	}
	mayRepeat := o.Head.Type != wire.Answer && o.whole == nil && (o.isIdempotent || errors.Is(err, link.ErrNotSent))
	if !mayRepeat || errors.Is(err, link.ErrTooLarge) || errors.Is(err, link.ErrExpired) {
		o.finish(err)
		return
	}
	o.tryAgain(err)
}

// forbidden hears that the process that its record leads to may not have the service. Whoever has told the record is not believed
// again.
func (o *operation) forbidden(p *peer) {
	o.office.node.log.Warn("a record leads to a process that may not have the service", "service", o.name, "process", p.node, "owner", p.owner)
	o.office.route(o.to).forget()
	o.finish(fmt.Errorf("%w: it was found at a process of %q, whose certificate does not list it", ErrForbidden, p.owner))
}

// unreached hears that the process could not be reached. If that is because nothing leads from one device to the other, as they are, or
// because the one does not let the other in, it is not tried again: that does not change by itself.
func (o *operation) unreached(err error) {
	err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	if errors.Is(err, verbs.ErrArgument) || errors.Is(err, ErrForbidden) {
		o.finish(err)
		return
	}
	o.tryAgain(err)
}

// maxTries is how often a message is sent before its service is given up: within about three seconds.
const maxTries = 16

// tryAgain begins anew, after a pause that grows: whoever moves a service needs a moment.
func (o *operation) tryAgain(why error) {
	if o.tries++; o.tries >= maxTries || o.abandoned || o.office.isClosed || o.whole != nil {
		o.finish(why)
		return
	}
	o.lastTry = why
	n, wait := o.office.node, time.Duration(0)
	if o.tries > 1 {
		wait = min(time.Millisecond<<o.tries, 250*time.Millisecond)
	}
	n.runs.Go(func() {
		_ = pause.For(n.ctx, wait)
		_ = n.on(o.anew) // after Close nobody waits
	})
}

// anew begins once more, when whoever has told the end before has finished with it.
func (o *operation) anew() {
	o.Outgoing.Reset()
	o.link, o.isSent, o.isBack, o.sentErr, o.backErr = nil, false, false, nil, nil
	o.sayPatience()
	o.office.begin(o)
}

// finish ends the operation.
func (o *operation) finish(err error) {
	if o.done.IsSet() {
		return
	}
	if err != nil && o.slot != nil {
		o.slot.Release()
		o.slot = nil
	}
	o.err = o.office.blame(err)
	o.letGo()
	o.done.Set()
	if o.whole != nil {
		o.whole.reached = o.whole.reached || err == nil
		o.whole.partEnded(err)
	}
	if o.line != nil {
		o.line.answered(o)
	}
}

// letGo releases what was kept.
func (o *operation) letGo() {
	for _, b := range o.lent {
		b.Release()
	}
	o.lent = nil
}

package link

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// Send sends o as soon as it can: at once, or when the peer has let more come. The error says what is wrong with o; all else
// its owner is told.
func (l *Link) Send(o *Outgoing) error {
	if l.state == ended {
		return fmt.Errorf("%w: the link is %w", ErrNotSent, ErrClosed)
	}
	if err := o.check(l.limitNow()); err != nil {
		return err
	}
	if l.IsLeaving() && o.isForService() {
		return fmt.Errorf("%w: the link is being left", ErrNotSent)
	}
	if o.Head.Type == wire.Refusal {
		if err := l.admitRefusal(o); err != nil {
			return err
		}
	}
	if l.aside != nil && l.setAside(o) {
		return nil
	}
	if l.state == ready && !l.pending && o.Until == 0 { // nothing has to go first
		if slot := l.begin(o); slot != nil {
			l.transmit(o, slot)
			return nil
		}
	}
	l.queue(o)
	return nil
}

// admitRefusal ends the link of a peer that sends to nobody, and does not take what it is told.
func (l *Link) admitRefusal(o *Outgoing) error {
	if l.urgent.Len()+l.refused.Len() >= maxRefusals {
		l.violated("%d messages that were refused, and no room for the refusals", maxRefusals)
		return fmt.Errorf("%w: the link is %w", ErrNotSent, ErrClosed)
	}
	if o.refusesSend() {
		l.refused.Push(l.taken) // it is the last that came
	}
	return nil
}

func (l *Link) queue(o *Outgoing) {
	l.pending = true
	if o.needsCredit() {
		l.waiting.Push(o)
	} else {
		l.urgent.Push(o)
	}
	l.watch() // it may be all that waits for the peer
	l.pump()
}

// maxRefusals is how many a peer can have wait that sends to nobody, and does not take what it is told.
const maxRefusals = 1024

// limitNow is the limit, or our own as long as the peer's is not known: what turns out to be too large then, its owner is told.
func (l *Link) limitNow() int {
	if l.limit == 0 {
		return l.hub.config.SlotSize
	}
	return l.limit
}

// MaySend reports whether a short message to a service would be sent at once.
func (l *Link) MaySend(to wire.ID) bool {
	return l.state == ready && !l.IsLeaving() && l.waiting.Empty() && l.aside[to] == nil && l.maySend() && l.pair.Room() > 1
}

// Cancel takes o back if it has not been sent, and reports whether that was so. Its owner is told nothing then.
func (l *Link) Cancel(o *Outgoing) bool {
	fits := func(other *Outgoing) bool { return other == o }
	for queue := range l.unsent() {
		if queue.Remove(fits) {
			return true
		}
	}
	return l.urgent.Remove(fits)
}

// Abandon says that the owner of a message does not want its answer any more. What it lends stays until the peer is done with it, or its
// time is over: a peer that uses what was taken back breaks the link, and cannot know that nobody waits.
func (l *Link) Abandon(o *Outgoing) { o.abandoned = true }

// TakeBack takes back what a message lends, which the peer must not use any more.
func (l *Link) TakeBack(o *Outgoing) {
	if l.state != ended {
		l.takeBack(&o.loans, o)
		l.takeBack(&o.returns, o)
	}
}

// IsPosted reports whether the NIC has the message. Items that were copied are the program's again.
func (o *Outgoing) IsPosted() bool { return o.isPosted }

// pump sends what can be sent. It is called whenever something may have made that possible, and most often nothing waits.
func (l *Link) pump() {
	if l.pending {
		l.pumpAll()
	}
}

func (l *Link) pumpAll() {
	if l.state != ready {
		return
	}
	l.pumpRevokes()
	l.pumpStops()
	l.pumpQueue(&l.urgent)
	l.pumpQueue(&l.waiting)
	l.pumpPulls()
	l.pending = l.leaves || l.unregulated || !l.urgent.Empty() || !l.waiting.Empty() || !l.revokes.Empty() || !l.pulls.Empty()
	l.pumpWord()
	l.pumpFarewell()
}

// pumpQueue sends from a queue until something is in the way. A message is off the queue before its owner is told, who may want to send
// something else.
func (l *Link) pumpQueue(queue *fifo.Queue[*Outgoing]) {
	for l.state == ready && !queue.Empty() {
		o := queue.Front()
		if o.Until > 0 && l.hub.config.Loop.Now() >= o.Until {
			o.Until = 0
			o.Owner.(LateOwner).Late(o)
			continue // the owner may have used the link, and it is not the first any more
		}
		slot := l.begin(o)
		if slot == nil {
			return
		}
		queue.Pop()
		l.transmit(o, slot)
	}
}

// begin takes what it needs to send o: room, a credit, a slot and, for a call, a receive to keep for its answer. It returns nil if
// something is not there.
func (l *Link) begin(o *Outgoing) *Slot {
	if l.pair.Room() < o.requests() || o.needsCredit() && !l.maySend() || o.Head.Type == wire.Call && l.calls.len() >= l.hub.maxCalls() {
		return nil
	}
	slot := l.hub.scratch
	if !l.takesCell(o) {
		slot = l.takeSlot()
	}
	if slot != nil && o.Head.Type == wire.Call && !l.hub.promise(1) {
		l.hub.leaving.give(slot)
		l.retryIn()
		return nil
	}
	return slot
}

// maxCalls is how many calls of a link may wait for their answers, those that were given up included. A peer that answers none of them
// has not all receives kept for it: there are others.
func (h *Hub) maxCalls() int { return h.config.MaxSlots / 2 }

// takeSlot returns room for a message, or nil if there is none yet.
func (l *Link) takeSlot() *Slot {
	slot := l.hub.leaving.take()
	if slot == nil {
		l.retryIn()
	}
	return slot
}

// retryDelay is how long a link waits for what all links of its hub share, before it looks again.
const retryDelay = 200 * time.Microsecond

// retryIn has the link look again: it may be another one that gives back what is missing here, and nobody tells this one.
func (l *Link) retryIn() {
	if !l.retrySet {
		l.retrySet = true
		l.hub.port.After(retryDelay, tagRetry<<kindShift|l.number())
	}
}

func (l *Link) stepRetry() {
	l.retrySet = false
	l.pump()
}

// transmit sends a message, and notes what that has begun.
func (l *Link) transmit(o *Outgoing, slot *Slot) {
	if err := l.put(o, slot); err != nil {
		l.giveUp(o, slot, err)
		return
	}
	o.isPosted = true
	if o.needsCredit() {
		l.credits.sent++
	}
	switch o.Head.Type {
	case wire.Send:
		l.remember(o)
	case wire.Call:
		l.calls.put(o.Head.Number, o)
		l.watch()
	}
}

// giveUp tells the owner of a message that it cannot be sent.
func (l *Link) giveUp(o *Outgoing, slot *Slot, why error) {
	l.hub.leaving.give(slot)
	if o.Head.Type == wire.Call {
		l.hub.promised--
	}
	o.sent(fmt.Errorf("%w: %w", ErrNotSent, why))
}

func (h *Hub) stepSent(slot *Slot, c *verbs.Completion) {
	l, o := slot.link, slot.out
	if l == nil {
		return // its link has ended, and has given it back
	}
	if c.Status != verbs.OK {
		l.fail(completionError(c))
		return
	}
	l.flight.Pop()
	h.leaving.give(slot)
	if o != nil && !o.Confirm {
		o.sent(nil)
	}
	l.pump()
}

// sent tells the owner, and goes on with what had to wait for it. A message that was answered was sent, whatever else is heard
// of it.
func (o *Outgoing) sent(err error) {
	o.isSent = true
	if o.answer != nil {
		err = nil
	}
	o.Owner.Sent(o, err)
	o.deliver()
}

// stepWritten hears only of what has failed, and of what took the last room that there was.
func (l *Link) stepWritten(c *verbs.Completion) {
	if err := completionError(c); err != nil {
		l.fail(err)
		return
	}
	l.pump()
}

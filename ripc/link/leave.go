package link

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/wire"
)

// errLeft is how a link ends that both ends have left.
var errLeft = errors.New("both ends have left")

// Leave ends the link well. The peer is told, sends nothing new, and leaves too; what is under way comes to its end, answers are
// still sent, and then the link ends. Messages of a link come in order, so that the peer's farewell is the last of them.
func (l *Link) Leave() {
	if l.state == ready && !l.leaves {
		l.leaves, l.pending = true, true
		l.giveBack(whyNotWhenLeaving)
		l.pump()
	}
}

// IsLeaving reports whether one of the two ends has said farewell: nothing new is sent.
func (l *Link) IsLeaving() bool { return l.leaves || l.peerLeaves }

// IdleFor is for how long nothing has come or gone, and nothing is under way; 0 if something is. It counts from the first call that
// finds it so.
func (l *Link) IdleFor(now clock.Time) time.Duration {
	if l.state != ready || l.IsLeaving() || !l.IsIdle() {
		return 0
	}
	if uses := l.posts + l.arrivals; uses != l.idleUses {
		l.idleSince, l.idleUses = now, uses
	}
	return now.Sub(l.idleSince)
}

// whyNotWhenLeaving: what has not been sent will not be, but refusals are: else what they refuse would pass for delivered.
func whyNotWhenLeaving(o *Outgoing) error {
	if o.refusesSend() {
		return nil
	}
	return fmt.Errorf("%w: the link is being left", ErrNotSent)
}

// giveBack tells the owners of what waits why it will not be sent, if there is a reason. The rest waits by then: an owner may send more,
// or close the link.
func (l *Link) giveBack(whyNot func(*Outgoing) error) {
	var back []*Outgoing
	for queue := range l.unsent() {
		for _, o := range queue.Drain() {
			if whyNot(o) == nil {
				queue.Push(o)
			} else {
				back = append(back, o)
			}
		}
	}
	for _, o := range back {
		o.sent(whyNot(o))
	}
}

// takeFarewell hears that the peer sends nothing new any more.
func (l *Link) takeFarewell() {
	if l.peerLeaves {
		l.violated("a second farewell")
		return
	}
	l.peerLeaves = true
	l.hub.config.Handler.Leaving(l)
	l.Leave()
}

// pumpFarewell says farewell, if that is due, and ends the link when both ends have and nothing is left.
func (l *Link) pumpFarewell() {
	if l.leaves && !l.saidFarewell && l.flight.Empty() {
		l.saidFarewell = l.sendWord(wire.Head{Type: wire.Word, Code: wire.Moved})
	}
	if l.state == ready && l.saidFarewell && l.peerLeaves && l.IsIdle() {
		l.end(errLeft)
	}
}

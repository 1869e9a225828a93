package link

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Whoever is told something may use the link at once, and may close it.

// told is a letter that does something when it hears that it was sent, or is late.
type told struct {
	letter
	onSent, onLate func()
}

func newTold(kind wire.Type, items ...string) *told {
	t := &told{letter: *newLetter(kind, items...)}
	t.Owner = t
	return t
}

func (t *told) Sent(o *Outgoing, err error) {
	t.letter.Sent(o, err)
	if t.onSent != nil {
		t.onSent()
	}
}

func (t *told) Late(*Outgoing) {
	t.Fills = nil
	t.onLate()
}

// TestNoFarewellAfterTheEnd: an end that is about to say farewell is closed, with its hub, by somebody who hears that his answer cannot be
// sent. Nothing is taken of the hub any more.
func TestNoFarewellAfterTheEnd(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, back := w.join(a, b)
		check(w.t, there.Send(&newLetter(wire.Call).Outgoing))
		w.until("the call is there", func() bool { return len(b.arrived) == 1 })
		w.while(time.Millisecond) // what the two ends have to say to each other is said
		first, bad := newTold(wire.Answer), newTold(wire.Answer)
		first.Head.Number = b.arrived[0].head.Number
		piece := b.alloc(8)
		piece.Span.Key = driver.BadKey
		bad.Fills = []Fill{{Into: wire.Span{Length: 8}, Piece: piece}}
		first.onSent = func() { check(w.t, back.Send(&bad.Outgoing)) }
		bad.onSent = func() { check(w.t, b.hub.Close()) }
		check(w.t, back.Send(&first.Outgoing))
		back.Leave() // and says so when the answer is sent
		w.until("the hub is closed", func() bool { return len(b.ended) == 1 })
		if !errors.Is(bad.sentErr, ErrNotSent) || b.hub.leaving.count() > 0 {
			w.t.Errorf("%v; %d slots were made afterwards", bad.sentErr, b.hub.leaving.count())
		}
	})
}

// window is how much the peer of one who is late takes. It tells of four receives at a time.
const window = 16

// late is a message that waits until the peer has room for it, and that is late by then; another waits behind it.
func (w *world) late(onLate func(there *Link)) (b *process, late *told, behind *letter) {
	a, b := w.newProcess(Config{}), w.newProcess(Config{FirstWindow: window, Window: window}).full()
	there, _ := w.join(a, b)
	for range window {
		check(w.t, there.Send(&newLetter(wire.Send, "first").Outgoing))
	}
	late, behind = newTold(wire.Send, "late"), newLetter(wire.Send, "behind")
	late.Until = a.loop.Now().Add(time.Millisecond)
	late.onLate = func() { onLate(there) }
	check(w.t, there.Send(&late.Outgoing))
	check(w.t, there.Send(&behind.Outgoing))
	w.until("the first have come", func() bool { return len(b.arrived) == window })
	w.while(2 * time.Millisecond)
	for _, got := range b.arrived {
		got.slot.Release()
	}
	return b, late, behind
}

// TestWhoIsLateMaySend: what is sent meanwhile comes behind, and nothing is lost or comes twice.
func TestWhoIsLateMaySend(t *testing.T) {
	everywhere(t, func(w *world) {
		more := newLetter(wire.Send, "more")
		b, _, _ := w.late(func(there *Link) { check(w.t, there.Send(&more.Outgoing)) })
		w.until("all have come", func() bool { return len(b.arrived) == window+3 })
		w.while(time.Millisecond)
		for i, want := range []string{"late", "behind", "more"} {
			if got := b.arrived[window+i].items[0]; got != want || len(b.arrived) != window+3 {
				w.t.Errorf("message %d of %d is %q, want %q", window+i, len(b.arrived), got, want)
			}
		}
	})
}

// TestWhoIsLateMayClose: everybody is told, once.
func TestWhoIsLateMayClose(t *testing.T) {
	everywhere(t, func(w *world) {
		b, late, behind := w.late((*Link).Close)
		w.until("the link has ended", func() bool { return len(b.ended) == 1 })
		for _, l := range []*letter{&late.letter, behind} {
			if l.sent != 1 || !errors.Is(l.sentErr, ErrNotSent) {
				w.t.Errorf("%q was told %d times: %v", l.Items[0].Bytes, l.sent, l.sentErr)
			}
		}
	})
}

// TestWhoIsGivenBackMayClose: of what waits on a link that is left, refusals stay. They are told too when the link is closed meanwhile.
func TestWhoIsGivenBackMayClose(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{FirstWindow: 1, Window: 1}), w.newProcess(Config{})
		_, back := w.join(a, b)
		check(w.t, back.Send(&newLetter(wire.Send, "all that it may").Outgoing))
		given, no := newTold(wire.Send), newLetter(wire.Refusal)
		given.onSent = back.Close
		no.Credit = true
		check(w.t, back.Send(&given.Outgoing))
		check(w.t, back.Send(&no.Outgoing))
		back.Leave()
		if given.sent != 1 || no.sent != 1 || !errors.Is(no.sentErr, ErrNotSent) {
			w.t.Errorf("told %d and %d times: %v", given.sent, no.sent, no.sentErr)
		}
	})
}

// TestTooLargeForAPeerThatWasNotKnown: what is given to a link before it is connected may be more than the peer takes. Its owner is told,
// and the link goes on with the rest.
func TestTooLargeForAPeerThatWasNotKnown(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{SlotSize: 512})
		there, err := a.hub.NewLink()
		check(w.t, err)
		large, again, fits := newTold(wire.Call, strings.Repeat("x", 512)), newLetter(wire.Send, "again"), newLetter(wire.Send, "fits")
		large.onSent = func() { check(w.t, there.Send(&again.Outgoing)) }
		check(w.t, there.Send(&large.Outgoing))
		check(w.t, there.Send(&fits.Outgoing))
		back, err := b.hub.NewLink()
		check(w.t, err)
		check(w.t, there.Connect(back.Address(), back.Terms()))
		check(w.t, back.Connect(there.Address(), there.Terms()))
		w.until("the rest has come", func() bool { return len(b.arrived) == 2 })
		if large.sent != 1 || !errors.Is(large.sentErr, ErrTooLarge) || !errors.Is(large.sentErr, ErrNotSent) {
			w.t.Errorf("its owner was told %d times: %v", large.sent, large.sentErr)
		}
		if b.arrived[0].items[0] != "fits" || b.arrived[1].items[0] != "again" {
			w.t.Errorf("%q and %q have come", b.arrived[0].items, b.arrived[1].items)
		}
	})
}

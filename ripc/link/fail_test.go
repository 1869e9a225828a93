package link

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// What a peer has sent before it went is heard, also by one who was about to send something himself, and found nobody there.
func TestWhatCameBeforeTheEndIsHeard(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, back := w.join(a, b)
		last := newLetter(wire.Send, "last")
		check(t, there.Send(&last.Outgoing))
		turns := w.loops
		w.loops = w.loops[:1] // b does not look
		w.until("it is sent", func() bool { return last.sent == 1 })
		there.Close()
		w.loops = turns
		late := newLetter(wire.Send, "late")
		check(t, back.Send(&late.Outgoing))
		check(t, b.loop.Queue().Flush())
		w.until("the link has ended", func() bool { return len(b.ended) == 1 })
		if len(b.arrived) != 1 || b.arrived[0].items[0] != "last" {
			t.Errorf("%d messages have come", len(b.arrived))
		}
		if late.sent != 1 || late.sentErr == nil {
			t.Errorf("what was sent to nobody: told %d times, %v", late.sent, late.sentErr)
		}
	})
}

// A link that ends while it fails leaves a timer behind, which is not for the next one whose queue pair has the number.
func TestAFailureIsNotThatOfTheNextLink(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, _ := w.join(a, b)
		there.fail(errors.New("cannot send"))
		there.Close()
		next, err := a.hub.NewLink()
		check(t, err)
		a.hub.links.remove(next.number())
		a.hub.links.put(there.number(), next) // as if the device had given it out again
		w.while(4 * failDelay)
		if next.HasEnded() {
			t.Error("it has ended")
		}
		a.hub.links.remove(there.number())
		a.hub.links.put(next.number(), next)
	})
}

// Both ends count their messages from one. An answer on its way has the number of the peer's call, not of ours.
func TestAnAnswerOnItsWayIsNotOurCall(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, back := w.join(a, b)
		ours, theirs := newLetter(wire.Call, "ours"), newLetter(wire.Call, "theirs")
		check(w.t, there.Send(&ours.Outgoing))
		w.until("our call is there", func() bool { return len(b.arrived) == 1 && ours.sent == 1 })
		check(w.t, back.Send(&theirs.Outgoing))
		w.until("theirs is here", func() bool { return len(a.arrived) == 1 })
		check(w.t, there.Send(&answerTo(a.arrived[0], "on its way").Outgoing))
		there.Close()
		if ours.answered != 1 || !errors.Is(ours.answerErr, ErrLost) {
			w.t.Errorf("our call was told %d times: %v", ours.answered, ours.answerErr)
		}
		w.until("the other end has heard", func() bool { return len(b.ended) == 1 })
	})
}

// closer closes its link when it hears that it was sent.
type closer struct {
	letter
	link *Link
}

func (c *closer) Sent(o *Outgoing, err error) {
	c.letter.Sent(o, err)
	c.link.Close()
}

// TestClosedByWhatAMessageSays: a message says that another was taken, and whoever hears that closes the link. Then it comes too late
// itself, and nothing of what the link was promised is given back twice.
func TestClosedByWhatAMessageSays(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, back := w.join(a, b)
		c := &closer{letter: *newLetter(wire.Send), link: there}
		c.Confirm, c.Owner = true, c
		b.on = func(got *arrival) {
			check(w.t, back.Send(&newLetter(wire.Send, "the news").Outgoing))
			got.slot.Release()
		}
		check(w.t, there.Send(&c.Outgoing))
		w.until("the link has ended", func() bool { return len(a.ended) == 1 })
		w.while(time.Millisecond)
		for _, got := range a.arrived {
			w.t.Errorf("%v came after the end", got.head.Type)
			got.slot.Release()
		}
		if a.hub.promised != 0 {
			w.t.Errorf("%d receives are promised to nobody", a.hub.promised)
		}
	})
}

// Who sends to one that is gone hears that it is, and nothing of queue pairs. That is for a log.
func TestWhoIsGoneIsSaidToBeGone(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, back := w.join(a, b)
		there.Close()
		long := newLetter(wire.Send, "long")
		long.Loans = []Piece{b.alloc(100)}
		check(t, back.Send(&long.Outgoing))
		check(t, b.loop.Queue().Flush())
		w.until("the link has ended", func() bool { return len(b.ended) == 1 })
		for _, err := range []error{long.sentErr, long.returnedErr, b.ended[0]} {
			if !errors.Is(err, verbs.ErrFlushed) && !errors.Is(err, verbs.ErrPeerGone) || !errors.Is(err, errPeerGone) {
				w.t.Errorf("it is not known why: %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "queue pair") || !strings.Contains(Detailed(err).Error(), "queue pair") {
				w.t.Errorf("%q, and for a log %q", err, Detailed(err))
			}
		}
	})
}

package link

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

func TestACallIsAnswered(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, _ := w.join(a, b)
		b.on = func(got *arrival) {
			check(w.t, got.link.Send(&answerTo(got, "re: "+got.items[0], "").Outgoing))
			got.slot.Release()
		}
		for i := range 100 {
			call := newLetter(wire.Call, fmt.Sprint(i), "more")
			check(w.t, there.Send(&call.Outgoing))
			w.until("the answer", func() bool { return call.answered == 1 })
			if call.answerErr != nil || call.sent != 1 || !slices.Equal(call.answer, []string{"re: " + fmt.Sprint(i), ""}) {
				w.t.Fatalf("call %d: %v, %q, sent %d times", i, call.answerErr, call.answer, call.sent)
			}
			call.slot.Release()
		}
		if n := a.hub.Counts().Words + b.hub.Counts().Words; n > 10 {
			w.t.Errorf("%d words for 100 calls: the answers tell", n)
		}
		if !there.IsIdle() || a.hub.promised != there.window+wordRoom {
			w.t.Errorf("something is left: %d receives are promised, the window is %d", a.hub.promised, there.window)
		}
	})
}

// A slow receiver is felt by its senders, and nothing is lost (issue 12 of the original: ten receives, then drops).
func TestCreditsHoldSendersBack(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{FirstWindow: 3, Window: 8}).full()
		there, _ := w.join(a, b)
		var letters []*letter
		for i := range 100 {
			letters = append(letters, newLetter(wire.Send, fmt.Sprint(i)))
			check(w.t, there.Send(&letters[i].Outgoing))
		}
		w.while(20 * time.Millisecond)
		if n := len(b.arrived); n < 3 || n > 8 {
			w.t.Fatalf("%d messages arrived, and none was released; 3 to 8 may", n)
		}
		for i := range 100 {
			w.until(fmt.Sprintf("message %d arrives", i), func() bool { return len(b.arrived) > i })
			if held := len(b.arrived) - i; held > 8 {
				w.t.Fatalf("%d messages are held, at most 8 may be", held)
			}
			if got := b.arrived[i].items[0]; got != fmt.Sprint(i) {
				w.t.Fatalf("message %d says %q", i, got)
			}
			b.arrived[i].slot.Release()
		}
		w.until("all were sent", func() bool { return letters[99].sent == 1 })
		w.until("the sender hears that all were taken", func() bool { return there.heard == 100 })
	})
}

// A service whose own queue holds all receives can still call: who calls keeps a receive for the answer.
func TestAnswersNeedNoCredit(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{FirstWindow: 1, Window: 1}), w.newProcess(Config{})
		there, back := w.join(a, b)
		check(w.t, back.Send(&newLetter(wire.Send, "held").Outgoing))
		w.until("it has arrived", func() bool { return len(a.arrived) == 1 })
		b.on = func(got *arrival) { check(w.t, got.link.Send(&answerTo(got, "yes").Outgoing)) }
		call := newLetter(wire.Call)
		check(w.t, there.Send(&call.Outgoing))
		w.until("the answer", func() bool { return call.answered == 1 })
		call.slot.Release()
		a.arrived[0].slot.Release()
		b.arrived[0].slot.Release()
	})
}

func TestATooLargeMessageIsAnError(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{SlotSize: 512})
		there, _ := w.join(a, b)
		if err := there.Send(&newLetter(wire.Send, strings.Repeat("x", 512)).Outgoing); !errors.Is(err, ErrTooLarge) {
			w.t.Errorf("512 bytes into slots of 512: %v", err)
		}
		fits := newLetter(wire.Send, strings.Repeat("x", 512-wire.Overhead(1, 0, 0)))
		check(w.t, there.Send(&fits.Outgoing))
		w.until("the largest arrives", func() bool { return len(b.arrived) == 1 })
	})
}

// Whoever gave a message to a link that ends is told so, once, and knows whether it may send it again.
func TestTheEndOfALinkIsTold(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{FirstWindow: 1, Window: 1})
		there, back := w.join(a, b)
		call, waits := newLetter(wire.Call, "first"), newLetter(wire.Send, "second")
		check(w.t, there.Send(&call.Outgoing))
		check(w.t, there.Send(&waits.Outgoing))
		w.until("the call has arrived", func() bool { return len(b.arrived) == 1 && call.sent == 1 })
		back.Close()
		w.until("the caller notices", func() bool { return len(a.ended) == 1 })
		if call.answered != 1 || !errors.Is(call.answerErr, ErrLost) {
			w.t.Errorf("the call: %d times, %v", call.answered, call.answerErr)
		}
		if waits.sent != 1 || !errors.Is(waits.sentErr, ErrNotSent) {
			w.t.Errorf("the message that waited: %d times, %v", waits.sent, waits.sentErr)
		}
		b.arrived[0].slot.Release()
		if a.hub.promised != 0 || b.hub.promised != 0 {
			w.t.Errorf("%d and %d receives are still promised", a.hub.promised, b.hub.promised)
		}
		if err := there.Send(&newLetter(wire.Send).Outgoing); !errors.Is(err, ErrClosed) {
			w.t.Errorf("send on it: %v", err)
		}
	})
}

func TestACancelledMessageIsNotSent(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{FirstWindow: 1, Window: 1})
		there, _ := w.join(a, b)
		first, second, third := newLetter(wire.Send, "1"), newLetter(wire.Send, "2"), newLetter(wire.Send, "3")
		for _, l := range []*letter{first, second, third} {
			check(w.t, there.Send(&l.Outgoing))
		}
		if !there.Cancel(&second.Outgoing) || there.Cancel(&first.Outgoing) {
			w.t.Error("what waits can be cancelled, what was sent cannot")
		}
		b.on = func(got *arrival) { got.slot.Release() }
		w.until("the third arrives", func() bool { return len(b.arrived) == 2 })
		if b.arrived[1].items[0] != "3" || second.sent != 0 {
			w.t.Errorf("%q arrived; the second was told %d times", b.arrived[1].items, second.sent)
		}
	})
}

// Who wants to know hears whether the peer has handed a message to its service.
func TestConfirmedMessages(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, back := w.join(a, b)
		taken, refused, plain, lost := newLetter(wire.Send, "1"), newLetter(wire.Send, "2"), newLetter(wire.Send, "3"), newLetter(wire.Send, "4")
		for _, l := range []*letter{taken, refused, lost} {
			l.Confirm = true
		}
		b.on = func(got *arrival) {
			if got.items[0] == "2" || got.items[0] == "3" {
				no := newLetter(wire.Refusal)
				no.Credit = true
				no.Head = wire.Head{Type: wire.Refusal, Code: wire.NotHere, From: bob, To: alice, Number: got.head.Number}
				check(w.t, got.link.Send(&no.Outgoing))
			}
			got.slot.Release()
		}
		for _, l := range []*letter{taken, refused, plain} {
			check(w.t, there.Send(&l.Outgoing))
		}
		w.until("all are told", func() bool { return taken.sent == 1 && refused.sent == 1 && plain.sent == 1 && len(a.undelivered) == 1 })
		var no *RefusedError
		if taken.sentErr != nil || !errors.As(refused.sentErr, &no) || no.Code != wire.NotHere || plain.sentErr != nil || !errors.As(a.undelivered[0], &no) {
			w.t.Errorf("%v, %v, %v, %v", taken.sentErr, refused.sentErr, plain.sentErr, a.undelivered[0])
		}
		back.Close()
		check(w.t, there.Send(&lost.Outgoing))
		w.until("the last is lost", func() bool { return lost.sent == 1 })
		if !errors.Is(lost.sentErr, ErrLost) {
			w.t.Errorf("%v", lost.sentErr)
		}
	})
}

// Who leaves loses nothing: what was sent before is answered, what was not is told so, and then the link ends at both sides.
func TestALinkIsLeftWell(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{FirstWindow: 1, Window: 1})
		there, back := w.join(a, b)
		call, waits := newLetter(wire.Call, "first"), newLetter(wire.Call, "second")
		check(w.t, there.Send(&call.Outgoing))
		check(w.t, there.Send(&waits.Outgoing))
		back.Leave()
		w.until("the call has arrived, and the caller knows", func() bool { return len(b.arrived) == 1 && a.leaving == 1 })
		if waits.sent != 1 || !errors.Is(waits.sentErr, ErrNotSent) {
			w.t.Errorf("what was not sent: %d times, %v", waits.sent, waits.sentErr)
		}
		if err := there.Send(&newLetter(wire.Send).Outgoing); !errors.Is(err, ErrNotSent) {
			w.t.Errorf("sent after the farewell: %v", err)
		}
		w.while(time.Millisecond)
		if len(a.ended)+len(b.ended) > 0 {
			w.t.Fatalf("it has ended before the answer: %v %v", a.ended, b.ended)
		}
		check(w.t, back.Send(&answerTo(b.arrived[0], "still here").Outgoing))
		b.arrived[0].slot.Release()
		w.until("the answer", func() bool { return call.answered == 1 })
		check(w.t, call.answerErr)
		call.slot.Release()
		w.until("both have left", func() bool { return len(a.ended) == 1 && len(b.ended) == 1 })
	})
}

// Where one message follows another, the answers tell the peer of its credits: no word is needed.
func TestCallsInTurnNeedNoWords(t *testing.T) {
	fabric, err := sim.New(sim.Config{Seed: 1})
	check(t, err)
	w := &world{t: t, fabric: fabric}
	a, b := w.newProcess(Config{}), w.newProcess(Config{})
	there, _ := w.join(a, b)
	for start := fabric.Now(); fabric.Now().Sub(start) < 10*wordDelay; {
		call := newLetter(wire.Call, "well?")
		check(t, there.Send(&call.Outgoing))
		w.while(wordDelay / 10) // the service thinks
		asked := b.arrived[len(b.arrived)-1]
		check(t, asked.link.Send(&answerTo(asked, "yes").Outgoing))
		asked.slot.Release()
		w.until("the call is answered", func() bool { return call.answered == 1 })
		call.slot.Release()
	}
	if words := a.hub.Counts().Words + b.hub.Counts().Words; words > 0 {
		t.Errorf("%d words", words)
	}
}

// A peer that is connected first may send before this end hears that it is connected, and is told what became of it all the same.
func TestWhatComesBeforeTheLinkIsReadyIsConfirmed(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, back := w.join(a, b)
		b.on = func(got *arrival) { got.slot.Release() }
		for n := range 2 {
			back.state = connecting // as if its completion came behind what the peer has sent
			var letters []*letter
			for i := range n + 1 {
				letters = append(letters, newLetter(wire.Send, "early"))
				letters[i].Confirm = true
				check(w.t, there.Send(&letters[i].Outgoing))
			}
			before := len(b.arrived)
			w.until("they have come", func() bool { return len(b.arrived) == before+n+1 })
			back.stepConnected(&verbs.Completion{})
			for _, l := range letters {
				w.until("it is confirmed", func() bool { return l.sent == 1 })
				check(w.t, l.sentErr)
			}
		}
	})
}

package link

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/wire"
)

// Who gives up a call tells the peer, also when nothing else may be sent; the answer is still taken, and the link stays.
func TestThePeerHearsOfACallThatIsGivenUp(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{FirstWindow: 2, Window: 2})
		there, _ := w.join(a, b)
		calls := []*letter{newLetter(wire.Call), newLetter(wire.Call), newLetter(wire.Call)}
		for _, call := range calls {
			check(w.t, there.Send(&call.Outgoing))
		}
		w.until("two have come", func() bool { return len(b.arrived) == 2 })
		for _, call := range calls { // the last of them was not sent
			there.GiveUp(&call.Outgoing)
		}
		w.until("the peer has heard of both", func() bool { return len(b.givenUp) == 2 })
		if !slices.Equal(b.givenUp, []uint64{calls[0].Head.Number, calls[1].Head.Number}) {
			w.t.Errorf("given up are %d", b.givenUp)
		}
		b.on = func(got *arrival) { check(w.t, got.link.Send(&answerTo(got).Outgoing)); got.slot.Release() }
		for _, got := range b.arrived {
			b.on(got)
		}
		w.until("nothing is under way", func() bool { return there.IsIdle() })
		if len(a.ended)+len(b.ended) > 0 || calls[0].answered+calls[1].answered+calls[2].answered > 0 {
			w.t.Errorf("the ends: %v, %v", a.ended, b.ended)
		}
	})
}

// Nobody can give up more than he has sent, and what he names is his own affair.
func TestAPeerMayNotGiveUpWithoutEnd(t *testing.T) {
	everywhere(t, func(w *world) {
		p := w.newProcess(Config{})
		i, _ := w.intrude(p)
		call := wire.Head{Type: wire.Call, From: alice, To: bob, Number: 7, Credit: 2}
		unknown := wire.Head{Type: wire.GiveUp, To: bob, Number: 8, Credit: 2}
		for _, head := range []wire.Head{call, unknown, unknown} {
			i.say((&wire.Message{Head: head}).Append(nil))
			w.while(time.Millisecond)
		}
		w.until("the link has ended", func() bool { return len(p.ended) == 1 })
		if !errors.Is(p.ended[0], ErrPeer) || len(p.arrived) != 1 || len(p.givenUp) != 1 {
			w.t.Errorf("%v; %d calls, given up: %d", p.ended[0], len(p.arrived), p.givenUp)
		}
	})
}

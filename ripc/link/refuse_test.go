package link

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/wire"
)

// refuseAll has a process refuse what arrives.
func (p *process) refuseAll() {
	p.on = func(got *arrival) {
		no := newLetter(wire.Refusal)
		no.Credit = true
		no.Head = wire.Head{Type: wire.Refusal, Code: wire.NotHere, From: bob, To: alice, Number: got.head.Number}
		if err := got.link.Send(&no.Outgoing); !errors.Is(err, ErrNotSent) {
			check(p.world.t, err)
		}
		got.slot.Release()
	}
}

// A refusal may have to wait for credit. Words go ahead of it, but must not say that what it refuses was taken. That holds for a
// process that is about to leave, too.
func TestARefusalThatWaitsIsHeardBeforeTheMessagePassesForDelivered(t *testing.T) {
	for name, leaves := range map[string]bool{"stays": false, "leaves": true} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(w *world) {
				a, b := w.newProcess(Config{FirstWindow: 1, Window: 1}).full(), w.newProcess(Config{})
				there, back := w.join(a, b)
				check(w.t, back.Send(&newLetter(wire.Send, "held").Outgoing)) // all that b may send
				w.until("it has arrived", func() bool { return len(a.arrived) == 1 })
				b.refuseAll()
				plain, confirmed := newLetter(wire.Send, "1"), newLetter(wire.Send, "2")
				confirmed.Confirm = true
				check(w.t, there.Send(&plain.Outgoing))
				check(w.t, there.Send(&confirmed.Outgoing))
				w.until("both have arrived", func() bool { return len(b.arrived) == 2 })
				if leaves {
					back.Leave()
				}
				w.while(10 * time.Millisecond) // words go
				if confirmed.sent != 0 || len(a.undelivered) != 0 {
					w.t.Fatalf("told too early: %v, %v", confirmed.sentErr, a.undelivered)
				}
				a.arrived[0].slot.Release()
				w.until("both are told", func() bool { return confirmed.sent == 1 && len(a.undelivered) == 1 })
				var no *RefusedError
				if !errors.As(confirmed.sentErr, &no) || !errors.As(a.undelivered[0], &no) || a.hub.Counts().Refused != 0 {
					w.t.Errorf("%v, %v, %v", confirmed.sentErr, a.undelivered, a.ended)
				}
			})
		})
	}
}

// A peer that sends to nobody, and lets nothing come back, does not fill the other's memory with refusals.
func TestAPeerThatTakesNoRefusalsLosesItsLink(t *testing.T) {
	everywhere(t, func(w *world) {
		p := w.newProcess(Config{})
		p.refuseAll()
		i, l := w.intrude(p) // lets two messages come
		m := &wire.Message{Head: wire.Head{Type: wire.Send, From: alice, To: bob, Credit: 2}}
		for m.Head.Number = 1; len(p.ended) == 0 && m.Head.Number < 2*maxRefusals; m.Head.Number++ {
			i.say(m.Append(nil))
			w.until("it has arrived", func() bool { return len(p.arrived) == int(m.Head.Number) || len(p.ended) > 0 })
			w.until("it may send more", func() bool { return l.left() > 0 || len(p.ended) > 0 })
		}
		if len(p.ended) != 1 || !errors.Is(p.ended[0], ErrPeer) {
			w.t.Errorf("%d refusals wait, and the link has ended with %v", l.refused.Len(), p.ended)
		}
	})
}

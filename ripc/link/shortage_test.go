package link

import (
	"testing"

	"github.com/weft-fabric/weft/ripc/wire"
)

// TestWhatOneLinkFreesAnotherGets: receives and slots are the hub's. A call that found none is sent when another link has given some
// back, although nothing happens on its own.
func TestWhatOneLinkFreesAnotherGets(t *testing.T) {
	everywhere(t, func(w *world) {
		a := w.newProcess(Config{MaxSlots: 64, FirstWindow: 2, Window: 2})
		b := w.newProcess(Config{FirstWindow: 128, Window: 128})
		busy, _ := w.join(a, b)
		idle, _ := w.join(a, b)
		var calls []*letter
		for busy.waiting.Empty() {
			calls = append(calls, newLetter(wire.Call, "one of many"))
			check(w.t, busy.Send(&calls[len(calls)-1].Outgoing))
		}
		late := newLetter(wire.Call, "the last")
		check(w.t, idle.Send(&late.Outgoing))
		if idle.waiting.Empty() {
			w.t.Fatal("there is room for all")
		}
		if !busy.Cancel(&calls[len(calls)-1].Outgoing) {
			w.t.Fatal("it does not wait")
		}
		calls = calls[:len(calls)-1]
		w.until("all have come", func() bool { return len(b.arrived) == len(calls) })
		for _, got := range b.arrived {
			check(w.t, got.link.Send(&answerTo(got).Outgoing))
			got.slot.Release()
		}
		for _, c := range calls {
			w.until("it is answered", func() bool { return c.answered == 1 })
			c.slot.Release()
		}
		w.until("the call of the other link is sent", func() bool { return late.sent == 1 })
	})
}

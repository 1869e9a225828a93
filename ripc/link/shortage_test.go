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
		other, _ := w.join(a, b)
		calls := w.callUntilFull(other) // a link alone does not get all
		if !other.Cancel(&calls[len(calls)-1].Outgoing) {
			w.t.Fatal("it does not wait")
		}
		calls = append(calls[:len(calls)-1], w.callUntilFull(busy)...)
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

// callUntilFull sends calls until one has to wait: the last of those that it returns.
func (w *world) callUntilFull(l *Link) (calls []*letter) {
	w.t.Helper()
	for l.waiting.Empty() {
		calls = append(calls, newLetter(wire.Call, "one of many"))
		check(w.t, l.Send(&calls[len(calls)-1].Outgoing))
	}
	return calls
}

// TestWhoNeverAnswersStarvesNobodyElse: each call keeps a receive until it is answered, also if its caller has given up.
func TestWhoNeverAnswersStarvesNobodyElse(t *testing.T) {
	everywhere(t, func(w *world) {
		a := w.newProcess(Config{MaxSlots: 64})
		mute, other := w.newProcess(Config{FirstWindow: 128, Window: 128}), w.newProcess(Config{})
		mute.on = func(got *arrival) { got.slot.Release() }
		toMute, _ := w.join(a, mute)
		toOther, _ := w.join(a, other)
		for _, call := range w.callUntilFull(toMute) {
			if !toMute.Cancel(&call.Outgoing) {
				toMute.GiveUp(&call.Outgoing)
			}
		}
		call := newLetter(wire.Call, "hello")
		check(w.t, toOther.Send(&call.Outgoing))
		w.until("it has come", func() bool { return len(other.arrived) == 1 })
		check(w.t, other.arrived[0].link.Send(&answerTo(other.arrived[0]).Outgoing))
		other.arrived[0].slot.Release()
		w.until("it is answered", func() bool { return call.answered == 1 })
		call.slot.Release()
	})
}

package link

import (
	"testing"

	"github.com/weft-fabric/weft/ripc/wire"
)

// A message that was disowned is sent elsewhere, and what comes of it there is all that its owner hears, whatever the first peer says.
func TestWhatIsDisownedIsSentElsewhere(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b, c := w.newProcess(Config{}), w.newProcess(Config{}), w.newProcess(Config{})
		first, _ := w.join(a, b)
		second, _ := w.join(a, c)
		call, post := newLetter(wire.Call), newLetter(wire.Send)
		for _, l := range []*letter{call, post} {
			check(w.t, first.Send(&l.Outgoing))
		}
		if list := first.UnderWay(bob); len(list) != 2 || len(first.UnderWay(alice)) > 0 {
			w.t.Fatalf("%d are under way", len(list))
		}
		for _, o := range first.UnderWay(bob) {
			if !first.Disown(o) {
				w.t.Error("what was copied is not disowned")
			}
			o.Reset()
			check(w.t, second.Send(o))
		}
		b.on = func(got *arrival) { w.refuse(got); got.slot.Release() }
		c.on = func(got *arrival) {
			if got.head.Type == wire.Call {
				check(w.t, got.link.Send(&answerTo(got, "from the second").Outgoing))
			}
			got.slot.Release()
		}
		w.until("all is over", func() bool { return len(b.arrived)+len(c.arrived) == 4 && first.IsIdle() && call.answered > 0 })
		call.slot.Release()
		if call.answered != 1 || len(call.answer) != 1 || call.sent != 1 || post.sent != 1 || call.sentErr != nil || post.sentErr != nil {
			w.t.Errorf("the call: %+v, the post: %+v", call, post)
		}
		if len(a.undelivered)+len(a.ended) > 0 {
			w.t.Errorf("it hears %v, %v", a.undelivered, a.ended)
		}
	})
}

// refuse refuses a message, as one whose service is gone does.
func (w *world) refuse(got *arrival) {
	r := newLetter(wire.Refusal)
	r.Head = wire.Head{Type: wire.Refusal, Code: wire.NotHere, From: got.head.To, To: got.head.From, Number: got.head.Number}
	r.Credit = got.head.Type == wire.Send
	check(w.t, got.link.Send(&r.Outgoing))
}

// As long as the NIC may read the program's memory, the message stays where it is.
func TestWhatTheNICReadsIsNotDisowned(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, _ := w.join(a, b)
		memory, err := a.domain.Alloc(1000, 0)
		check(w.t, err)
		call := newLetter(wire.Call)
		call.Items = []Piece{{Bytes: memory.Bytes(), Span: memory.Span(0, 1000)}}
		check(w.t, there.Send(&call.Outgoing))
		if there.Disown(&call.Outgoing) {
			w.t.Error("it may still be read")
		}
		w.until("it was sent", func() bool { return call.sent == 1 && len(b.arrived) == 1 })
		if !there.Disown(&call.Outgoing) {
			w.t.Error("it is read no more")
		}
		check(w.t, memory.Close())
	})
}

package link

import (
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc/wire"
)

// BenchmarkCall is a call and its answer between two processes whose loops are turned by hand, on one core: what both cost
// together, without the way from one core to the other.
func BenchmarkCall(b *testing.B) {
	for _, lane := range []soft.Lanes{soft.InProcess, soft.SharedMemory} {
		b.Run(lane.String(), func(b *testing.B) { benchmarkCall(&world{t: b, lanes: lane}, b) })
	}
	b.Run("cells", func(b *testing.B) { benchmarkCall(&world{t: b, lanes: soft.SharedMemory, polls: true}, b) })
}

func benchmarkCall(w *world, b *testing.B) {
	alice, bob := w.newProcess(Config{}), w.newProcess(Config{})
	there, _ := w.join(alice, bob)
	call, answer := newLetter(wire.Call, "12345678"), newLetter(wire.Answer, "12345678")
	caller := &counter{}
	call.Owner, answer.Owner = caller, &counter{}
	bob.hub.config.Handler = &answerer{process: bob, answer: &answer.Outgoing}
	b.ReportAllocs()
	for b.Loop() {
		call.Reset()
		if err := there.Send(&call.Outgoing); err != nil {
			b.Fatal(err)
		}
		for before := caller.answered; caller.answered == before; {
			_, _ = alice.loop.Turn()
			_, _ = bob.loop.Turn()
		}
	}
}

// counter owns what is sent.
type counter struct{ answered int }

func (c *counter) Sent(_ *Outgoing, err error) {}
func (c *counter) Answered(_ *Outgoing, s *Slot, err error) {
	c.answered++
	s.Release()
}
func (c *counter) Returned(*Outgoing, error) {}

// answerer answers at once.
type answerer struct {
	*process
	answer *Outgoing
}

func (a *answerer) Arrived(l *Link, m *wire.Message, s *Slot) {
	a.answer.Reset()
	a.answer.Head.From, a.answer.Head.To, a.answer.Head.Number = m.Head.To, m.Head.From, m.Head.Number
	if err := l.Send(a.answer); err != nil {
		panic(err)
	}
	s.Release()
}

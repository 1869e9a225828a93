package link

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// alloc is a piece of registered memory of a process.
func (p *process) alloc(n int) Piece {
	p.world.t.Helper()
	memory, err := p.domain.Alloc(n, 0)
	check(p.world.t, err)
	p.world.t.Cleanup(func() { check(p.world.t, memory.Close()) })
	return Piece{Bytes: memory.Bytes(), Span: memory.Span(0, n)}
}

// pulled remembers how a Pull has ended.
type pulled struct {
	Pull
	done bool
	err  error
}

func (p *pulled) Pulled(_ *Pull, err error) { p.done, p.err = true, err }

// pullAll begins to fetch what an arrival lends into pieces.
func pullAll(a *arrival, into ...Piece) *pulled {
	p := &pulled{}
	p.Number, p.From, p.Until, p.Owner = a.head.Number, a.loans, clock.Never, p
	for _, piece := range into {
		p.Into = append(p.Into, piece.Span)
	}
	return p
}

func fillWith(p Piece, text string) {
	copy(p.Bytes, bytes.Repeat([]byte(text), len(p.Bytes)/len(text)+1))
}

// The two phases of a long message (figure 2(a)), and the third that the original left out: the sender hears when it has its
// memory back.
func TestALongMessageIsPulled(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, _ := w.join(a, b)
		small, large := a.alloc(100), a.alloc(5<<20+17)
		for round := range 3 {
			fillWith(small, "small")
			fillWith(large, "large and long")
			long := newLetter(wire.Send, "describes them")
			long.Loans = []Piece{small, large}
			check(w.t, there.Send(&long.Outgoing))
			w.until("it has arrived", func() bool { return len(b.arrived) == round+1 })
			first, second := b.alloc(100), b.alloc(5<<20+17)
			p := pullAll(b.arrived[round], first, second)
			check(w.t, b.arrived[round].link.Pull(&p.Pull))
			w.until("it was pulled", func() bool { return p.done })
			check(w.t, p.err)
			if !bytes.Equal(first.Bytes, small.Bytes) || !bytes.Equal(second.Bytes, large.Bytes) {
				w.t.Fatal("what was pulled is not what was lent")
			}
			w.until("the sender has its memory back", func() bool { return long.returned == 1 })
			check(w.t, long.returnedErr)
			b.arrived[round].slot.Release()
		}
		if len(there.spare) != 2 || !there.IsIdle() {
			w.t.Errorf("%d windows were made for two loans at a time", len(there.spare))
		}
	})
}

func TestMoreComesBackAtOnceThanThereIsRoomFor(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{SendDepth: 2 * wire.MaxList}), w.newProcess(Config{FirstWindow: 4})
		there, back := w.join(a, b)
		piece := a.alloc(100)
		var letters [4]*letter
		for i := range letters {
			letters[i] = newLetter(wire.Send, "has much to lend")
			letters[i].Loans = slices.Repeat([]Piece{piece}, wire.MaxList)
			check(w.t, there.Send(&letters[i].Outgoing))
		}
		w.until("all have arrived", func() bool { return len(b.arrived) == len(letters) })
		for _, got := range b.arrived {
			back.Release(got.head.Number) // one word tells of all
		}
		for _, l := range letters {
			w.until("the sender has its memory back", func() bool { return l.returned == 1 })
			check(w.t, l.returnedErr)
		}
		for _, got := range b.arrived {
			got.slot.Release()
		}
	})
}

// Who does the transfer is the server's choice (figure 2(b)).
func TestAnAnswerFillsReturns(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, _ := w.join(a, b)
		left, filled := a.alloc(64), a.alloc(1<<20)
		call := newLetter(wire.Call, "fill the second")
		call.Returns = []Piece{left, filled}
		from := b.alloc(1<<20 - 100)
		fillWith(from, "the answer")
		b.on = func(got *arrival) {
			answer := answerTo(got, "done")
			answer.Fills = []Fill{{Return: 1, Into: got.backs[1], Piece: from}}
			check(w.t, got.link.Send(&answer.Outgoing))
			got.slot.Release()
		}
		check(w.t, there.Send(&call.Outgoing))
		w.until("the answer", func() bool { return call.answered == 1 && call.returned == 1 })
		if !bytes.Equal(filled.Bytes[:len(from.Bytes)], from.Bytes) || filled.Bytes[len(from.Bytes)] != 0 || left.Bytes[0] != 0 {
			w.t.Error("what is in the returns is not what the answer says")
		}
		call.slot.Release()
	})
}

// What is not given back in time is taken back, and the peer cannot reach it any more.
func TestWhatIsLentExpires(t *testing.T) {
	everywhere(t, func(w *world) {
		if w.fabric == nil {
			return // it takes more than a second, and the simulator has the time
		}
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, _ := w.join(a, b)
		long := newLetter(wire.Send)
		long.Loans, long.Expiry = []Piece{a.alloc(100)}, 10*time.Millisecond
		check(w.t, there.Send(&long.Outgoing))
		w.until("it is taken back", func() bool { return long.returned == 1 })
		if !errors.Is(long.returnedErr, ErrExpired) {
			w.t.Errorf("it came back with %v", long.returnedErr)
		}
		p := pullAll(b.arrived[0], b.alloc(100))
		check(w.t, b.arrived[0].link.Pull(&p.Pull))
		w.until("the link has ended", func() bool { return len(b.ended) == 1 })
		if !p.done || p.err == nil {
			w.t.Errorf("a pull that comes too late: %v", p.err)
		}
		b.arrived[0].slot.Release()
	})
}

// A peer that dies with what it was lent does not keep it.
func TestTheEndOfALinkBringsLoansBack(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, back := w.join(a, b)
		long := newLetter(wire.Call)
		long.Loans, long.Returns = []Piece{a.alloc(100)}, []Piece{a.alloc(100)}
		check(w.t, there.Send(&long.Outgoing))
		w.until("it has arrived", func() bool { return len(b.arrived) == 1 && long.sent == 1 })
		b.arrived[0].slot.Release()
		back.Close()
		w.until("the caller is told", func() bool { return long.returned == 1 && long.answered == 1 })
		if !errors.Is(long.answerErr, ErrLost) || !errors.Is(long.returnedErr, ErrLost) {
			w.t.Errorf("%v, %v", long.answerErr, long.returnedErr)
		}
	})
}

// A descriptor grants exactly its bytes, for exactly its operation, until exactly its end, to exactly its peer.
func TestAPeerCannotDoMoreThanItWasLent(t *testing.T) {
	for name, misuse := range map[string]func(i *intruder, m *wire.Message, read verbs.Span) error{
		"write to a loan": func(i *intruder, m *wire.Message, s verbs.Span) error {
			return i.pair.Write(i.port.Tag(4), s, remote(m.Loans.All()[0]), 0)
		},
		"read a return": func(i *intruder, m *wire.Message, s verbs.Span) error {
			return i.pair.Read(i.port.Tag(4), s, remote(m.Returns.All()[0]), 0)
		},
		"read beyond it": func(i *intruder, m *wire.Message, s verbs.Span) error {
			r := remote(m.Loans.All()[0])
			r.Address++
			return i.pair.Read(i.port.Tag(4), s, r, 0)
		},
		"read before it": func(i *intruder, m *wire.Message, s verbs.Span) error {
			r := remote(m.Loans.All()[0])
			r.Address--
			return i.pair.Read(i.port.Tag(4), s, r, 0)
		},
		"guess a key": func(i *intruder, m *wire.Message, s verbs.Span) error {
			r := remote(m.Loans.All()[0])
			r.Key++
			return i.pair.Read(i.port.Tag(4), s, r, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(w *world) {
				p := w.newProcess(Config{})
				i, l := w.intrude(p)
				call := newLetter(wire.Call)
				call.Loans, call.Returns = []Piece{p.alloc(100)}, []Piece{p.alloc(100)}
				check(w.t, l.Send(&call.Outgoing))
				w.until("it was sent", func() bool { return call.sent == 1 })
				w.while(time.Millisecond)
				var m wire.Message
				check(w.t, m.Take(i.memory.Bytes()[1<<15:][:wire.Overhead(0, 2, 0)]))
				check(w.t, misuse(i, &m, i.memory.Span(0, 100)))
				check(w.t, i.pair.Flush())
				w.until("the link has ended", func() bool { return len(p.ended) == 1 && call.returned == 1 })
				if i.status == verbs.OK {
					w.t.Error("it was let in")
				}
			})
		})
	}
}

func remote(s wire.Span) verbs.RemoteSpan {
	return verbs.RemoteSpan{Address: s.Address, Length: s.Length + 8, Key: s.Key}
}

// An answer may claim to have filled only what was lent (the original returned whatever address it was told).
func TestAnAnswerCannotFillWhatItWasNotLent(t *testing.T) {
	for _, fill := range []wire.Fill{{Return: 1, Length: 1}, {Return: 0, Length: 101}} {
		everywhere(t, func(w *world) {
			p := w.newProcess(Config{})
			i, l := w.intrude(p)
			call := newLetter(wire.Call)
			call.Returns = []Piece{p.alloc(100)}
			check(w.t, l.Send(&call.Outgoing))
			w.until("it was sent", func() bool { return call.sent == 1 })
			m := &wire.Message{Head: wire.Head{Type: wire.Answer, From: bob, To: alice, Number: 1, Credit: 2}}
			m.Fills.Add(fill)
			i.say(m.Append(nil))
			w.until("the link has ended", func() bool { return len(p.ended) == 1 })
			if !errors.Is(p.ended[0], ErrPeer) || call.slot != nil {
				w.t.Errorf("%v", p.ended[0])
			}
		})
	}
}

package link

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// joinByRings makes a link whose ends have lent each other rings.
func (w *world) joinByRings(a, b *process) (there, back *Link) {
	w.t.Helper()
	there, back = w.join(a, b)
	check(w.t, there.Send(&newLetter(wire.Send, "the first").Outgoing))
	w.until("both have rings", func() bool { return len(b.arrived) > 0 && there.far.cells > 0 && back.far.cells > 0 })
	if n := len(b.arrived); n != 1 {
		w.t.Fatalf("%d messages have come, of one", n)
	}
	b.arrived[0].slot.Release()
	b.arrived = nil
	return there, back
}

// polling is a world whose loops never sleep.
func polling(t *testing.T) *world { return &world{t: t, polls: true} }

func TestShortMessagesTakeCells(t *testing.T) {
	w := polling(t)
	a, b := w.newProcess(Config{}), w.newProcess(Config{})
	there, back := w.joinByRings(a, b)
	b.on = func(got *arrival) {
		check(t, got.link.Send(&answerTo(got, got.items...).Outgoing))
		got.slot.Release()
	}
	sends, written, copied := there.sends+back.sends, there.far.written, a.hub.counts.Copied+b.hub.counts.Copied
	for i := range 5 * ringSize {
		call := newLetter(wire.Call, fmt.Sprintf("call %3d", i), "and more")
		check(t, there.Send(&call.Outgoing))
		if call.sent > 0 {
			t.Fatal("its owner was told from inside Send")
		}
		w.until("it is answered", func() bool { return call.answered == 1 && call.sent == 1 })
		if !slices.Equal(call.answer, []string{fmt.Sprintf("call %3d", i), "and more"}) || call.sentErr != nil || call.answerErr != nil {
			t.Fatalf("%q, %v, %v", call.answer, call.sentErr, call.answerErr)
		}
		call.slot.Release()
	}
	if there.sends+back.sends != sends || there.far.written != written+5*ringSize || back.far.written != 5*ringSize {
		t.Errorf("%d messages were sent otherwise; %d and %d cells", there.sends+back.sends-sends, there.far.written, back.far.written)
	}
	const each = len("call 000and more")
	if n := a.hub.counts.Copied + b.hub.counts.Copied - copied; n != 5*ringSize*4*uint64(each) { // twice there and twice back
		t.Errorf("%d bytes were copied", n)
	}
	if held := b.hub.loose.held() + a.hub.loose.held(); held > 0 || b.hub.loose.count() > blockSlots {
		t.Errorf("%d slots are held, %d were made", held, b.hub.loose.count())
	}
}

// Messages come in order, whichever way each takes: short ones by cells as long as there are any, the others by Send.
func TestCellsAndSendsComeInOrder(t *testing.T) {
	for seed := range uint64(20) {
		w := polling(t)
		chance := rand.New(rand.NewPCG(seed, 1))
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, _ := w.joinByRings(a, b)
		next := 0
		b.on = func(got *arrival) {
			if want := fmt.Sprint(next, " "); !strings.HasPrefix(got.items[0], want) {
				t.Fatalf("seed %d: %q came instead of message %s", seed, got.items[0], want)
			}
			next++
			got.slot.Release()
		}
		const count = 400
		for i := range count {
			text := fmt.Sprint(i, " ", strings.Repeat("x", chance.IntN(2)*300))
			check(t, there.Send(&newLetter(wire.Send, text).Outgoing))
			for range chance.IntN(3) {
				_, err := w.loops[chance.IntN(len(w.loops))].Turn()
				check(t, err)
			}
		}
		w.until("all have come", func() bool { return next == count })
		if there.far.written < count/8 || there.sends < count/4 {
			t.Errorf("seed %d: %d cells, %d sends", seed, there.far.written, there.sends)
		}
	}
}

// What comes out of a cell counts as a message: who holds it all is felt.
func TestCellsTakeCredits(t *testing.T) {
	w := polling(t)
	a, b := w.newProcess(Config{}), w.newProcess(Config{FirstWindow: 4, Window: 4}).full()
	there, _ := w.joinByRings(a, b)
	for range 10 {
		check(t, there.Send(&newLetter(wire.Send, "short").Outgoing))
	}
	w.until("as many have come as may", func() bool { return len(b.arrived) == 4 })
	w.while(5 * wordDelay)
	if len(b.arrived) != 4 || there.waiting.Len() != 6 {
		t.Errorf("%d have come, %d wait", len(b.arrived), there.waiting.Len())
	}
	b.on = func(got *arrival) { got.slot.Release() }
	for _, got := range b.arrived {
		got.slot.Release()
	}
	w.until("the others come", func() bool { return len(b.arrived) == 10 })
}

// A ring goes from one peer to the next, and nothing of what the first one wrote.
func TestRingsAreLentAgain(t *testing.T) {
	w := polling(t)
	b := w.newProcess(Config{FirstWindow: 2 * ringSize})
	for range maxRings + 2 {
		a := w.newProcess(Config{})
		there, back := w.joinByRings(a, b)
		for range 4 {
			w.turn()
		}
		if len(b.arrived) > 0 || back.HasEnded() {
			t.Fatalf("%d messages of the peer before; the link has ended: %t", len(b.arrived), back.HasEnded())
		}
		for range ringSize - 1 {
			check(t, there.Send(&newLetter(wire.Send, "not read").Outgoing))
		}
		back.Close()
		w.until("the other end has heard", func() bool { return len(a.ended) == 1 })
	}
	if len(b.hub.rings.links) != 0 || b.hub.rings.made != 1 {
		t.Errorf("%d rings are lent, %d were made", len(b.hub.rings.links), b.hub.rings.made)
	}
}

func TestRingsAreBounded(t *testing.T) {
	w := polling(t)
	b := w.newProcess(Config{})
	b.on = func(got *arrival) { got.slot.Release() }
	var links []*Link
	for range maxRings + 3 {
		there, _ := w.join(w.newProcess(Config{}), b)
		links = append(links, there)
	}
	for round := range 2 {
		for _, l := range links {
			check(t, l.Send(&newLetter(wire.Send, "hello").Outgoing))
		}
		w.until("all have come", func() bool { return len(b.arrived) == (round+1)*len(links) })
	}
	w.until("rings are lent", func() bool {
		return slices.IndexFunc(links[:maxRings], func(l *Link) bool { return l.far.cells == 0 }) < 0
	})
	if links[maxRings].far.cells != 0 || len(b.hub.rings.links) != maxRings {
		t.Errorf("%d rings are lent", len(b.hub.rings.links))
	}
}

// Who has heard nothing of what he wrote to a cell hears that it is lost.
func TestCellsOfALinkThatEnds(t *testing.T) {
	w := polling(t)
	a, b := w.newProcess(Config{}), w.newProcess(Config{FirstWindow: 8})
	there, _ := w.joinByRings(a, b)
	call, send, gone := newLetter(wire.Call, "call"), newLetter(wire.Send, "send"), newLetter(wire.Send, "elsewhere")
	for _, l := range []*letter{call, send, gone} {
		check(t, there.Send(&l.Outgoing))
	}
	if list := there.UnderWay(bob); len(list) != 3 || !there.Disown(&gone.Outgoing) {
		t.Fatalf("%d are under way", len(list))
	}
	there.Close()
	if call.sent != 1 || !errors.Is(call.sentErr, ErrLost) || send.sent != 1 || !errors.Is(send.sentErr, ErrLost) || gone.sent != 0 {
		t.Errorf("told %d times %v, %d times %v, %d times", call.sent, call.sentErr, send.sent, send.sentErr, gone.sent)
	}
	w.turn()
	if held := a.hub.leaving.count() - len(a.hub.leaving.free); held != 1 { // one is where messages to cells are put together
		t.Errorf("%d slots are gone", held)
	}
}

// writeCell writes bytes to the next cell of the ring that the intruder was lent, under an inscription.
func (i *intruder) writeCell(ring wire.Span, in inscription, b []byte) {
	i.world.t.Helper()
	n := copy(i.memory.Bytes(), b)
	in.put(i.memory.Bytes()[n:])
	end := ring.Address + uint64(in.number())*cellSize
	n += wordSize
	to := verbs.RemoteSpan{Address: end - uint64(n), Length: uint64(n), Key: ring.Key}
	check(i.world.t, i.pair.Write(i.port.Tag(3), i.memory.Span(0, n), to, verbs.Quiet))
	check(i.world.t, i.pair.Flush())
}

// lureRing has a process lend an intruder a ring.
func (i *intruder) lureRing(p *process) (ring wire.Span) {
	i.world.t.Helper()
	i.say((&wire.Message{Head: wire.Head{Type: wire.Send, From: alice, To: bob, Number: 1, Credit: 2}}).Append(nil))
	var m wire.Message
	i.world.until("it has a ring", func() bool {
		return m.Take(i.memory.Bytes()[1<<15:][:wire.Overhead(0, 1, 0)]) == nil && m.Head.Type == wire.Ring
	})
	p.arrived[0].slot.Release()
	p.arrived = nil
	return m.Returns.All()[0]
}

func TestAPeerThatLiesInItsCells(t *testing.T) {
	good := func(number uint64, change func(*wire.Head)) []byte {
		m := &wire.Message{Head: wire.Head{Type: wire.Send, From: alice, To: bob, Number: number, Credit: 2}}
		change(&m.Head)
		return m.Append(nil)
	}
	as := func(number uint32, b []byte) inscription { return inscribe(number, 1, len(b)) }
	none := func(*wire.Head) {}
	for name, lie := range map[string]func(i *intruder, ring wire.Span){
		"no message at all": func(i *intruder, ring wire.Span) {
			b := []byte("GET / HTTP/1.1\r\n\r\n")
			i.writeCell(ring, as(1, b), b)
		},
		"nothing":            func(i *intruder, ring wire.Span) { i.writeCell(ring, as(1, nil), nil) },
		"longer than a cell": func(i *intruder, ring wire.Span) { i.writeCell(ring, inscribe(1, 1, cellSize), nil) },
		"cells that were not written to": func(i *intruder, ring wire.Span) {
			b := good(2, func(h *wire.Head) { h.Cells = 1 })
			i.writeCell(ring, as(1, b), b)
		},
		"more than it may": func(i *intruder, ring wire.Span) {
			for n := range uint32(4) {
				b := good(uint64(n+2), none)
				i.writeCell(ring, as(n+1, b), b)
			}
		},
		"a second ring": func(i *intruder, _ wire.Span) {
			m := &wire.Message{Head: wire.Head{Type: wire.Ring, Credit: 2}}
			m.Returns.Add(wire.Span{Address: 1 << 20, Length: cellSize, Key: 1})
			i.say(m.Append(nil))
			i.say(m.Append(nil))
		},
		"a ring of half a cell": func(i *intruder, _ wire.Span) {
			m := &wire.Message{Head: wire.Head{Type: wire.Ring, Credit: 2}}
			m.Returns.Add(wire.Span{Address: 1 << 20, Length: cellSize / 2, Key: 1})
			i.say(m.Append(nil))
		},
		"a ring that is too large": func(i *intruder, _ wire.Span) {
			m := &wire.Message{Head: wire.Head{Type: wire.Ring, Credit: 2}}
			m.Returns.Add(wire.Span{Address: 1 << 20, Length: 1 << 40, Key: 1})
			i.say(m.Append(nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := polling(t)
			p := w.newProcess(Config{FirstWindow: 2, Window: 2}).full()
			i, _ := w.intrude(p)
			lie(i, i.lureRing(p))
			w.until("the link has ended", func() bool { return len(p.ended) == 1 })
			if !errors.Is(p.ended[0], ErrPeer) {
				t.Errorf("the link ended with %v", p.ended[0])
			}
		})
	}
}

// A cell that waits for messages which never come holds up nobody but its writer.
func TestACellThatWaitsForEver(t *testing.T) {
	w := polling(t)
	p, other := w.newProcess(Config{}), w.newProcess(Config{})
	i, l := w.intrude(p)
	ring := i.lureRing(p)
	m := &wire.Message{Head: wire.Head{Type: wire.Send, From: alice, To: bob, Number: 2, Credit: 2}}
	b := m.Append(nil)
	i.writeCell(ring, inscribe(1, 100, len(b)), b)
	there, _ := w.joinByRings(other, p)
	for range 2 * ringSize {
		check(t, there.Send(&newLetter(wire.Send, "go on").Outgoing))
		w.until("it has come", func() bool { return len(p.arrived) > 0 })
		p.arrived[0].slot.Release()
		p.arrived = nil
	}
	if l.HasEnded() || l.arrivals != 1 {
		t.Errorf("the link has ended: %t; %d messages", l.HasEnded(), l.arrivals)
	}
}

// Whatever lies in a cell is taken for what it is, or costs its writer the link.
func FuzzCells(f *testing.F) {
	m := &wire.Message{Head: wire.Head{Type: wire.Send, From: alice, To: bob, Number: 2, Credit: 2}}
	f.Add(uint32(1), uint16(1), uint16(wire.HeadSize), m.Append(nil))
	f.Add(uint32(2), uint16(9), uint16(cellSize), []byte{1})
	f.Fuzz(func(t *testing.T, number uint32, sent, length uint16, b []byte) {
		if len(b) > cellSize-wordSize {
			return
		}
		w := polling(t)
		p := w.newProcess(Config{FirstWindow: 2, Window: 2}).full()
		i, l := w.intrude(p)
		ring := i.lureRing(p)
		i.writeCell(ring, inscribe(number%ringSize+1, sent, int(length)), b)
		for range 8 {
			w.turn()
		}
		if taken := l.arrivals - 1; taken > 1 {
			t.Errorf("%d messages were taken from one cell", taken)
		}
	})
}

// A slot may be smaller than a cell: what fits into it just so, and has no room for a word behind it, is sent.
func TestCellsOfSmallSlots(t *testing.T) {
	w := polling(t)
	config := Config{SlotSize: 2 * wire.HeadSize, FirstWindow: 2 * ringSize}
	a, b := w.newProcess(config), w.newProcess(config)
	there, _ := w.joinByRings(a, b)
	const most = 2*wire.HeadSize - 4 - wire.HeadSize // one item, and its size
	for n := range most + 1 {
		check(t, there.Send(&newLetter(wire.Send, strings.Repeat("x", n)).Outgoing))
		w.until("it has come", func() bool { return len(b.arrived) > 0 })
		if got := b.arrived[0]; len(got.items[0]) != n {
			t.Fatalf("%d bytes have come, of %d", len(got.items[0]), n)
		}
		b.arrived[0].slot.Release()
		b.arrived = nil
	}
	if there.far.written < most/2 {
		t.Errorf("%d cells were written to", there.far.written)
	}
}

// takeAll takes all slots that there can be, and returns what gives them back.
func (s *slots) takeAll() (giveBack func()) {
	var all []*Slot
	for one := s.take(); one != nil; one = s.take() {
		all = append(all, one)
	}
	return func() {
		for _, one := range all {
			s.give(one)
		}
	}
}

// A ring of which the peer cannot be told just now is lent later, and not for nothing.
func TestARingThatCannotBeTold(t *testing.T) {
	w := polling(t)
	a, b := w.newProcess(Config{}), w.newProcess(Config{MaxSlots: 64})
	b.on = func(got *arrival) { got.slot.Release() }
	there, back := w.join(a, b)
	giveBack := b.hub.leaving.takeAll()
	check(t, there.Send(&newLetter(wire.Send, "no room for a ring").Outgoing))
	w.until("it has come", func() bool { return len(b.arrived) == 1 })
	if back.ring != nil || len(b.hub.rings.links) > 0 {
		t.Error("a ring is lent, and nobody knows")
	}
	giveBack()
	check(t, there.Send(&newLetter(wire.Send, "now").Outgoing))
	w.until("it has a ring", func() bool { return there.far.cells > 0 })
}

// What follows a cell that there is no memory for does not come before it: the link ends instead.
func TestACellThatThereIsNoMemoryFor(t *testing.T) {
	w := polling(t)
	a, b := w.newProcess(Config{}), w.newProcess(Config{MaxSlots: 64, FirstWindow: 8})
	there, _ := w.joinByRings(a, b)
	b.hub.loose.takeAll()
	check(t, there.Send(&newLetter(wire.Send, "short").Outgoing))
	check(t, there.Send(&newLetter(wire.Send, strings.Repeat("long", 100)).Outgoing))
	w.until("the link has ended", func() bool { return len(b.ended) == 1 || len(b.arrived) > 0 })
	if len(b.arrived) > 0 || !errors.Is(b.ended[0], ErrFull) {
		t.Errorf("%d messages have come; %v", len(b.arrived), b.ended)
	}
}

// Where each cell takes a request, the last that there is room for is reported: somebody has to look for room again.
func TestAnswersThatWaitForRoom(t *testing.T) {
	w := polling(t)
	w.lanes = soft.TCP
	a, b := w.newProcess(Config{}), w.newProcess(Config{SendDepth: 32, FirstWindow: 2 * ringSize})
	there, back := w.joinByRings(a, b)
	var calls []*letter
	for range ringSize + 4 {
		calls = append(calls, newLetter(wire.Call, "?"))
		check(t, there.Send(&calls[len(calls)-1].Outgoing))
	}
	w.until("all have come", func() bool { return len(b.arrived) == len(calls) && back.flight.Empty() && there.flight.Empty() })
	w.while(5 * wordDelay) // what the two have to say to each other is said
	for back.pair.Room() > ringSize-1 {
		check(t, back.pair.Write(back.tag(tagWritten), verbs.Span{}, verbs.RemoteSpan{}, verbs.Quiet))
	}
	for _, got := range b.arrived {
		check(t, back.Send(&answerTo(got, "!").Outgoing))
	}
	_, err := b.loop.Turn() // before the peer has taken anything
	check(t, err)
	for i, call := range calls {
		w.until(fmt.Sprintf("call %d is answered", i), func() bool { return call.answered == 1 })
		call.slot.Release()
	}
}

// Who hears of a cell, its reader or its writer, may close everything.
func TestWhoHearsOfACellMayCloseAll(t *testing.T) {
	for name, prepare := range map[string]func(a, b *process, first *told){
		"the reader": func(_, b *process, _ *told) { b.on = func(*arrival) { check(t, b.hub.Close()) } },
		"the reader, its link": func(_, b *process, _ *told) {
			b.on = func(got *arrival) { got.slot.Release(); got.link.Close() }
		},
		"the writer": func(a, _ *process, first *told) { first.onSent = func() { check(t, a.hub.Close()) } },
	} {
		t.Run(name, func(t *testing.T) {
			w := polling(t)
			a, b := w.newProcess(Config{}), w.newProcess(Config{FirstWindow: 8})
			there, _ := w.joinByRings(a, b)
			first := newTold(wire.Call, "first")
			prepare(a, b, first)
			letters := []*letter{&first.letter, newLetter(wire.Call, "second"), newLetter(wire.Call, strings.Repeat("long", 100))}
			check(t, there.Send(&first.Outgoing))
			for _, l := range letters[1:] {
				check(t, there.Send(&l.Outgoing))
			}
			w.until("all were told", func() bool {
				return !slices.ContainsFunc(letters, func(l *letter) bool { return l.sent+l.answered == 0 }) && len(a.ended) == 1
			})
			for _, l := range letters {
				if l.sent != 1 || l.answered > 1 || l.sentErr == nil && l.answered != 1 {
					t.Errorf("told %d times %v, %d times %v", l.sent, l.sentErr, l.answered, l.answerErr)
				}
			}
		})
	}
}

package link

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// intruder is a peer that says what it likes: a queue pair, driven by hand.
type intruder struct {
	*process
	port   loop.Port
	pair   *verbs.QueuePair
	memory *verbs.Memory
	isUp   bool
	status verbs.Status // of what was posted with tag 4
}

// Step hears how what it has posted ends; that is the other end's affair.
func (i *intruder) Step(c *verbs.Completion) {
	i.isUp = i.isUp || c.Op == verbs.OpConnect
	if c.Tag == 4 {
		i.status = c.Status
	}
	if c.Tag == 1 && c.Status == verbs.OK {
		_ = i.pair.Receive(i.port.Tag(1), i.memory.Span(1<<15, 1<<15)) // until the other end closes the link
	}
}

// intrude makes an intruder that is linked with p.
func (w *world) intrude(p *process) (*intruder, *Link) {
	w.t.Helper()
	i := &intruder{process: w.newProcess(Config{})}
	l, err := p.hub.NewLink()
	check(w.t, err)
	i.port, err = i.loop.Add(i)
	check(w.t, err)
	i.pair, err = i.domain.NewQueuePair(verbs.QueueConfig{Completions: i.loop.Queue()})
	check(w.t, err)
	i.memory, err = i.domain.Alloc(1<<16, 0)
	check(w.t, err)
	w.t.Cleanup(func() {
		check(w.t, i.pair.Close())
		check(w.t, i.memory.Close())
	})
	for range 32 {
		check(w.t, i.pair.Receive(i.port.Tag(1), i.memory.Span(1<<15, 1<<15)))
	}
	ready := p.ready
	check(w.t, i.pair.Connect(i.port.Tag(2), l.Address()))
	check(w.t, l.Connect(i.pair.Address(), Terms{Limit: 4096, Credit: 2}))
	w.until("the link is connected", func() bool { return p.ready > ready && i.isUp })
	return i, l
}

// say sends bytes as they are.
func (i *intruder) say(b []byte) {
	i.world.t.Helper()
	n := copy(i.memory.Bytes(), b)
	check(i.world.t, i.pair.Send(i.port.Tag(3), i.memory.Span(0, n), verbs.Quiet))
	check(i.world.t, i.pair.Flush())
}

// Whoever breaks the rules loses its link, and nothing else.
func TestAPeerThatLiesLosesItsLink(t *testing.T) {
	lie := func(change func(m *wire.Message)) []byte {
		m := &wire.Message{Head: wire.Head{Type: wire.Send, From: alice, To: bob, Number: 1, Credit: 2}}
		change(m)
		return m.Append(nil)
	}
	for name, lies := range map[string][][]byte{
		"no message at all":       {[]byte("GET / HTTP/1.1\r\n\r\n")},
		"nothing":                 {{}},
		"an unasked answer":       {lie(func(m *wire.Message) { m.Head.Type = wire.Answer })},
		"credit that goes back":   {lie(func(m *wire.Message) { m.Head.Credit = 1 })},
		"credit without end":      {lie(func(m *wire.Message) { m.Head.Credit = 1 << 30 })},
		"taken before it is sent": {lie(func(m *wire.Message) { m.Head.Taken = 1 })},
		"more than it may":        {lie(func(*wire.Message) {}), lie(func(*wire.Message) {}), lie(func(*wire.Message) {})},
		"longer than a slot":      {make([]byte, 5000)},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(w *world) {
				p := w.newProcess(Config{FirstWindow: 2, Window: 2}).full()
				other := w.newProcess(Config{})
				honest, _ := w.join(other, p)
				i, _ := w.intrude(p)
				for _, one := range lies {
					i.say(one)
					w.while(time.Millisecond)
				}
				w.until("the link has ended", func() bool { return len(p.ended) == 1 })
				if err := p.ended[0]; !errors.Is(err, ErrPeer) && name != "longer than a slot" {
					w.t.Errorf("the link ended with %v", err)
				}
				p.on = func(got *arrival) { check(w.t, got.link.Send(&answerTo(got, "still here").Outgoing)) }
				call := newLetter(wire.Call)
				check(w.t, honest.Send(&call.Outgoing))
				w.until("an honest peer is answered", func() bool { return call.answered == 1 && call.answerErr == nil })
			})
		})
	}
}

func TestAPeerMayNotChatter(t *testing.T) {
	everywhere(t, func(w *world) {
		p := w.newProcess(Config{})
		i, _ := w.intrude(p)
		word := (&wire.Message{Head: wire.Head{Type: wire.Word, Credit: 2}}).Append(nil)
		for range maxIdleWords + 1 {
			i.say(word)
			w.while(time.Millisecond)
		}
		w.until("the link has ended", func() bool { return len(p.ended) == 1 })
	})
}

// Only who was called answers.
func TestAnAnswerInTheNameOfSomebodyElse(t *testing.T) {
	everywhere(t, func(w *world) {
		p := w.newProcess(Config{})
		i, l := w.intrude(p)
		call := newLetter(wire.Call)
		check(w.t, l.Send(&call.Outgoing))
		w.until("it is sent", func() bool { return call.sent == 1 })
		i.say((&wire.Message{Head: wire.Head{Type: wire.Answer, From: alice, To: alice, Number: 1, Credit: 2, Taken: 1}}).Append(nil))
		w.until("the link has ended", func() bool { return len(p.ended) == 1 })
		if !errors.Is(p.ended[0], ErrPeer) || !errors.Is(call.answerErr, ErrLost) {
			w.t.Errorf("%v, %v", p.ended[0], call.answerErr)
		}
	})
}

// TestANoticeIsNoMessage: a peer that was lent memory can write there with a notice, which takes a receive, and says more bytes than
// that has.
func TestANoticeIsNoMessage(t *testing.T) {
	everywhere(t, func(w *world) {
		p := w.newProcess(Config{})
		i, l := w.intrude(p)
		call := newLetter(wire.Call)
		call.Returns = []Piece{p.alloc(8192)}
		check(w.t, l.Send(&call.Outgoing))
		var m wire.Message
		w.until("it is sent", func() bool { return call.sent == 1 && m.Take(i.memory.Bytes()[1<<15:][:wire.Overhead(0, 1, 0)]) == nil })
		check(w.t, i.pair.WriteImm(i.port.Tag(3), i.memory.Span(0, 8192), remote(m.Returns.All()[0]), 0, verbs.Quiet))
		check(w.t, i.pair.Flush())
		w.until("the link has ended", func() bool { return len(p.ended) == 1 })
		if !errors.Is(p.ended[0], ErrPeer) {
			w.t.Errorf("the link ended with %v", p.ended[0])
		}
	})
}

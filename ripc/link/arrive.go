package link

import (
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// maxIdleWords is how many words in a row may say nothing new. An honest end sends none, but a word may cross with what it
// answers.
const maxIdleWords = 16

func (h *Hub) stepReceived(s *Slot, c *verbs.Completion) {
	l := h.links[c.Queue]
	if l == nil {
		h.post(s)
		return
	}
	if err := verbs.CompletionError(c); err != nil {
		h.post(s)
		l.end(err) // the message was too long, or the device is lost
		return
	}
	h.counts.Received++
	l.arrivals++
	s.received(c.Bytes)
	s.link, s.kept = l, false
	l.used = h.config.Loop.Now()
	if !l.take(s) && s.link == l {
		h.post(s)
	}
	l.pump()
}

// take reads a message, and reports whether somebody keeps its slot.
func (l *Link) take(s *Slot) (kept bool) {
	m := &l.hub.message
	if err := m.Take(s.bytes); err != nil {
		l.violated("%w", err)
		return false
	}
	isAnswer := m.Head.Type == wire.Answer || m.Head.Type == wire.Refusal && l.calls[m.Head.Number] != nil
	if m.Head.Type == wire.Refusal && !isAnswer && !l.refuse(m.Head.Number, m.Head.Code) {
		l.violated("a refusal of message %d, which does not wait for it", m.Head.Number)
		return false
	}
	if err := l.hear(m.Head.Credit, m.Head.Taken); err != nil {
		l.violated("%w", err)
		return false
	}
	l.confirm()
	for _, number := range m.Releases.All() {
		l.released(number)
	}
	switch {
	case m.Head.Type == wire.Word:
		l.takeWord(m)
		return false
	case isAnswer:
		return l.takeAnswer(m, s)
	}
	return l.takeMessage(m, s)
}

// takeWord ends the link of a peer that keeps talking and says nothing.
func (l *Link) takeWord(m *wire.Message) {
	if m.Head.Code == wire.Moved {
		l.takeFarewell()
		return
	}
	if l.idle++; m.Releases.Len() > 0 {
		l.idle = 0
	}
	if l.idle > maxIdleWords {
		l.violated("%d words without news", l.idle)
	}
}

// takeMessage hands a message to the handler, if the peer was allowed to send it.
func (l *Link) takeMessage(m *wire.Message, s *Slot) bool {
	if l.peerLeaves && m.Head.Type != wire.Refusal {
		l.violated("a %v after its farewell", m.Head.Type)
		return false
	}
	if l.left() <= 0 {
		l.violated("a message more than the %d that it may send", l.told)
		return false
	}
	l.arrived++
	l.taken++
	if m.Head.Type == wire.Refusal {
		l.freed++
		l.owe()
		return false
	}
	l.hub.config.Handler.Arrived(l, m, s)
	l.owe()
	return true
}

// takeAnswer hands an answer to whoever called. It must fit what was asked: only what this peer was lent can have been
// filled, once, and no further than it was lent.
func (l *Link) takeAnswer(m *wire.Message, s *Slot) bool {
	o := l.calls[m.Head.Number]
	if o == nil {
		l.violated("an answer to message %d, which is no call, or was answered", m.Head.Number)
		return false
	}
	if m.Head.Type == wire.Answer && m.Head.From != o.Head.To {
		l.violated("an answer from %v to a message to %v", m.Head.From, o.Head.To)
		return false
	}
	for _, f := range m.Fills.All() {
		if int(f.Return) >= len(o.Returns) || f.Length > uint64(o.Returns[f.Return].Span.Length) {
			l.violated("an answer that fills %d bytes of return %d, which it was not lent", f.Length, f.Return)
			return false
		}
	}
	delete(l.calls, o.number)
	s.kept = true
	o.answer = s
	l.takeBack(&o.returns, o)
	o.deliver()
	return true
}

// deliver hands the answer over when everything that it has to wait for has come: the message was sent, and the peer can
// write no more.
func (o *Outgoing) deliver() {
	if s := o.answer; s != nil && o.isSent && o.returns.isBack() {
		o.answer = nil
		o.answered(s, nil)
	}
}

func (o *Outgoing) answered(s *Slot, err error) {
	if !o.abandoned {
		o.Owner.Answered(o, s, err)
	} else if s != nil {
		s.Release()
	}
}

// Release gives the slot of a message back, and with it a credit to the peer.
func (s *Slot) Release() {
	l := s.link
	if l == nil {
		return
	}
	h := l.hub
	if kept := s.kept; kept || l.state == ended {
		h.promised--
		h.post(s)
		return
	}
	l.freed++
	h.post(s)
	l.pump()
	l.owe()
}

package link

import (
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// maxIdleWords is how many words in a row may say nothing new. An honest end sends none, but a word may cross with what it
// answers.
const maxIdleWords = 16

func (h *Hub) stepReceived(s *Slot, c *verbs.Completion) {
	l := h.links.get(uint64(c.Queue))
	if l == nil || c.Status != verbs.OK || c.Op != verbs.OpReceive {
		h.stepMissed(l, s, c)
		return
	}
	if l.ring != nil { // what was written before this was sent comes first
		if l.emptyCells(); l.state == ended {
			h.post(s)
			return
		}
	}
	l.received++
	l.takeIn(s, int(c.Bytes))
}

// takeIn takes in a message of so many bytes that has come in a slot.
func (l *Link) takeIn(s *Slot, bytes int) {
	h := l.hub
	h.counts.Received++
	l.arrivals++
	if h.isPolled && l.ring == nil && l.arrivals%h.ringEvery == 0 {
		l.lendRing()
	}
	s.link, s.length, s.kept = l, bytes, false
	l.taking = true
	if !l.take(s) && s.link == l {
		h.free(s)
	}
	l.taking = false
	l.pump()
	l.owe()
}

// stepMissed hears of a message that was too long, of a device that is lost, or of a link that has ended. What comes with a number is no
// message: of a write into what was lent, the slot has nothing, and the length may be more than it has.
func (h *Hub) stepMissed(l *Link, s *Slot, c *verbs.Completion) {
	h.post(s)
	if l == nil {
		return
	}
	if err := completionError(c); err != nil {
		l.end(err)
		return
	}
	l.violated("a %v instead of a message", c.Op)
}

// take reads a message, and reports whether somebody keeps its slot.
func (l *Link) take(s *Slot) (kept bool) {
	m := &l.hub.message
	if err := m.Take(s.Bytes()); err != nil {
		l.violated("%w", err)
		return false
	}
	isAnswer := m.Head.Type == wire.Answer
	if m.Head.Type == wire.Refusal {
		isAnswer = l.calls.get(m.Head.Number) != nil
		if !isAnswer && !l.refuse(m.Head.Number, m.Head.Code) {
			l.violated("a refusal of message %d, which does not wait for it", m.Head.Number)
			return false
		}
	}
	if !l.far.hear(m.Head.Cells) {
		l.violated("%d cells are empty, of %d that were written to", m.Head.Cells, l.far.written)
		return false
	}
	if !l.hear(m.Head.Credit, m.Head.Taken) {
		l.violated("%d messages may be sent, %d were taken, after %d, %d and %d sent", m.Head.Credit, m.Head.Taken, l.credit, l.heard, l.credits.sent)
		return false
	}
	if !l.unheard.Empty() {
		if l.confirm(); l.state == ended { // by somebody who was told
			return false
		}
	}
	for _, number := range m.Releases.All() {
		l.released(number)
	}
	switch {
	case isAnswer:
		return l.takeAnswer(m, s)
	case m.Head.Type == wire.Word:
		l.takeWord(m)
		return false
	case m.Head.Type == wire.GiveUp:
		l.takeGiveUp(m)
		return false
	case m.Head.Type == wire.Ring:
		l.takeRing(m.Returns.All()[0])
		return false
	case m.Head.Type == wire.Stop:
		l.takeStop(m.Head.To)
		return false
	case m.Head.Type == wire.Go:
		l.takeGo(m.Head.To)
		return false
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
		return false
	}
	l.hub.config.Handler.Arrived(l, m, s)
	if l.held() > l.hub.places && s.link == l {
		l.excuse(m.Head.To, s)
	}
	return true
}

// takeAnswer hands an answer to whoever called. It must fit what was asked: only what this peer was lent can have been
// filled, once, and no further than it was lent.
func (l *Link) takeAnswer(m *wire.Message, s *Slot) bool {
	o := l.calls.get(m.Head.Number)
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
	l.calls.remove(o.Head.Number)
	s.kept = true
	o.answer = s
	if !o.returns.isBack() {
		l.takeBack(&o.returns, o)
	}
	o.deliver()
	return true
}

// deliver hands the answer over when everything that it has to wait for has come: the message was sent, and the peer can
// write no more.
func (o *Outgoing) deliver() {
	if o.answer != nil && o.isSent && o.returns.isBack() {
		o.answered(o.answer, nil)
	}
}

func (o *Outgoing) answered(s *Slot, err error) {
	o.answer = nil
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
	if s.kept || l.state == ended {
		h.promised--
		h.free(s)
		if of := s.holding; of != nil {
			s.holding = nil
			of.released(l)
		}
		return
	}
	l.freed++
	h.free(s)
	if l.taking {
		return // it sees to the rest when it has taken what it takes
	}
	l.pump()
	l.owe()
}

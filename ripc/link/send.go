package link

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// Send sends o as soon as it can: at once, or when the peer has let more come. The error says what is wrong with o; all else
// its owner is told.
func (l *Link) Send(o *Outgoing) error {
	if l.state == ended {
		return fmt.Errorf("%w: the link is %w", ErrNotSent, ErrClosed)
	}
	if err := o.check(l.limitNow()); err != nil {
		return err
	}
	if l.IsLeaving() && o.needsCredit() && !o.Credit {
		return fmt.Errorf("%w: the link is being left", ErrNotSent)
	}
	if o.Head.Type == wire.Refusal && l.urgent.Len()+l.refused.Len() >= maxRefusals {
		l.violated("%d messages that were refused, and no room for the refusals", maxRefusals)
		return fmt.Errorf("%w: the link is %w", ErrNotSent, ErrClosed)
	}
	if o.refusesSend() {
		l.refused.Push(l.taken) // it is the last that came
	}
	if o.needsCredit() {
		l.waiting.Push(o)
	} else {
		l.urgent.Push(o)
	}
	l.pump()
	return nil
}

// maxRefusals is how many a peer can have wait that sends to nobody, and does not take what it is told.
const maxRefusals = 1024

// limitNow is the limit, or our own as long as the peer's is not known.
func (l *Link) limitNow() int {
	if l.limit == 0 {
		return l.hub.config.SlotSize
	}
	return l.limit
}

// MaySend reports whether a short message would be sent at once.
func (l *Link) MaySend() bool {
	return l.state == ready && !l.IsLeaving() && l.waiting.Empty() && l.maySend() && l.pair.Room() > 1
}

// Cancel takes o back if it has not been sent, and reports whether that was so. Its owner is told nothing then.
func (l *Link) Cancel(o *Outgoing) bool {
	fits := func(other *Outgoing) bool { return other == o }
	return l.waiting.Remove(fits) || l.urgent.Remove(fits)
}

// Abandon says that the owner of a message does not want its answer any more. What it lends stays until the peer is done with it, or its
// time is over: a peer that uses what was taken back breaks the link, and cannot know that nobody waits.
func (l *Link) Abandon(o *Outgoing) { o.abandoned = true }

// TakeBack takes back what a message lends, which the peer must not use any more.
func (l *Link) TakeBack(o *Outgoing) {
	if l.state != ended {
		l.takeBack(&o.loans, o)
		l.takeBack(&o.returns, o)
	}
}

// IsPosted reports whether the NIC has the message. Items that were copied are the program's again.
func (o *Outgoing) IsPosted() bool { return o.isPosted }

// pump sends what can be sent.
func (l *Link) pump() {
	if l.state != ready {
		return
	}
	l.pumpRevokes()
	for !l.urgent.Empty() && l.transmit(&l.urgent) {
	}
	for l.state == ready && !l.waiting.Empty() && l.transmit(&l.waiting) {
	}
	l.pumpPulls()
	if l.state == ready && l.mustTell() {
		l.sendWord(wire.NoCode)
	}
	l.pumpFarewell()
}

// transmit sends the first of a queue, if nothing is in the way, and reports whether that has been settled. It is off the queue before
// its owner is told, who may want to send something else.
func (l *Link) transmit(queue *fifo.Queue[*Outgoing]) bool {
	o := queue.Front()
	if o.Until > 0 && l.hub.config.Loop.Now() >= o.Until {
		o.Until = 0
		o.Owner.(LateOwner).Late(o)
	}
	if l.pair.Room() < o.requests() || o.needsCredit() && !l.maySend() {
		return false
	}
	slot := l.hub.leaving.take()
	if slot == nil {
		return false
	}
	if o.Head.Type == wire.Call && !l.hub.promise(1) {
		l.hub.leaving.give(slot)
		return false
	}
	if err := l.put(o, slot); err != nil {
		l.hub.leaving.give(slot)
		if o.Head.Type == wire.Call {
			l.hub.promised--
		}
		queue.Pop()
		o.sent(fmt.Errorf("%w: %w", ErrNotSent, err))
		return true
	}
	queue.Pop()
	l.book(o)
	return true
}

// book notes what a message that was sent has begun.
func (l *Link) book(o *Outgoing) {
	if o.needsCredit() {
		l.credits.sent++
	}
	if o.Head.Type == wire.Send {
		l.remember(o)
	}
	if o.Head.Type == wire.Call {
		if l.calls == nil {
			l.calls = make(map[uint64]*Outgoing)
		}
		l.calls[o.number] = o
		l.watch()
	}
}

// put stages a message: what it lends first, then what it fills, then itself, in the order in which the peer must see them.
func (l *Link) put(o *Outgoing, slot *Slot) error {
	m := &l.hub.draft
	m.Clear()
	m.Head = o.Head
	if o.number = o.Head.Number; o.needsCredit() && !o.Credit {
		l.last++
		o.number, m.Head.Number = l.last, l.last
	}
	for i := range o.Items {
		m.Items.Add(o.Items[i].Bytes)
	}
	if o.lends() {
		if err := l.lend(o, m); err != nil {
			return err
		}
	}
	if err := l.fill(o, m); err != nil {
		return err
	}
	if o.refusesSend() {
		l.refused.Pop()
	}
	l.putNews(m, l.limit-o.size())
	slot.out = o
	if err := l.post(m, o.Items, slot); err != nil {
		return err
	}
	o.isPosted = true
	return nil
}

// putNews has a message say what the peer has not been told, as far as there is room.
func (l *Link) putNews(m *wire.Message, room int) {
	l.widen()
	m.Head.Credit, m.Head.Taken = l.tell()
	for n := wire.ReleaseRoom(room); n > 0 && !l.releases.Empty() && m.Releases.Add(l.releases.Front()); n-- {
		l.releases.Pop()
	}
}

// post writes the message to its slot and stages it. Items that lie in registered memory are gathered from there, if they are
// worth a span of their own; the rest is copied behind the head.
func (l *Link) post(m *wire.Message, items []Piece, slot *Slot) error {
	h := l.hub
	room := slot.room()
	end := m.Put(room)
	begin := 0 // of what has not been made a span
	h.spans = h.spans[:0]
	for i := range items {
		if p := &items[i]; l.worthASpan(p, len(h.spans)) {
			h.spans = append(h.spans, slot.span(begin, end-begin), p.Span)
			begin = end
		} else {
			h.counts.Copied += uint64(len(p.Bytes))
			end += copy(room[end:], p.Bytes)
		}
	}
	if end > begin {
		h.spans = append(h.spans, slot.span(begin, end-begin))
	}
	request := verbs.Request{Tag: h.tag(tagSent, uint64(slot.index)), Op: verbs.OpSend, Span: h.spans[0], More: h.spans[1:]}
	if err := l.pair.Stage(&request); err != nil {
		return err
	}
	slot.link = l
	l.flight.Push(slot)
	l.posted = h.config.Loop.Now()
	l.used = l.posted
	h.counts.Sent++
	return nil
}

// worthASpan reports whether an item is gathered from where it is. Below a cache line or two, copying is cheaper.
func (l *Link) worthASpan(p *Piece, used int) bool {
	const smallest = 256
	return p.Span.Length >= smallest && used+3 <= maxSpans(l.hub.config.Domain)
}

// fill writes what an answer puts into the returns of its request. The answer itself is staged behind it, so that it comes
// when the bytes are there (figure 2(b)).
func (l *Link) fill(o *Outgoing, m *wire.Message) error {
	for i := range o.Fills {
		f := &o.Fills[i]
		n := uint64(f.Piece.Span.Length)
		m.Fills.Add(wire.Fill{Return: uint32(f.Return), Length: n})
		if n == 0 {
			continue
		}
		to := verbs.RemoteSpan{Address: f.Into.Address, Length: f.Into.Length, Key: f.Into.Key}
		if err := l.pair.Write(l.tag(tagWritten), f.Piece.Span, to, verbs.Quiet); err != nil {
			return err
		}
		l.hub.counts.Filled += n
	}
	return nil
}

// sendWord tells the peer what it has not been told, in a message of its own, and reports whether it has. If there is no room, what
// is under way will end, and pump comes here again.
func (l *Link) sendWord(code wire.Code) bool {
	if l.pair.Room() == 0 {
		return false
	}
	slot := l.hub.leaving.take()
	if slot == nil {
		return false
	}
	m := &l.hub.draft
	m.Clear()
	m.Head.Type, m.Head.Code = wire.Word, code
	l.putNews(m, l.limit-wire.HeadSize)
	slot.out = nil
	if err := l.post(m, nil, slot); err != nil {
		l.hub.leaving.give(slot)
		l.fail(err)
		return false
	}
	l.hub.counts.Words++
	return true
}

// owe sees to it that the peer is told, soon, what no message has told it by then.
func (l *Link) owe() {
	if !l.wordSet && l.state == ready && (l.hasNews() || !l.releases.Empty()) {
		l.wordIn(wordDelay)
	}
}

func (l *Link) wordIn(wait time.Duration) {
	l.wordSet = true
	l.hub.port.After(wait, tagWord<<kindShift|uint64(l.pair.Number()))
}

// wordDelay is how long news wait for a message to travel with.
const wordDelay = 200 * time.Microsecond

// stepWord sends a word, unless the peer was told something meanwhile: then the news are younger than that, and where one
// message follows another, the next one tells.
func (l *Link) stepWord() {
	l.wordSet = false
	if l.state != ready || !l.hasNews() && l.releases.Empty() {
		return
	}
	if young := wordDelay - l.hub.config.Loop.Now().Sub(l.posted); young > 0 {
		l.wordIn(young)
		return
	}
	l.sendWord(wire.NoCode)
	l.owe() // there may be more releases than fit
}

func (h *Hub) stepSent(slot *Slot, c *verbs.Completion) {
	l, o := slot.link, slot.out
	if l == nil {
		return // its link has ended, and has given it back
	}
	if err := verbs.CompletionError(c); err != nil {
		l.fail(err)
		return
	}
	l.flight.Pop()
	h.leaving.give(slot)
	if o != nil && !o.Confirm {
		o.sent(nil)
	}
	l.pump()
}

// sent tells the owner, and goes on with what had to wait for it. A message that was answered was sent, whatever else is heard
// of it.
func (o *Outgoing) sent(err error) {
	o.isSent = true
	if o.answer != nil {
		err = nil
	}
	o.Owner.Sent(o, err)
	o.deliver()
}

// stepWritten hears only of what has failed, and of probes.
func (l *Link) stepWritten(c *verbs.Completion) {
	if err := verbs.CompletionError(c); err != nil {
		l.fail(err)
	}
}

package link

import (
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// put stages a message.
func (l *Link) put(o *Outgoing, slot *Slot) error {
	if o.needsCredit() && !o.Credit {
		l.last++
		o.Head.Number = l.last
	}
	if o.refusesSend() {
		l.refused.Pop()
	}
	if l.left() == 0 {
		l.widen()
	}
	slot.out = o
	if o.isShort() && l.releases.Empty() {
		return l.putShort(o, slot)
	}
	return l.putLong(o, slot)
}

// putShort stages a message that is copied as a whole. Most are such, and this way is nothing but shorter.
func (l *Link) putShort(o *Outgoing, slot *Slot) error {
	items, room := o.Items, slot.room
	begin := wire.Overhead(len(items), 0, 0)
	end := begin
	for i := range items {
		if items[i].isLarge() {
			return l.putLong(o, slot)
		}
		wire.PutSize(room, i, len(items[i].Bytes))
		end += copy(room[end:], items[i].Bytes)
	}
	l.tellIn(&o.Head)
	o.Head.PutShort(room, len(items), end-begin)
	l.hub.counts.Copied += uint64(end - begin)
	if slot == l.hub.scratch {
		return l.stageCell(slot, end)
	}
	return l.stage(slot, end)
}

// putLong stages any message: what it lends first, then what it fills, then itself, in the order in which the peer must see them.
func (l *Link) putLong(o *Outgoing, slot *Slot) error {
	m := &l.hub.draft
	m.Begin(&o.Head)
	for i := range o.Items {
		m.Items.Add(o.Items[i].Bytes)
	}
	if err := l.putLists(o, m); err != nil {
		return err
	}
	l.tellIn(&m.Head)
	l.putReleases(m, l.limit-o.size())
	err := l.post(m, o.Items, slot)
	m.Items.Clear() // they are the program's
	return err
}

// putLists lends and fills what is to be lent and filled.
func (l *Link) putLists(o *Outgoing, m *wire.Message) error {
	if o.lends() {
		if err := l.lend(o, m); err != nil {
			return err
		}
	}
	return l.fill(o, m)
}

// putReleases has a message say which loans the peer may have back, as far as there is room.
func (l *Link) putReleases(m *wire.Message, room int) {
	for n := wire.ReleaseRoom(room); n > 0 && !l.releases.Empty() && m.Releases.Add(l.releases.Front()); n-- {
		l.releases.Pop()
	}
}

// post writes the message to its slot and stages it. Items that lie in registered memory are gathered from there, if they are
// worth a span of their own; the rest is copied behind the head.
func (l *Link) post(m *wire.Message, items []Piece, slot *Slot) error {
	h, room := l.hub, slot.room
	end := m.Put(room)
	begin := 0 // of what has not been made a span
	h.spans = h.spans[:0]
	for i := range items {
		if p := &items[i]; p.isLarge() && len(h.spans)+3 <= h.maxSpans {
			h.spans = append(h.spans, slot.piece(begin, end), p.Span)
			begin = end
		} else {
			h.counts.Copied += uint64(len(p.Bytes))
			end += copy(room[end:], p.Bytes)
		}
	}
	if begin == 0 {
		return l.stage(slot, end)
	}
	if end > begin {
		h.spans = append(h.spans, slot.piece(begin, end))
	}
	return l.stageSpans(slot)
}

// stage stages a message that lies in its slot, up to end.
func (l *Link) stage(slot *Slot, end int) error {
	if err := l.pair.Send(l.hub.tag(tagSent, uint64(slot.index)), slot.piece(0, end), 0); err != nil {
		return err
	}
	l.launch(slot)
	return nil
}

// stageSpans stages a message that is gathered.
func (l *Link) stageSpans(slot *Slot) error {
	h := l.hub
	request := verbs.Request{Tag: h.tag(tagSent, uint64(slot.index)), Op: verbs.OpSend, Span: h.spans[0], More: h.spans[1:]}
	if err := l.pair.Stage(&request); err != nil {
		return err
	}
	l.launch(slot)
	return nil
}

// launch notes that a message is under way.
func (l *Link) launch(slot *Slot) {
	slot.link = l
	l.flight.Push(slot)
	l.posts++
	l.sends++
	l.hub.counts.Sent++
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

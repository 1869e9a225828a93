package link

import (
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// farRing is the ring that the peer has lent.
type farRing struct {
	span  wire.Span
	cells uint32 // 0: it cannot be used, yet
	most  int    // bytes of a message that fit into a cell, and into what the queue pair takes inline

	written uint32 // cells
	emptied uint32 // of these, as far as the peer has said
}

// takeRing hears of the ring that the peer lends. Who does not look at memory in every turn cannot use it: nobody would tell the owners of
// messages that they were sent. The first to be written there is nothing, to where no message begins: a NIC may have to ask the peer's
// where that is, and messages shall not depend on it.
func (l *Link) takeRing(span wire.Span) {
	h := l.hub
	if span.Length%cellSize != 0 || span.Length > 128*cellSize || span.Address%wordSize != 0 || l.far.span.Length > 0 {
		l.violated("a ring of %d bytes at %#x, or a second one", span.Length, span.Address)
		return
	}
	if l.far.span = span; !h.isPolled || l.pair.Room() == 0 || !h.hasCells() {
		return
	}
	if err := l.pair.Write(l.tag(tagRing), h.rings.nothing(), verbs.RemoteSpan{Address: span.Address, Length: wordSize, Key: span.Key}, 0); err != nil {
		l.fail(err)
	}
}

// stepRing hears that the ring can be written to.
func (l *Link) stepRing(c *verbs.Completion) {
	if err := completionError(c); err != nil {
		l.fail(err)
		return
	}
	l.far.cells, l.far.most = uint32(l.far.span.Length/cellSize), min(cellSize, l.hub.maxInline)-wordSize
}

// hear takes in how many cells the peer has emptied, modulo 2⁸, and reports whether that can be.
func (r *farRing) hear(emptied uint8) bool {
	news := uint32(emptied - uint8(r.emptied))
	if news > r.written-r.emptied {
		return false
	}
	r.emptied += news
	return true
}

// fits reports whether a message of so many bytes can be written to a cell now.
func (r *farRing) fits(bytes int) bool { return bytes <= r.most && r.written-r.emptied < r.cells }

// next is where a message of so many bytes, its last word included, goes to.
func (r *farRing) next(bytes int) verbs.RemoteSpan {
	end := r.span.Address + uint64(r.written%r.cells+1)*cellSize
	return verbs.RemoteSpan{Address: end - uint64(bytes), Length: uint64(bytes), Key: r.span.Key}
}

// stageCell writes a message that lies in its slot, up to end, to the next cell, at once: then its bytes are not needed any more. Its owner
// is told in the next turn, not from inside Send.
func (l *Link) stageCell(slot *Slot, end int) error {
	inscribe(l.far.written+1, uint16(l.sends), end).put(slot.room[end:])
	end += wordSize
	if err := l.pair.Write(l.tag(tagWritten), slot.piece(0, end), l.far.next(end), verbs.Inline|verbs.Quiet); err != nil {
		return err
	}
	h := l.hub
	if err := h.config.Loop.Queue().Flush(); err != nil {
		l.fail(err)
	}
	l.far.written++
	slot.link = l
	l.posts++
	h.counts.Sent++
	if !l.isUnsettled {
		l.isUnsettled = true
		h.unsettled = append(h.unsettled, l)
	}
	l.celled.Push(slot)
	return nil
}

// settleCells tells the owners of what was written to cells since the last turn. They may write more, which is for the next one.
func (h *Hub) settleCells() {
	links := h.unsettled
	h.unsettled = h.settled[:0]
	for i, l := range links {
		links[i], l.isUnsettled = nil, false
		for n := l.celled.Len(); n > 0 && l.state != ended; n-- {
			l.wentOut(l.celled.Pop())
		}
	}
	h.settled = links
}

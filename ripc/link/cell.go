package link

import (
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// farRing is the ring that the peer has lent.
type farRing struct {
	span  wire.Span
	cells uint32 // 0: it cannot be used, yet
	end   uint64 // where the next cell ends
	most  int    // bytes of a message that fit, with a word behind it, into a cell, into a slot, and into what the queue pair takes inline

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
	if l.far.span = span; !h.isPolled || l.pair.Room() == 0 || !h.hasCells() || !h.hasScratch() {
		return
	}
	if err := l.pair.Write(l.tag(tagRing), h.rings.nothing(), verbs.RemoteSpan{Address: span.Address, Length: wordSize, Key: span.Key}, 0); err != nil {
		l.fail(err)
	}
}

// hasScratch reports whether there is room to put messages to cells together, and sees to it.
func (h *Hub) hasScratch() bool {
	if h.scratch == nil {
		h.scratch = h.leaving.take()
	}
	return h.scratch != nil
}

// stepRing hears that the ring can be written to.
func (l *Link) stepRing(c *verbs.Completion) {
	if err := completionError(c); err != nil {
		l.fail(err)
		return
	}
	r := &l.far
	r.cells, r.end = uint32(r.span.Length/cellSize), r.span.Address+cellSize
	r.most = min(cellSize, l.hub.maxInline, l.hub.config.SlotSize) - wordSize
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
	return verbs.RemoteSpan{Address: r.end - uint64(bytes), Length: uint64(bytes), Key: r.span.Key}
}

// goOn goes on to the next cell.
func (r *farRing) goOn() {
	r.written++
	if r.end += cellSize; r.end > r.span.Address+r.span.Length {
		r.end = r.span.Address + cellSize
	}
}

// takesCell reports whether a message can be written to a cell now.
func (l *Link) takesCell(o *Outgoing) bool {
	return l.far.cells > 0 && o.isShort() && l.releases.Empty() && l.far.fits(o.bytes)
}

// stageCell writes a message that lies in the hub's scratch, up to end, to the next cell, at once: then its bytes are not needed any more.
// Its owner is told in the next turn, not from inside Send.
func (l *Link) stageCell(slot *Slot, end int) error {
	inscribe(l.far.written+1, uint16(l.sends), end).put(slot.room[end:])
	end += wordSize
	if to := l.far.next(end); !l.pair.WriteNow(slot.room[:end], to) {
		if err := l.writeCell(slot.piece(0, end), to); err != nil {
			return err
		}
	}
	l.far.goOn()
	l.posts++
	h := l.hub
	h.counts.Sent++
	if !l.isUnsettled {
		l.isUnsettled = true
		h.unsettled = append(h.unsettled, l)
	}
	l.celled.Push(slot.out)
	return nil
}

// writeCell is the same as a request, for devices that must be asked. The last that there is room for is reported: else nobody would look
// for room again.
func (l *Link) writeCell(from verbs.Span, to verbs.RemoteSpan) error {
	flags := verbs.Inline | verbs.Quiet
	if l.pair.Room() == 1 {
		flags = verbs.Inline
	}
	if err := l.pair.Write(l.tag(tagWritten), from, to, flags); err != nil {
		return err
	}
	if err := l.pair.Flush(); err != nil {
		l.fail(err)
	}
	return nil
}

// settleCells tells the owners of what was written to cells since the last turn. They may write more, which is for the next one.
func (h *Hub) settleCells() {
	links := h.unsettled
	h.unsettled = h.settled[:0]
	for i, l := range links {
		links[i], l.isUnsettled = nil, false
		for n := l.celled.Len(); n > 0 && l.state != ended; n-- {
			if o := l.celled.Pop(); !o.Confirm {
				o.sent(nil)
			}
		}
		l.pump()
	}
	h.settled = links
}

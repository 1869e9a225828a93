package link

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// A hub whose loop never sleeps lends rings: a peer that has one, and never sleeps either, writes short messages to its cells, and the
// hub looks there in every turn (ADR 27). Nothing else moves from one core to another: no receive is taken, nothing is reported.
//
// A message ends where its cell does, but for one word behind it: how long it is, how many messages had been sent otherwise before it, and the
// number of the cell, counted from 1. That word is stored last. What lies in a cell is copied before anybody looks at it,
// since its writer may change it at any time.
const (
	cellSize = 256
	ringSize = 16 // cells
	maxRings = 16 // of a hub: each is looked at in every turn
	maxLooks = 8  // at rings, in a turn in which nothing is found
	wordSize = 8
)

// inscription is the last word of a cell, as a number: 32 bits of the cell's number, 16 of how many messages had been sent otherwise
// before it, 16 of the message's length; the first two modulo what fits.
type inscription uint64

func inscribe(number uint32, sent uint16, length int) inscription {
	return inscription(uint64(number)<<32 | uint64(sent)<<16 | uint64(length))
}

func (i inscription) number() uint32 { return uint32(i >> 32) }
func (i inscription) sent() uint16   { return uint16(i >> 16) }
func (i inscription) length() int    { return int(uint16(i)) }

func (i inscription) put(b []byte) { binary.BigEndian.PutUint64(b, uint64(i)) }

// isLittle is whether a word that is loaded as one has its bytes in another order than on the wire.
var isLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// rings are the cells that a hub's peers write to.
type rings struct {
	memory *verbs.Memory
	made   int     // that were ever lent
	free   []int   // where those begin that were, and are not
	links  []*Link // whom the others are lent to
}

func (r *rings) close() error {
	if r.memory == nil {
		return nil
	}
	return r.memory.Close()
}

// ring is what one peer writes to.
type ring struct {
	memory *verbs.Memory
	at     int    // where it begins
	next   int    // where the last word of the next cell is
	taken  uint32 // cells that were emptied
}

// lendRing gives the peer a ring, if it can have one. It is the peer's until the link ends.
func (l *Link) lendRing() {
	h := l.hub
	if l.ring != nil || l.state != ready || l.pair.Room() < 2 || len(h.rings.links) == maxRings || !h.leaving.hasFree() || !h.hasCells() {
		return // or the peer could not be told
	}
	window, err := l.unlent()
	if err != nil {
		return
	}
	ring := h.rings.take()
	span, err := window.Bind(l.tag(tagWritten), ring.memory.Span(ring.at, ringSize*cellSize), verbs.RemoteWrite, verbs.Quiet)
	if err != nil {
		h.rings.free, l.spare = append(h.rings.free, ring.at), append(l.spare, window)
		return
	}
	l.ring = ring
	h.rings.links = append(h.rings.links, l)
	l.sendWord(wire.Head{Type: wire.Ring}, wire.Span(span))
}

// hasCells reports whether there are cells to lend, and makes them if need be.
func (h *Hub) hasCells() bool {
	if h.rings.memory != nil {
		return true
	}
	memory, err := h.config.Domain.Alloc(maxRings*ringSize*cellSize+wordSize, 0)
	h.rings.memory = memory
	return err == nil
}

// nothing is a word that is always zero: it is behind what is lent.
func (r *rings) nothing() verbs.Span { return r.memory.Span(maxRings*ringSize*cellSize, wordSize) }

// take returns a ring that is not lent. There is one.
func (r *rings) take() *ring {
	at := r.made * ringSize * cellSize
	if n := len(r.free); n > 0 {
		at, r.free = r.free[n-1], r.free[:n-1]
	} else {
		r.made++
	}
	clear(r.memory.Bytes()[at : at+ringSize*cellSize]) // another peer may have written there
	return &ring{memory: r.memory, at: at, next: at + cellSize - wordSize}
}

// dropRing takes the ring back from a peer that can reach it no more.
func (l *Link) dropRing() {
	if r := &l.hub.rings; l.ring != nil {
		r.free = append(r.free, l.ring.at)
		r.links = slices.DeleteFunc(r.links, func(other *Link) bool { return other == l })
		l.ring = nil
	}
}

// scanner is the part of a hub that looks at its rings.
type scanner struct{ hub *Hub }

// Step implements loop.Machine. It asks for nothing, and hears of nothing.
func (scanner) Step(*verbs.Completion) {}

// Scan implements loop.Scanner. A turn takes ten times as long as a look at a ring, so a few more are cheap.
func (s scanner) Scan() (found bool) {
	h := s.hub
	if len(h.unsettled) > 0 {
		h.settleCells()
	}
	for looks := maxLooks; looks > 0 && len(h.rings.links) > 0 && !found; looks -= len(h.rings.links) {
		found = h.emptyRings()
	}
	return found
}

// emptyRings looks at each ring once, and reports whether something was there.
func (h *Hub) emptyRings() (found bool) {
	for i := 0; i < len(h.rings.links); i++ { // one may end meanwhile: then another is looked at next time
		l := h.rings.links[i]
		if in := l.ring.load(); in.number() == l.ring.taken+1 && l.emptyCell(in) {
			found = true
			l.emptyCells()
		}
	}
	return found
}

// emptyCells takes in what lies in the link's cells and may be taken in now, at most each of them once.
func (l *Link) emptyCells() {
	for range ringSize {
		if l.state == ended {
			return
		}
		if in := l.ring.load(); in.number() != l.ring.taken+1 || !l.emptyCell(in) {
			return
		}
	}
}

// load is the last word of the next cell. If it has the number of that, something was written there.
func (r *ring) load() inscription {
	word := r.memory.Load64(r.next)
	if isLittle {
		word = bits.ReverseBytes64(word)
	}
	return inscription(word)
}

// emptyCell takes in what was written to the next cell, if all that was sent before it was taken in.
func (l *Link) emptyCell(in inscription) bool {
	r := l.ring
	if int16(in.sent()-uint16(l.received)) > 0 {
		return false
	}
	length := in.length()
	if length > cellSize-wordSize {
		l.violated("a message of %d bytes in a cell", length)
		return false
	}
	s := l.hub.loose.take()
	if s == nil { // what was sent behind it must not come first
		l.end(fmt.Errorf("no memory for a message that has come in a cell: %w", ErrFull))
		return false
	}
	copy(s.room, r.memory.Bytes()[r.next-length:r.next])
	r.goOn()
	l.takeIn(s, length)
	for _, item := range l.hub.message.Items.All() { // it is the one that was taken in
		l.hub.counts.Copied += uint64(len(item))
	}
	return true
}

// goOn goes on to the next cell.
func (r *ring) goOn() {
	r.taken++
	if r.next += cellSize; r.taken%ringSize == 0 {
		r.next -= ringSize * cellSize
	}
}

package link

import (
	"time"

	"github.com/weft-fabric/weft/ripc/wire"
)

// sendWord tells the peer what it has not been told, in a message of its own, and reports whether it has. If there is no room, what
// is under way will end, and pump comes here again.
func (l *Link) sendWord(head wire.Head, returns ...wire.Span) bool {
	if l.pair.Room() == 0 {
		return false
	}
	slot := l.takeSlot()
	if slot == nil {
		return false
	}
	m := &l.hub.draft
	m.Begin(&head)
	if l.left() == 0 {
		l.widen()
	}
	l.tellIn(&m.Head)
	for _, r := range returns {
		m.Returns.Add(r)
	}
	l.putReleases(m, l.limit-m.Overhead())
	slot.out = nil
	if err := l.post(m, nil, slot); err != nil {
		l.hub.leaving.give(slot)
		l.fail(err)
		return false
	}
	l.hub.counts.Words++
	return true
}

// pumpWord tells the peer at once what it should not wait for, or when there is room.
func (l *Link) pumpWord() {
	if l.state == ready && l.mustTell() && !l.sendWord(wire.Head{Type: wire.Word}) {
		l.pending = true
	}
}

// owe sees to it that the peer is told: at once if it needs to know, or soon what no message has told it by then.
func (l *Link) owe() {
	if l.mustTell() {
		l.pumpWord()
	}
	if !l.wordSet && l.state == ready && (l.hasNews() || !l.releases.Empty()) {
		l.wordIn()
	}
}

func (l *Link) wordIn() {
	l.wordSet, l.wordPosts = true, l.posts
	l.hub.port.After(wordDelay, tagWord<<kindShift|l.number())
}

// wordDelay is how long news wait for a message to travel with, or up to twice as long if one has gone just before.
const wordDelay = 200 * time.Microsecond

// stepWord sends a word, unless the peer was told something meanwhile: then the news are younger than that, and where one
// message follows another, the next one tells.
func (l *Link) stepWord() {
	l.wordSet = false
	if l.state != ready || !l.hasNews() && l.releases.Empty() {
		return
	}
	if l.posts != l.wordPosts {
		l.wordIn()
		return
	}
	l.sendWord(wire.Head{Type: wire.Word})
	l.owe() // there may be more releases than fit
}

package rdmc

import (
	"time"

	"github.com/weft-fabric/weft/clock"
)

// wire is how busy the way to a peer was. All members of a group progress in lock step, so that their rates tell nothing of who holds
// them up; how long blocks take for which the peer had given credit does.
type wire struct {
	blocks, bytes uint64        // that have arrived
	busy          time.Duration // in which at least one block was under way, up to since if one is
	since         clock.Time    // when the last one ended, or the first of those under way began
}

// beginWire notes that a block goes to the NIC.
func (l *link) beginWire(now clock.Time) {
	if l.onWire == 0 {
		l.wire.since = now
	}
	l.onWire++
}

// endWire notes that the peer has a block.
func (l *link) endWire(now clock.Time, bytes int) {
	w := &l.wire
	w.busy += now.Sub(w.since)
	w.since = now
	w.blocks++
	w.bytes += uint64(bytes)
	l.onWire--
}

// Hop is what was sent to one peer.
type Hop struct {
	Rank   int    // of the peer
	Blocks uint64 // that have arrived
	Bytes  uint64 // of these
	// Busy is how long at least one block was on its way: it had been handed to the NIC, the peer had given credit for it, and it had
	// not arrived yet. The one that is under way now counts too, so that a way on which nothing moves shows.
	Busy time.Duration
}

// Hops appends what was sent to each peer so far. After a failure it is what was sent until then.
func (g *Group) Hops(to []Hop) []Hop {
	for i := range g.links {
		l := &g.links[i]
		hop := Hop{Rank: l.rank, Blocks: l.wire.blocks, Bytes: l.wire.bytes, Busy: l.wire.busy}
		if l.onWire > 0 && !g.state.over() {
			hop.Busy += g.port.Loop().Now().Sub(l.wire.since)
		}
		to = append(to, hop)
	}
	return to
}

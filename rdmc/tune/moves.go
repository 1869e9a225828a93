package tune

import (
	"slices"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// announce has a header travel ahead, if the schedule wants that; else the first block brings it, and needs no credit.
func (m *game) announce() {
	if !m.players[0].part.Announced() {
		for i := range m.players[1:] {
			p := &m.players[1+i]
			p.nextSender()
			p.ready = append(p.ready, 0)
		}
		return
	}
	type told struct {
		rank int
		at   float64
	}
	for queue := []told{{}}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		for _, heir := range m.players[from.rank].part.Heirs() {
			at := m.tell(from.rank, heir, from.at)
			m.welcome(&m.players[heir], at)
			queue = append(queue, told{heir, at})
		}
	}
}

// tell has a header travel, and returns when it arrives. It takes the place of a block that is under way.
func (m *game) tell(rank, heir int, at float64) float64 {
	p, net := &m.players[rank], m.way(rank, heir)
	slot := p.free()
	p.posted = max(p.posted, p.slots[slot], at)
	leaves := m.leave(p, p.posted, m.before+m.fetch)
	p.slots[slot] = leaves + 2*net + m.after
	return leaves + net + m.after
}

// way is how long the network takes from one member to another.
func (m *game) way(from, to int) float64 {
	if m.racks != nil && m.racks[from] != m.racks[to] {
		return farther * m.net
	}
	return m.net
}

// free is the send that ends first.
func (p *player) free() (slot int) {
	for i := range p.slots {
		if p.slots[i] < p.slots[slot] {
			slot = i
		}
	}
	return slot
}

// leave is when a message that is posted at a moment begins to leave: when the NIC has done with those before it. Whom we
// look at later may have posted earlier, and then was not behind.
func (m *game) leave(p *player, at, before float64) float64 {
	if at < p.latest {
		p.engine += m.gap
		return at + before
	}
	p.latest = at
	leaves := max(at+before, p.engine)
	p.engine = leaves + m.gap
	return leaves
}

// send posts one block, and returns when it arrives.
func (m *game) send(rank int, t schedule.Transfer) float64 {
	p, peer, net := &m.players[rank], &m.players[t.Peer], m.way(rank, t.Peer)
	slot := p.free()
	at := max(p.posted, p.have[t.Block], p.slots[slot])
	if peer.taken < len(peer.ready) {
		at = max(at, peer.ready[peer.taken])
	}
	if at < p.posted+m.pace {
		at = min(p.posted+m.pace, max(at, slices.Max(p.slots)))
	}
	p.posted = at
	leaves := m.carry(rank, t.Peer, m.leave(p, at, m.before+m.fetch))
	p.slots[slot] = leaves + 2*net + m.after
	p.last = max(p.last, p.slots[slot])
	return leaves + net + m.after
}

// carry has a block pass the links, one at a time, and returns when its last byte has left.
func (m *game) carry(from, to int, starts float64) float64 {
	starts = max(starts, m.players[from].out, m.players[to].in)
	if m.racks != nil && m.racks[from] != m.racks[to] {
		up, down := &m.ups[m.racks[from]], &m.downs[m.racks[to]]
		starts = max(starts, *up, *down)
		*up, *down = starts+m.block*m.upTime, starts+m.block*m.upTime
		starts += max(0, m.block*(m.upTime-m.byteTime))
	}
	leaves := starts + m.block*m.byteTime
	m.players[from].out, m.players[to].in = leaves, leaves
	return leaves
}

func (m *game) arrive(p *player, block int, at float64) {
	first := p.taken == 0 && !p.part.Announced()
	p.taken++
	p.have[block] = at
	p.last = max(p.last, at)
	if first {
		m.welcome(p, at)
		return
	}
	m.expect(p, at)
}

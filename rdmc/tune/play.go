package tune

import (
	"slices"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// game is a message that is sent on paper: all members' plans, step by step, with the time at which each block leaves and
// arrives. Steps are in the order of time for each member, so that one pass over them is enough.
type game struct {
	link
	block   float64 // bytes
	credits int
	pace    float64
	racks   []int // nil: all are in one
	players []player
	ups     []float64 // by rack: when its way out is free
	downs   []float64
	coming  []coming // blocks under way in a step
}

// coming is a block that will arrive.
type coming struct {
	to, block int
	at        float64
}

// player is one member. Times are nanoseconds from the beginning.
type player struct {
	plan   schedule.Plan
	part   *schedule.Part
	have   []float64 // by block: when it is here
	slots  []float64 // sends under way: when each has ended
	posted float64   // when the last block was posted
	latest float64   // when the last message was posted
	engine float64   // when the NIC can take the next one
	out    float64   // when the link is free, each way
	in     float64
	ready  []float64 // by receive, in order: when its sender has the credit
	words  []word    // that were posted last, at the same time
	herald int       // who brings messages
	step   int       // from which on receives were not posted
	end    int       // of those steps
	done   bool      // the receive for the next message was posted
	taken  int       // receives that were used
	last   float64   // when the last block was here, and had been passed on
}

// word is a credit under way.
type word struct {
	to              int
	posted, arrives float64
}

// play returns when the last block is everywhere. It fails if the schedule is impossible.
func play(g Group, n Network, c Choice, blocks int) (float64, error) {
	m := game{link: n.link(), block: float64(c.Block), credits: c.Credits, pace: float64(c.Pace), players: make([]player, g.Members)}
	if err := m.seat(g, c, blocks); err != nil {
		return 0, err
	}
	m.announce()
	for step, steps := 0, m.players[0].plan.Steps(); step < steps; step++ {
		m.step(step)
	}
	last := 0.0
	for i := range m.players[1:] {
		last = max(last, m.players[1+i].last)
	}
	return last, nil
}

// step has everybody send, and only then receive: what comes in a step is for the next one.
func (m *game) step(step int) {
	m.coming = m.coming[:0]
	for rank := range m.players {
		if t, ok := m.players[rank].plan.Send(step); ok {
			m.coming = append(m.coming, coming{t.Peer, t.Block, m.send(rank, t)})
		}
	}
	for _, c := range m.coming {
		m.arrive(&m.players[c.to], c.block, c.at)
	}
}

// seat gives everybody a plan.
func (m *game) seat(g Group, c Choice, blocks int) error {
	shape := schedule.Config{Algorithm: c.Algorithm, Members: g.Members, Stripes: c.Stripes}
	if c.Algorithm == schedule.Chain {
		shape.Stripes = 1 // a chain's stripes are blocks under way on the same link, in the same order
	}
	if c.Algorithm.Racks() {
		shape.Racks = g.Racks
	}
	if n := len(g.Racks); n > 0 && m.upTime > 0 {
		m.racks = g.Racks
		racks := slices.Max(g.Racks) + 1
		m.ups, m.downs = make([]float64, racks), make([]float64, racks)
	}
	sends := min(c.Stripes, blocks)
	if c.Pace > 0 {
		sends = min(sends+1, blocks)
	}
	have, slots := make([]float64, g.Members*blocks), make([]float64, g.Members*sends)
	ready := make([]float64, g.Members*blocks)
	for rank := range m.players {
		part, err := schedule.New(shape, rank)
		if err != nil {
			return err
		}
		plan := part.Plan(blocks)
		herald, _ := part.Herald()
		from, end := plan.Receiving()
		m.players[rank] = player{part: part, plan: plan, herald: herald, step: from, end: end, have: have[rank*blocks:][:blocks],
			slots: slots[rank*sends:][:sends], ready: ready[rank*blocks:][:0:blocks]}
	}
	return nil
}

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
			at := m.tell(&m.players[from.rank], from.at)
			m.welcome(&m.players[heir], at)
			queue = append(queue, told{heir, at})
		}
	}
}

// tell has a header travel, and returns when it arrives. It takes the place of a block that is under way.
func (m *game) tell(p *player, at float64) float64 {
	slot := p.free()
	p.posted = max(p.posted, p.slots[slot], at)
	leaves := m.leave(p, p.posted, m.before+m.fetch)
	p.slots[slot] = leaves + 2*m.net + m.after
	return leaves + m.net + m.after
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

// say posts a word at a moment, and returns when it arrives.
func (m *game) say(p *player, at float64) float64 {
	return m.leave(p, at, m.before) + m.net + m.after
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

// welcome has a member that has heard of the message post its receives.
func (m *game) welcome(p *player, at float64) {
	for range m.credits {
		m.expect(p, at)
	}
}

// expect posts the next receive and, after the last one, that for the next message; and gives the credits.
func (m *game) expect(p *player, at float64) {
	if from, ok := p.nextSender(); ok {
		p.ready = append(p.ready, m.credit(p, from, at))
	}
	if len(p.ready) == cap(p.ready) && !p.done {
		p.done = true
		m.credit(p, p.herald, at)
	}
}

// nextSender is whom the next receive is for, if there is one.
func (p *player) nextSender() (from int, ok bool) {
	for ; p.step < p.end; p.step++ {
		if t, ok := p.plan.Receive(p.step); ok {
			p.step++
			return t.Peer, true
		}
	}
	return 0, false
}

// credit is when a peer has its credit. Those for one peer that are given at the same time are one word.
func (m *game) credit(p *player, to int, at float64) float64 {
	if len(p.words) > 0 && p.words[0].posted != at {
		p.words = p.words[:0]
	}
	for _, w := range p.words {
		if w.to == to {
			return w.arrives
		}
	}
	p.words = append(p.words, word{to, at, m.say(p, at)})
	return p.words[len(p.words)-1].arrives
}

// send posts one block, and returns when it arrives.
func (m *game) send(rank int, t schedule.Transfer) float64 {
	p, peer := &m.players[rank], &m.players[t.Peer]
	slot := p.free()
	at := max(p.posted, p.have[t.Block], p.slots[slot], peer.ready[peer.taken])
	if m.pace > 0 && at < p.posted+m.pace && p.posted > 0 {
		at = min(p.posted+m.pace, max(at, slices.Max(p.slots)))
	}
	p.posted = at
	leaves := m.carry(rank, t.Peer, m.leave(p, at, m.before+m.fetch))
	p.slots[slot] = leaves + 2*m.net + m.after
	p.last = max(p.last, p.slots[slot])
	return leaves + m.net + m.after
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

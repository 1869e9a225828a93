package tune

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
	p.words = append(p.words, word{to, at, m.leave(p, at, m.before) + m.way(p.rank, to) + m.after})
	return p.words[len(p.words)-1].arrives
}

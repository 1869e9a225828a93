package schedule

// stripe is one of the stripes of a hierarchy.
type stripe struct {
	*floorplan
	lead        leading
	number, all int // its blocks are number, number+all, number+2·all, …
}

// level is one member's part in one level of a stripe: among the leaders, or in a rack. Steps are counted in periods of
// the whole.
type level struct {
	flow   // nil: the member is not in this level
	stripe stripe
	rack   int    // which, or amongLeaders, or atGate
	feeds  []flow // how blocks come to the level's root: by which flow last, by which before, up to the root
	delay  int    // the period of step 0
}

const (
	amongLeaders = -1
	atGate       = -2
)

// leaders is the leaders' level, seen by the leader of a rack. It begins when the leader in the root's rack has got its
// first block.
func (s stripe) leaders(rack int) level {
	feed := s.gate()
	return level{
		flow:   s.lead(len(s.racks), rack),
		stripe: s,
		rack:   amongLeaders,
		feeds:  []flow{feed},
		delay:  feed.lag() + 1,
	}
}

// entrance is the gate's level: the root, at position 0, hands each block to the leader in its rack.
func (s stripe) entrance(position int) level {
	return level{flow: chain{members: 2, rank: position}, stripe: s, rack: atGate}
}

// gate is the way to the leader in the root's rack: straight from the root, or its part in the pipeline there.
func (s stripe) gate() flow {
	if s.gated {
		return chain{members: 2, rank: 1}
	}
	size := len(s.racks[0])
	return newPipeline(size, s.number%size)
}

// inRack is a rack's level, seen from a seat in it. It begins when the leader has got its first block.
func (s stripe) inRack(rack, seat int) level {
	l := level{
		flow:   newPipeline(len(s.pool(rack)), s.position(rack, seat, s.number)),
		stripe: s,
		rack:   rack,
	}
	switch {
	case rack > 0:
		above := s.leaders(rack)
		l.feeds = []flow{above.flow, above.feeds[0]}
		l.delay = above.delay + above.lag()
	case s.gated:
		l.feeds, l.delay = []flow{s.gate()}, s.gate().lag()+1
	}
	return l
}

func (l *level) sendIn(blocks, period int) (Transfer, bool) {
	own := l.share(blocks)
	if own == 0 {
		return Transfer{}, false
	}
	t, ok := l.send(own, period-l.delay)
	return l.whole(own, t, ok)
}

func (l *level) receiveIn(blocks, period int) (Transfer, bool) {
	own := l.share(blocks)
	if own == 0 {
		return Transfer{}, false
	}
	t, ok := l.receive(own, period-l.delay)
	return l.whole(own, t, ok)
}

// share is how many blocks the member sees in this level.
func (l *level) share(blocks int) int {
	if l.flow == nil {
		return 0
	}
	return share(blocks, l.stripe.all, l.stripe.number)
}

// whole translates from the level to the whole group. Block i of the level is the i-th that came to its root.
func (l *level) whole(own int, t Transfer, ok bool) (Transfer, bool) {
	if !ok {
		return t, false
	}
	block := t.Block
	for _, feed := range l.feeds {
		block = feed.nth(own, block)
	}
	return Transfer{Peer: l.rank(t.Peer), Block: block*l.stripe.all + l.stripe.number}, true
}

// rank is that of the member with a position in the level.
func (l *level) rank(position int) int {
	switch {
	case l.rack == amongLeaders:
		return l.stripe.leader(position, l.stripe.number)
	case l.rack == atGate && position == 0:
		return 0
	case l.rack == atGate:
		return l.stripe.leader(0, l.stripe.number)
	}
	return l.stripe.occupant(l.rack, position, l.stripe.number)
}

func (l *level) ranks(positions []int) []int {
	for i, position := range positions {
		positions[i] = l.rank(position)
	}
	return positions
}

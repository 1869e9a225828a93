package schedule

// level is one member's part in one level of a hierarchy, for one stripe: among the leaders, or in a rack. Steps are
// counted in periods of the whole.
type level struct {
	flow               // nil: the member is not in this level
	ranks       []int  // the members of the level, in the flow's order
	feeds       []flow // how blocks come to the level's root: by which flow last, before that by which, up to the root
	delay       int    // the period of step 0
	stripe, all int    // of the hierarchy; blocks of the stripe are numbered stripe, stripe+all, …
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
	return share(blocks, l.all, l.stripe)
}

// whole translates from the level to the whole group. A block of the level is the so-manieth that its root got.
func (l *level) whole(own int, t Transfer, ok bool) (Transfer, bool) {
	if !ok {
		return t, false
	}
	block := t.Block
	for _, feed := range l.feeds {
		block = feed.nth(own, block)
	}
	return Transfer{Peer: l.ranks[t.Peer], Block: block*l.all + l.stripe}, true
}

// stripe is one of the stripes of a hierarchy: who leads it, and how it flows.
type stripe struct {
	*floorplan
	lead        leading
	number, all int
}

// leaders is the leaders' level, seen by the leader of a rack. It begins when the leader in the root's rack has got its
// first block.
func (s stripe) leaders(rack int) level {
	feed := s.gate()
	return level{
		flow:   s.lead(len(s.racks), rack),
		ranks:  s.floorplan.leaders(s.number),
		feeds:  []flow{feed},
		delay:  feed.lag() + 1,
		stripe: s.number, all: s.all,
	}
}

// gate is the way to the leader in the root's rack: its part in the pipeline there.
func (s stripe) gate() flow {
	size := len(s.racks[0])
	return newPipeline(size, s.number%size)
}

// inRack is a rack's level, seen from a seat in it.
func (s stripe) inRack(rack, seat int) level {
	l := level{
		flow:   newPipeline(len(s.racks[rack]), s.position(rack, seat, s.number)),
		ranks:  s.floorplan.inRack(rack, s.number),
		stripe: s.number, all: s.all,
	}
	if rack > 0 {
		above := s.leaders(rack)
		l.feeds = []flow{above.flow, above.feeds[0]}
		l.delay = above.delay + above.lag()
	}
	return l
}

// named translates ranks of the level.
func (l *level) named(ranks []int) []int {
	for i, rank := range ranks {
		ranks[i] = l.ranks[rank]
	}
	return ranks
}

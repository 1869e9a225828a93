package schedule

import "slices"

// hierarchy is the hybrid of RDMC section 4.3.1: a flow among the leaders of racks, and a pipeline in each rack, fed
// block by block. Each block crosses into each rack once.
//
// A leader sends a block twice, so with one stripe a period of two steps is needed for each block: one for the leaders'
// level, one for the racks. With S stripes the leaders of different stripes are different members, as far as a rack has
// that many. A period then has ⌈S / size of the smallest rack⌉ steps in which leaders of several stripes send to each
// other at the same time, and S steps for the racks, one for each stripe: S blocks take S+1 steps if all racks have at
// least S members.
//
// In its own rack the root is the source of all stripes, and the leaders there hand on what they get from it. If there are
// enough others to lead, they get it straight from the root, which does nothing else, and are the sources there: a block
// is then as many periods earlier with the other racks as a pipeline in a rack has steps.
type hierarchy struct {
	slots     []level // by step in a period: first the leaders', then the racks'
	gates     []level // by step in a period: where blocks come from the root straight, beside what slots have
	crossings int     // how many of them are the leaders'
	tails     []int   // by stripe: steps that a message of one block takes in it
}

// leading makes the flow among leaders.
type leading func(members, rank int) flow

func leadingChain(members, rank int) flow    { return chain{members: members, rank: rank} }
func leadingPipeline(members, rank int) flow { return newPipeline(members, rank) }

func newHierarchy(f *floorplan, lead leading, stripes, rank int) *hierarchy {
	f.gated = stripes > 1 && len(f.racks[0]) > stripes
	h := &hierarchy{crossings: (stripes + f.smallest - 1) / f.smallest}
	h.slots, h.gates = make([]level, h.crossings+stripes), make([]level, h.crossings+stripes)
	rack := f.rack[rank]
	for i := range stripes {
		s := stripe{f, lead, i, stripes}
		if f.leader(rack, i) == rank {
			h.slots[h.crossing(f, i)] = s.leaders(rack)
		}
		if f.gated && rank == 0 {
			h.gates[h.crossings+i] = s.entrance(0)
		} else if len(f.pool(rack)) > 1 {
			h.slots[h.crossings+i] = s.inRack(rack, f.seat[rank])
		}
		if f.gated && f.leader(0, i) == rank {
			h.gates[h.crossings+i] = s.entrance(1)
		}
		h.tails = append(h.tails, h.tail(s))
	}
	return h
}

// crossing is the step of a period in which leaders of a stripe send to each other. So many consecutive stripes as the
// smallest rack has members have different leaders in every rack.
func (h *hierarchy) crossing(f *floorplan, stripe int) int { return stripe / f.smallest }

// tail is the end of the level that ends last.
func (h *hierarchy) tail(s stripe) int {
	leaders := s.leaders(0)
	tail := (leaders.delay+leaders.steps(1)-1)*len(h.slots) + h.crossing(s.floorplan, s.number) + 1
	for rack := range s.racks {
		if len(s.pool(rack)) > 1 {
			l := s.inRack(rack, len(s.racks[rack])-1)
			tail = max(tail, (l.delay+l.steps(1)-1)*len(h.slots)+h.crossings+s.number+1)
		}
	}
	return tail
}

// steps: each further block of a stripe takes one more period.
func (h *hierarchy) steps(blocks int) int {
	steps := 0
	for stripe, tail := range h.tails {
		if own := share(blocks, len(h.tails), stripe); own > 0 {
			steps = max(steps, (own-1)*len(h.slots)+tail)
		}
	}
	return steps
}

func (h *hierarchy) send(blocks, step int) (Transfer, bool) {
	if step < 0 {
		return Transfer{}, false
	}
	slot, period := step%len(h.slots), step/len(h.slots)
	if t, ok := h.slots[slot].sendIn(blocks, period); ok {
		return t, true
	}
	return h.gates[slot].sendIn(blocks, period)
}

func (h *hierarchy) receive(blocks, step int) (Transfer, bool) {
	if step < 0 {
		return Transfer{}, false
	}
	slot, period := step%len(h.slots), step/len(h.slots)
	if t, ok := h.slots[slot].receiveIn(blocks, period); ok {
		return t, true
	}
	return h.gates[slot].receiveIn(blocks, period)
}

func (h *hierarchy) peers() []int {
	var peers []int
	for _, levels := range [][]level{h.slots, h.gates} {
		for i := range levels {
			if l := &levels[i]; l.flow != nil {
				peers = append(peers, l.ranks(l.peers())...)
			}
		}
	}
	slices.Sort(peers)
	return slices.Compact(peers)
}

// announced: with several stripes the first block comes from the leader of whatever stripe is first.
func (h *hierarchy) announced() bool { return len(h.tails) > 1 }

// herald and heirs are those of the first stripe.
func (h *hierarchy) herald() (int, bool) {
	for _, l := range h.first() {
		if peer, ok := l.herald(); ok {
			return l.rank(peer), true
		}
	}
	return 0, false
}

func (h *hierarchy) heirs() []int {
	var heirs []int
	for _, l := range h.first() {
		heirs = append(heirs, l.ranks(l.heirs())...)
	}
	return heirs
}

// first are the levels of the first stripe in which the member is, from the top.
func (h *hierarchy) first() []level {
	var levels []level
	for _, l := range []level{h.gates[h.crossings], h.slots[0], h.slots[h.crossings]} {
		if l.flow != nil && l.stripe.number == 0 {
			levels = append(levels, l)
		}
	}
	return levels
}

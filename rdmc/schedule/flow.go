package schedule

// flow is a pattern in which every member receives a block in every step once its first cycle is over, so that another
// level of a hierarchy can be fed from it block by block, in the order of arrival.
type flow interface {
	pattern
	// nth is the block that arrives at the member as its index-th, from 0; at the root that is the index itself.
	nth(blocks, index int) int
	// lag says when: after step index+lag, at the latest. The root has all before step 0, so its lag is −1.
	lag() int
}

func (c chain) nth(_, index int) int { return index }
func (c chain) lag() int             { return c.rank - 1 }

// nth: after the first block a vertex receives in each step that follows the first cycle, and a twin one step later, from
// outside or from the other twin.
func (p pipeline) nth(blocks, index int) int {
	if p.rank == 0 {
		return index
	}
	step := p.dimensions - 1 + index
	switch {
	case index == 0:
		step = p.opening()
	case p.twins(p.vertex):
		step++
	}
	t, _ := p.receive(blocks, step)
	return t.Block
}

func (p pipeline) lag() int {
	if p.rank == 0 {
		return -1
	}
	return ceilLog2(p.members) - 1
}

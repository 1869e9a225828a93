package schedule

import (
	"math/bits"
	"slices"
)

// pipeline is the binomial pipeline (RDMC, section 4.3 and appendix A). A member of a group of n takes
// blocks + ⌈log₂ n⌉ − 1 steps, the least possible; from two blocks on, all end within the last two steps.
type pipeline struct {
	cube
	rank         int
	vertex, twin int
}

func newPipeline(members, rank int) pipeline {
	c := newCube(members)
	vertex, twin := c.place(rank)
	return pipeline{cube: c, rank: rank, vertex: vertex, twin: twin}
}

// send: "exactly one of the nodes within it will have that block. During that step, the other node will send a block
// that only it has to its partner and receive the incoming block (if any) for the vertex" (appendix A).
func (p pipeline) send(blocks, step int) (Transfer, bool) {
	if step < 0 || step >= p.steps(blocks) {
		return Transfer{}, false
	}
	if p.swaps(blocks, step) || p.sender(p.vertex, step) != p.rank {
		return p.within(blocks, p.twin, step)
	}
	block, ok := p.crossing(blocks, p.vertex, step)
	return Transfer{Peer: p.receiver(p.neighbour(p.vertex, step), step), Block: block}, ok
}

func (p pipeline) receive(blocks, step int) (Transfer, bool) {
	if step < 0 || step >= p.steps(blocks) {
		return Transfer{}, false
	}
	if p.swaps(blocks, step) || p.receiver(p.vertex, step) != p.rank {
		return p.within(blocks, 1-p.twin, step)
	}
	from := p.neighbour(p.vertex, step)
	block, ok := p.crossing(blocks, from, step)
	return Transfer{Peer: p.sender(from, step), Block: block}, ok
}

// within is the block that one twin gives to the other in a step.
func (p pipeline) within(blocks, from, step int) (Transfer, bool) {
	if !p.twins(p.vertex) {
		return Transfer{}, false
	}
	block, ok := p.arrived(blocks, p.vertex, from, step)
	return Transfer{Peer: p.other(), Block: block}, ok
}

// other is the member that shares the vertex.
func (p pipeline) other() int { return p.member(p.vertex, 1-p.twin) }

// peers: roles repeat after two rounds of all dimensions.
func (p pipeline) peers() []int {
	var peers []int
	if p.twins(p.vertex) {
		peers = append(peers, p.other())
	}
	for step := range 2 * p.dimensions {
		next := p.neighbour(p.vertex, step)
		if next != 0 && p.sender(p.vertex, step) == p.rank {
			peers = append(peers, p.receiver(next, step))
		}
		if p.vertex != 0 && p.receiver(p.vertex, step) == p.rank {
			peers = append(peers, p.sender(next, step))
		}
	}
	slices.Sort(peers)
	return slices.Compact(peers)
}

func (p pipeline) announced() bool { return false }

// opening is the step in which the member's first block arrives, whatever the number of blocks: the first along the
// highest dimension of its vertex, or, for the twin that does not receive there, the one after all dimensions.
func (p pipeline) opening() int {
	highest := bits.Len(uint(p.vertex)) - 1
	if p.receiver(p.vertex, highest) == p.rank {
		return highest
	}
	return p.dimensions
}

// herald: "the first block each node receives always comes from the same relay" (appendix A).
func (p pipeline) herald() (int, bool) {
	if p.rank == 0 {
		return 0, false
	}
	step := p.opening()
	return p.sender(p.neighbour(p.vertex, step), step), true
}

func (p pipeline) heirs() []int {
	var heirs []int
	for step := bits.Len(uint(p.vertex)); step < p.dimensions; step++ {
		if p.sender(p.vertex, step) == p.rank {
			heirs = append(heirs, p.receiver(p.neighbour(p.vertex, step), step))
		}
	}
	next := p.neighbour(p.vertex, p.dimensions)
	if p.twins(next) && p.sender(p.vertex, p.dimensions) == p.rank {
		heirs = append(heirs, p.receiver(next, p.dimensions))
	}
	return heirs
}

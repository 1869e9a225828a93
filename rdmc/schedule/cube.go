package schedule

import "math/bits"

// cube is the hypercube of the binomial pipeline (RDMC, appendix A). Each vertex holds one member, or two, twins, where
// the group's size is no power of two. To other vertices a pair of twins looks like one member: in a step one of them
// receives for the vertex, and the other sends.
type cube struct {
	members    int
	dimensions int // ⌊log₂ members⌋: there are 2^dimensions vertices
}

func newCube(members int) cube { return cube{members, bits.Len(uint(members)) - 1} }

// shared reports whether there are twins at all.
func (c cube) shared() bool { return c.members != 1<<c.dimensions }

// twins reports whether a vertex holds two members. The root's never does.
func (c cube) twins(vertex int) bool { return vertex > 0 && vertex <= c.members-1<<c.dimensions }

// place is where a member sits: its vertex, and which of the twins it is there, 0 or 1.
func (c cube) place(rank int) (vertex, twin int) {
	if rank < 1<<c.dimensions {
		return rank, 0
	}
	return rank + 1 - 1<<c.dimensions, 1
}

// member is who sits there.
func (c cube) member(vertex, twin int) int {
	if twin == 0 {
		return vertex
	}
	return vertex - 1 + 1<<c.dimensions
}

// neighbour is the vertex at the other end of the edge that is used in a step. All use parallel edges.
func (c cube) neighbour(vertex, step int) int { return vertex ^ 1<<(step%c.dimensions) }

// receiving tells which of the twins receives for the vertex in a step. They change roles after each step along a
// dimension in which the vertex has a one, so that whoever got a block from the root's side is the one to send next.
func (c cube) receiving(vertex, step int) int {
	if !c.twins(vertex) {
		return 0
	}
	rounds, dimension := step/c.dimensions, step%c.dimensions
	changes := rounds*bits.OnesCount(uint(vertex)) + bits.OnesCount(uint(vertex)&(1<<dimension-1))
	return changes & 1
}

// receiver is the member that receives for the vertex in a step.
func (c cube) receiver(vertex, step int) int { return c.member(vertex, c.receiving(vertex, step)) }

// sender is the member that sends for the vertex in a step: the other one, if there is one.
func (c cube) sender(vertex, step int) int {
	if !c.twins(vertex) {
		return vertex
	}
	return c.member(vertex, 1-c.receiving(vertex, step))
}

// steps is the optimum. Twins take one step more than vertices do, in which they swap what they still lack.
func (c cube) steps(blocks int) int { return blocks - 1 + ceilLog2(c.members) }

// swaps reports whether a step is that last one. A message of one block has none: there the second twin receives from
// where its first block always comes.
func (c cube) swaps(blocks, step int) bool {
	return blocks > 1 && c.shared() && step == c.steps(blocks)-1
}

// crossing is the block that a vertex sends to its neighbour in a step: the highest that it has. Where others swap, in
// the last step, a message of one block goes once more to those vertices that have twins.
func (c cube) crossing(blocks, vertex, step int) (block int, ok bool) {
	if step < 0 || step >= c.steps(blocks) || c.neighbour(vertex, step) == 0 {
		return 0, false
	}
	if c.shared() && step == c.steps(blocks)-1 {
		return 0, c.twins(c.neighbour(vertex, step))
	}
	if vertex == 0 {
		return min(step, blocks-1), true
	}
	block = step - c.dimensions + bits.TrailingZeros(c.turned(vertex, step))
	return min(block, blocks-1), block >= 0
}

// arrived is the block that one of the twins of a vertex received last for it before a step.
func (c cube) arrived(blocks, vertex, twin, step int) (block int, ok bool) {
	last := step - 1
	if last >= 0 && c.receiving(vertex, last) != twin {
		last -= c.dimensions + 1 - bits.Len(c.turned(vertex, last))
	}
	if last < 0 {
		return 0, false
	}
	return c.crossing(blocks, c.neighbour(vertex, last), last)
}

// turned is the vertex's number, rotated so that the dimension of a step becomes bit 0, and the dimension of the step
// before it the highest bit.
func (c cube) turned(vertex, step int) uint {
	by := step % c.dimensions
	return uint(vertex>>by | vertex<<(c.dimensions-by)&(1<<c.dimensions-1))
}

package schedule

import "slices"

// circulant is Träff's broadcast on a circulant graph (ACM 10.1145/3735139): as few steps as the pipeline, without
// special cases for any size, and with one-way edges. In round t a member sends to the one skips[t mod q] ranks further
// round the circle, with q = ⌈log₂ members⌉, and receives from the one as many ranks back. Which block that is, repeats
// every q rounds, q blocks higher.
//
// Where a member's first block comes from depends on the number of blocks, so messages are announced.
//
// All of it fits one line of a processor's cache: with thousands of members in one process each look finds it cold.
type circulant struct {
	members, rank int32
	q             int8
	sends         [maxRounds]int8 // by round in the first q: the block, negative before there is one
	receives      [maxRounds]int8 // the same; nothing at the root
}

func newCirculant(members, rank int) *circulant {
	skips := skips(members)
	c := &circulant{members: int32(members), rank: int32(rank), q: int8(len(skips) - 1)}
	if rank > 0 {
		for i, block := range receiveSchedule(skips, rank) {
			c.receives[i] = int8(block)
		}
	}
	for i, skip := range skips[:c.q] {
		block := i // the root sends each block once
		if rank > 0 {
			block = receiveSchedule(skips, (rank+skip)%members)[i]
		}
		c.sends[i] = int8(block)
	}
	return c
}

// skips halves the number of members, rounding up, down to 1: q and one more, ascending; the last is the number of members.
func skips(members int) []int {
	all := []int{members}
	for skip := members; skip > 1; {
		skip -= skip / 2
		all = append(all, skip)
	}
	slices.Reverse(all)
	return all
}

// skip is skips[i]: to halve twice, rounding up, is to divide by four and round up.
func (c *circulant) skip(i int) int32 {
	halvings := int(c.q) - i
	return (c.members + 1<<halvings - 1) >> halvings
}

// further is the rank so many ranks further round the circle.
func (c *circulant) further(ranks int32) int {
	if rank := c.rank + ranks; rank < c.members {
		return int(rank)
	}
	return int(c.rank + ranks - c.members)
}

func (c *circulant) steps(blocks int) int { return blocks - 1 + int(c.q) }

func (c *circulant) send(blocks, step int) (Transfer, bool) {
	i, base, ok := c.round(blocks, step)
	if !ok {
		return Transfer{}, false
	}
	peer := c.further(c.skip(i))
	block := base + int(c.sends[i])
	return Transfer{Peer: peer, Block: min(block, blocks-1)}, peer > 0 && block >= 0
}

func (c *circulant) receive(blocks, step int) (Transfer, bool) {
	i, base, ok := c.round(blocks, step)
	if !ok || c.rank == 0 {
		return Transfer{}, false
	}
	peer := c.further(c.members - c.skip(i))
	block := base + int(c.receives[i])
	return Transfer{Peer: peer, Block: min(block, blocks-1)}, block >= 0
}

// round is the index of a step in the schedules, and what is to be added to the block there. The first rounds are left
// out so that the last step ends a cycle. In that last cycle base is blocks-1, so that each member has only one round
// with a block past the end, and takes the last block then: none comes twice.
func (c *circulant) round(blocks, step int) (i, base int, ok bool) {
	q := int(c.q)
	omitted := (q - (blocks-1)%q) % q
	round := step + omitted
	return round % q, round/q*q - omitted, step >= 0 && step < c.steps(blocks)
}

func (c *circulant) peers() []int {
	var peers []int
	for i := range int(c.q) {
		if to := c.further(c.skip(i)); to > 0 {
			peers = append(peers, to)
		}
		if c.rank > 0 {
			peers = append(peers, c.further(c.members-c.skip(i)))
		}
	}
	slices.Sort(peers)
	return slices.Compact(peers)
}

func (c *circulant) announced() bool { return true }

// herald is the member before the last skip on the way from the root, which takes the longest skips first: at most q
// skips, each an edge of the graph.
func (c *circulant) herald() (int, bool) {
	if c.rank == 0 {
		return 0, false
	}
	skips := skips(int(c.members))
	return int(c.rank) - skips[lastSkip(skips, int(c.rank))], true
}

func (c *circulant) heirs() []int {
	var heirs []int
	skips := skips(int(c.members))
	for i := int(c.q) - 1; i >= 0; i-- {
		if heir := int(c.rank) + skips[i]; heir < int(c.members) && lastSkip(skips, heir) == i {
			heirs = append(heirs, heir)
		}
	}
	return heirs
}

// lastSkip is the index of the last skip on the way to a rank; that is also the first block that it gets of a long
// message. For the root it is q.
func lastSkip(skips []int, rank int) int {
	at := 0
	for i := len(skips) - 2; i >= 0; i-- {
		switch next := at + skips[i]; {
		case next == rank:
			return i
		case next < rank:
			at = next
		}
	}
	return len(skips) - 1
}

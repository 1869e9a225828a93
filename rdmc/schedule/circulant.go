package schedule

import "slices"

// circulant is Träff's broadcast on a circulant graph (ACM 10.1145/3735139): as few steps as the pipeline, without
// special cases for any size, and with one-way edges. In round t a member sends to the one skips[t mod q] ranks further
// round the circle, with q = ⌈log₂ members⌉, and receives from the one as many ranks back. Which block that is, repeats
// every q rounds, q blocks higher.
//
// Where a member's first block comes from depends on the number of blocks, so messages are announced.
type circulant struct {
	members, rank int
	skips         []int // q and one more, ascending: skips[q] = members
	sends         []int // by round in the first q: the block, negative before there is one
	receives      []int // the same; nothing at the root
}

func newCirculant(members, rank int) *circulant {
	c := &circulant{members: members, rank: rank, skips: skips(members)}
	if rank > 0 {
		c.receives = receiveSchedule(c.skips, rank)
	}
	for i, skip := range c.skips[:c.q()] {
		block := i // the root sends each block once
		if rank > 0 {
			block = receiveSchedule(c.skips, (rank+skip)%members)[i]
		}
		c.sends = append(c.sends, block)
	}
	return c
}

// skips halves the number of members, rounding up, down to 1.
func skips(members int) []int {
	all := []int{members}
	for skip := members; skip > 1; {
		skip -= skip / 2
		all = append(all, skip)
	}
	slices.Reverse(all)
	return all
}

func (c *circulant) q() int { return len(c.skips) - 1 }

func (c *circulant) steps(blocks int) int { return blocks - 1 + c.q() }

func (c *circulant) send(blocks, step int) (Transfer, bool) {
	i, base, ok := c.round(blocks, step)
	if !ok {
		return Transfer{}, false
	}
	peer := (c.rank + c.skips[i]) % c.members
	block := base + c.sends[i]
	return Transfer{Peer: peer, Block: min(block, blocks-1)}, peer > 0 && block >= 0
}

func (c *circulant) receive(blocks, step int) (Transfer, bool) {
	i, base, ok := c.round(blocks, step)
	if !ok || c.rank == 0 {
		return Transfer{}, false
	}
	peer := (c.rank + c.members - c.skips[i]) % c.members
	block := base + c.receives[i]
	return Transfer{Peer: peer, Block: min(block, blocks-1)}, block >= 0
}

// round is the index of a step in the schedules, and what is to be added to the block there. The first rounds are left
// out so that the last step ends a cycle. In that last cycle base is blocks-1, so that each member has only one round
// with a block past the end, and takes the last block then: none comes twice.
func (c *circulant) round(blocks, step int) (i, base int, ok bool) {
	q := c.q()
	omitted := (q - (blocks-1)%q) % q
	round := step + omitted
	return round % q, round/q*q - omitted, step >= 0 && step < c.steps(blocks)
}

func (c *circulant) peers() []int {
	var peers []int
	for _, skip := range c.skips[:c.q()] {
		if to := (c.rank + skip) % c.members; to > 0 {
			peers = append(peers, to)
		}
		if c.rank > 0 {
			peers = append(peers, (c.rank+c.members-skip)%c.members)
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
	return c.rank - c.skips[lastSkip(c.skips, c.rank)], true
}

func (c *circulant) heirs() []int {
	var heirs []int
	for i := c.q() - 1; i >= 0; i-- {
		if heir := c.rank + c.skips[i]; heir < c.members && lastSkip(c.skips, heir) == i {
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

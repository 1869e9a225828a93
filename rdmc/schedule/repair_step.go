package schedule

import (
	"cmp"
	"slices"
)

// planner makes a repair step by step. In each step the rarest blocks go first, and they go to those members that have
// least to offer: so the holders of a rare block double, and the others pass on what is more common meanwhile, as in the
// binomial pipeline, which this becomes if one member holds what the others lack. Where a member is left without a sender
// although one is free, somebody changes places with the free one (see stepIn).
type planner struct {
	members   int
	shelf     shelf
	peers     []ranks // by rank: with whom it exchanges blocks, to be asked first, as each peer costs a connection
	lacking   []int   // by rank: blocks that it lacks
	offering  []int   // by rank: blocks that it holds and somebody lacks
	transfers []transfer
	starts    []int

	// What follows is of the current step.
	senders   ranks    // could send something and do not yet
	receivers ranks    // lack something and do not receive yet
	order     []int    // receivers, those that have least to offer first
	rarest    []int    // by rank: the holders of its rarest offer; members if it has none
	sending   []int    // by rank: index of its transfer, if it is busy
	gives     []*class // by rank: what that is of
	changed   []*class // of which somebody receives the last block
	taken     []int    // that block, for each of them
}

func newPlanner(have []Set) *planner {
	n := len(have)
	p := &planner{
		members: n, shelf: newShelf(n), peers: newRanks(n, n), lacking: make([]int, n), offering: make([]int, n),
		senders: make(ranks, words(n)), receivers: make(ranks, words(n)),
		rarest: make([]int, n), sending: make([]int, n), gives: make([]*class, n),
	}
	holders := newRanks(n, have[0].Len())
	for rank, set := range have {
		p.offering[rank], p.lacking[rank] = set.Count(), set.Len()-set.Count()
		for block := range set.All() {
			holders[block].add(rank)
		}
	}
	for block := range slices.Backward(holders) {
		p.put(block, holders[block])
	}
	return p
}

// put files a block. What everybody holds is no offer any more.
func (p *planner) put(block int, holders ranks) {
	if p.shelf.put(block, holders) {
		return
	}
	for rank := range p.members {
		p.offering[rank]--
	}
}

func (p *planner) unfinished() bool { return p.shelf.blocks > 0 }

// step plans one step. The first class always finds a sender and a receiver, so each step leads on.
func (p *planner) step() {
	start := len(p.transfers)
	p.starts = append(p.starts, start)
	p.begin()
	p.match(p.senders, p.send)
	if !p.senders.empty() && !p.receivers.empty() {
		p.match(p.replaceable(start), p.stepIn)
	}
	p.end()
}

// end files the blocks anew that have got more holders: first out, then in, for one may go where another leaves.
func (p *planner) end() {
	p.taken = p.taken[:0]
	for _, c := range p.changed {
		p.taken = append(p.taken, p.shelf.take(c))
	}
	for i, c := range p.changed {
		p.put(p.taken[i], c.grown)
		c.grown = nil
	}
	p.changed = p.changed[:0]
}

// begin finds out who can do what in this step.
func (p *planner) begin() {
	p.order = p.order[:0]
	for rank := range p.members {
		p.rarest[rank] = p.members
		p.senders.remove(rank)
		if p.offering[rank] > 0 {
			p.senders.add(rank)
		}
		if p.lacking[rank] > 0 {
			p.receivers.add(rank)
			p.order = append(p.order, rank)
		}
	}
	p.findRarest()
	slices.SortFunc(p.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.rarest[b], p.rarest[a]), cmp.Compare(p.lacking[b], p.lacking[a]), cmp.Compare(a, b))
	})
}

// findRarest finds how rare each member's rarest offer is.
func (p *planner) findRarest() {
	left := slices.Clone(p.senders)
	for c := range p.shelf.rarest {
		for rank, ok := left.first(c.holders); ok; rank, ok = left.first(c.holders) {
			p.rarest[rank] = c.count
			left.remove(rank)
		}
		if left.empty() {
			return
		}
	}
}

// match has some of the senders give blocks to the receivers, the rarest first.
func (p *planner) match(from ranks, send func(from ranks, c *class, to int) bool) {
	for c := range p.shelf.rarest {
		if from.empty() || p.receivers.empty() {
			return
		}
		if from.meets(c.holders) && !c.holders.contain(p.receivers) {
			p.give(from, c, send)
		}
	}
}

// give gives one block to as many as possible. After that either all holders are busy or nobody is left who lacks it.
func (p *planner) give(from ranks, c *class, send func(from ranks, c *class, to int) bool) {
	for _, to := range p.order {
		if p.receivers.has(to) && !c.holders.has(to) && !send(from, c, to) {
			return
		}
	}
}

// send has a free sender send a block.
func (p *planner) send(from ranks, c *class, to int) bool {
	sender, ok := p.choose(from, c, to)
	if ok {
		p.add(sender, c, to)
	}
	return ok
}

// choose finds a holder, among the receiver's peers if there is one.
func (p *planner) choose(from ranks, c *class, to int) (int, bool) {
	if rank, ok := from.first(c.holders, p.peers[to]); ok {
		return rank, true
	}
	return from.first(c.holders)
}

// stepIn has a busy sender send a block, and a free sender take its place.
func (p *planner) stepIn(busy ranks, c *class, to int) bool {
	for sender, ok := p.choose(busy, c, to); ok; sender, ok = p.choose(busy, c, to) {
		busy.remove(sender)
		if p.replace(sender) {
			p.add(sender, c, to)
			return true
		}
	}
	return false
}

// replace finds a free sender for what a busy one sends.
func (p *planner) replace(sender int) bool {
	index, c := p.sending[sender], p.gives[sender]
	free, ok := p.choose(p.senders, c, int(p.transfers[index].to))
	if ok {
		p.transfers[index].from = uint16(free)
		p.begun(index, c)
	}
	return ok
}

// replaceable are the busy senders for which a free one could step in.
func (p *planner) replaceable(start int) ranks {
	busy := make(ranks, len(p.senders))
	for _, t := range p.transfers[start:] {
		if p.senders.meets(p.gives[t.from].holders) {
			busy.add(int(t.from))
		}
	}
	return busy
}

func (p *planner) add(from int, c *class, to int) {
	if c.grown == nil {
		c.grown = slices.Clone(c.holders)
		p.changed = append(p.changed, c)
	}
	c.grown.add(to)
	p.receivers.remove(to)
	p.lacking[to]--
	p.offering[to]++
	p.transfers = append(p.transfers, transfer{from: uint16(from), to: uint16(to), block: uint32(c.last())})
	p.begun(len(p.transfers)-1, c)
}

// begun notes who is busy with a transfer, and that the two are peers.
func (p *planner) begun(index int, c *class) {
	from, to := int(p.transfers[index].from), int(p.transfers[index].to)
	p.senders.remove(from)
	p.sending[from], p.gives[from] = index, c
	p.peers[from].add(to)
	p.peers[to].add(from)
}

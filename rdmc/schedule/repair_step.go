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
	rarity    rarity
	holders   []ranks // by block
	peers     []ranks // by rank: with whom it has exchanged something, to be asked first, as each peer costs a connection
	lacking   []int   // by rank: blocks that it lacks
	offering  []int   // by rank: blocks that it holds and somebody lacks
	transfers []transfer
	starts    []int

	// What follows is of the current step.
	senders   ranks // could send something and do not yet
	receivers ranks // lack something and do not receive yet
	sending   []int // by rank: index of what it sends; only for those not in senders
	rarest    []int // by rank: the holders of its rarest offer; members if it has none
	order     []int // receivers, those that have least to offer first
}

func newPlanner(have []Set) *planner {
	n, blocks := len(have), have[0].Len()
	p := &planner{
		members: n, holders: newRanks(n, blocks), peers: newRanks(n, n), lacking: make([]int, n), offering: make([]int, n),
		sending: make([]int, n), rarest: make([]int, n), senders: newRanks(n, 1)[0], receivers: newRanks(n, 1)[0],
	}
	counts := make([]int, blocks)
	for rank, set := range have {
		p.lacking[rank] = blocks - set.Count()
		p.offering[rank] = set.Count()
		for block := range set.All() {
			p.holders[block].add(rank)
			counts[block]++
		}
	}
	p.rarity = newRarity(counts, n)
	for block, count := range counts {
		p.complete(block, count)
	}
	return p
}

// complete takes a block that everybody holds out of what they offer.
func (p *planner) complete(block, holders int) {
	if holders < p.members {
		return
	}
	for rank := range p.members {
		p.offering[rank]--
	}
}

func (p *planner) unfinished() bool { return p.rarity.wanted() > 0 }

// step plans one step. Its first block always finds a sender and a receiver, so each step leads on.
func (p *planner) step() {
	start := len(p.transfers)
	p.starts = append(p.starts, start)
	p.begin()
	p.match(p.senders, p.send)
	p.match(p.replaceable(start), p.stepIn)
	for _, t := range p.transfers[start:] {
		p.holders[t.block].add(int(t.to))
		p.offering[t.to]++
		p.complete(int(t.block), p.rarity.increment(int(t.block)))
	}
}

// begin finds out who can do what in this step.
func (p *planner) begin() {
	p.order = p.order[:0]
	for rank := range p.members {
		p.rarest[rank] = p.members
		if p.offering[rank] > 0 {
			p.senders.add(rank)
		} else {
			p.senders.remove(rank)
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
	unranked := slices.Clone(p.senders)
	for block := range p.rarity.ascending {
		if unranked.empty() {
			return
		}
		for {
			rank, ok := unranked.first(p.holders[block])
			if !ok {
				break
			}
			unranked.remove(rank)
			p.rarest[rank] = p.rarity.counts[block]
		}
	}
}

// match gives blocks, the rarest first, from some of the senders to the receivers.
func (p *planner) match(from ranks, send func(from ranks, block, to int) bool) {
	for block := range p.rarity.ascending {
		if from.empty() || p.receivers.empty() {
			return
		}
		if from.meets(p.holders[block]) && !p.holders[block].contain(p.receivers) {
			p.give(block, from, send)
		}
	}
}

// give gives one block to as many as possible.
func (p *planner) give(block int, from ranks, send func(from ranks, block, to int) bool) {
	for _, to := range p.order {
		if p.receivers.has(to) && !p.holders[block].has(to) && !send(from, block, to) {
			return
		}
	}
}

// send has a free sender send a block.
func (p *planner) send(from ranks, block, to int) bool {
	sender, ok := p.choose(from, block, to)
	if ok {
		p.add(sender, to, block)
	}
	return ok
}

// choose finds a holder of a block, among those that the receiver knows if there is one.
func (p *planner) choose(from ranks, block, to int) (int, bool) {
	if rank, ok := from.first(p.holders[block], p.peers[to]); ok {
		return rank, true
	}
	return from.first(p.holders[block])
}

// stepIn has a sender send a block that is busy with another one, in which a free sender takes its place.
func (p *planner) stepIn(busy ranks, block, to int) bool {
	for {
		sender, ok := p.choose(busy, block, to)
		if !ok {
			return false
		}
		busy.remove(sender)
		other := p.transfers[p.sending[sender]]
		if p.replace(sender, int(other.block), int(other.to)) {
			p.add(sender, to, block)
			return true
		}
	}
}

// replace finds a free sender for what another one sends.
func (p *planner) replace(sender, block, to int) bool {
	free, ok := p.choose(p.senders, block, to)
	if !ok {
		return false
	}
	index := p.sending[sender]
	p.transfers[index].from = uint16(free)
	p.begun(index)
	return true
}

// replaceable are the senders for which a free one could step in.
func (p *planner) replaceable(start int) ranks {
	busy := make(ranks, len(p.senders))
	if p.senders.empty() || p.receivers.empty() {
		return busy
	}
	for _, t := range p.transfers[start:] {
		if p.senders.meets(p.holders[t.block]) {
			busy.add(int(t.from))
		}
	}
	return busy
}

func (p *planner) add(from, to, block int) {
	p.transfers = append(p.transfers, transfer{from: uint16(from), to: uint16(to), block: uint32(block)})
	p.receivers.remove(to)
	p.lacking[to]--
	p.begun(len(p.transfers) - 1)
}

// begun notes who is busy with a transfer, and that the two know each other.
func (p *planner) begun(index int) {
	from, to := int(p.transfers[index].from), int(p.transfers[index].to)
	p.senders.remove(from)
	p.sending[from] = index
	p.peers[from].add(to)
	p.peers[to].add(from)
}

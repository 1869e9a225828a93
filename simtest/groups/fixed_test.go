package groups

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// fixed are the choices that auto is compared with: every algorithm among some, blocks that are powers of two from 4 KiB up to
// the whole message and at most so many, and stripes with credits.
func (p point) fixed(most int, among []schedule.Algorithm) (all []tune.Choice) {
	for _, a := range among {
		if a.Racks() && p.racks == 1 {
			continue
		}
		for block := 4 << 10; block < 2*int(p.size); block *= 2 {
			if p.size > uint64(block)*uint64(min(most, p.mostBlocks())) {
				continue
			}
			all = append(all, p.ways(a, block)...)
		}
	}
	// Those that are likely to be good come first: nobody needs to wait for the others once a good one is known.
	slices.SortStableFunc(all, func(a, b tune.Choice) int { return cmp.Compare(a.Predicted, b.Predicted) })
	return all
}

// ways are stripes with credits.
func (p point) ways(a schedule.Algorithm, block int) (all []tune.Choice) {
	for _, s := range [][2]int{{1, 1}, {1, 2}, {2, 2}, {2, 3}, {4, 4}, {4, 5}} {
		c := tune.Choice{Algorithm: a, Block: block, Stripes: s[0], Credits: p.credits(s[1])}
		c.Predicted = tune.Predict(p.group(), p.network(), c)
		all = append(all, c)
	}
	return all
}

// paced adds those of the choices to which a pace may be of use, with one.
func (p point) paced(all []tune.Choice) []tune.Choice {
	for _, c := range all {
		if c.Algorithm <= schedule.Circulant && c.Stripes > 1 && c.Credits == c.Stripes {
			c.Pace = p.wire(c.Block)
			all = append(all, c)
		}
	}
	return all
}

// credits are so many, or those of NICs that relay by themselves.
func (p point) credits(few int) int {
	if p.offload {
		return 64
	}
	return few
}

// bound is what a fixed choice takes at least, whatever any model says: the root's blocks but the last one, of which so many
// can be under way at a time as there are stripes, or more with a pace; and the last one's way to all.
func (p point) bound(c tune.Choice) time.Duration {
	k := rdmc.Message{Size: p.size, BlockSize: c.Block}.Blocks()
	wire, last := p.wire(c.Block), p.wire(int(p.size)-(k-1)*c.Block)
	under := c.Stripes
	if c.Pace > 0 || p.offload {
		under = c.Credits + 1
	}
	turn := max(wire, (wire+2*p.more)/time.Duration(under), p.message)
	rounds := bits.Len(uint(p.members - 1))
	switch c.Algorithm {
	case schedule.Tree:
		return time.Duration(k*rounds-1)*turn + last
	case schedule.Sequential:
		return time.Duration(k*(p.members-1)-1)*turn + last
	case schedule.Chain:
		return time.Duration(k-1)*turn + time.Duration(p.members-1)*(last+p.more)
	}
	return time.Duration(k-1)*turn + time.Duration(rounds)*last
}

package tune

import (
	"cmp"
	"slices"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// ranked is a choice with what the formula says.
type ranked struct {
	Choice
	estimate float64
}

// played is how many choices are played through.
const played = 24

// shortlist ranks all choices by the formula, and returns the best.
func shortlist(g Group, n Network, among []schedule.Algorithm) []ranked {
	var all []ranked
	for _, algorithm := range among {
		if algorithm.Racks() && !hasRacks(g) {
			continue
		}
		for _, block := range blocks(g.Size, n) {
			for _, c := range ways(algorithm, block, g, n) {
				all = append(all, ranked{c, estimate(g, n, c)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(a.estimate, b.estimate) })
	return all[:min(played, len(all))]
}

// hasRacks reports whether there are several racks, and one of several members.
func hasRacks(g Group) bool { n := racks(g); return n > 1 && n < g.Members }

// blocks are the sizes to choose from: 4 KiB, 6, 8, 12 and so on, up to the first that holds the message. If a network has
// limits, the smallest is where they begin.
func blocks(size uint64, n Network) (all []int) {
	least, most := MinBlock, MaxBlock
	if n.MaxBlock > 0 {
		most = min(most, n.MaxBlock)
	}
	if least = min(least, most); n.MinBlock > 0 {
		least = n.MinBlock
	}
	for block := least; block <= most; block *= 2 {
		for _, b := range []int{block, block + block/2} {
			if b > most || size > uint64(b)*maxBlocks {
				continue
			}
			if all = append(all, b); size <= uint64(b) {
				return all
			}
		}
	}
	return all
}

// ways are the stripes, credits and paces that are worth a look.
func ways(a schedule.Algorithm, block int, g Group, n Network) []Choice {
	k := count(g.Size, block)
	switch {
	case a == schedule.Chain:
		return many(a, block, 1, 2, 3, 4)
	case a.Racks() && a != schedule.RackStripes, a == schedule.Tree, a == schedule.Sequential:
		return many(a, block, 1, 2)
	case a == schedule.RackStripes:
		return many(a, block, 2, 4, 8)
	case k == 2:
		return append(many(a, block, 2), one(a, block))
	}
	// With as many credits as stripes a member receives one block of each at a time. One more, and two blocks of a stripe
	// meet on its link, which no model foresees.
	all := []Choice{one(a, block)}
	for stripes := 2; stripes <= min(4, k); stripes++ {
		pace := time.Duration(float64(block) * 8e9 / n.Rate)
		all = append(all, Choice{Algorithm: a, Block: block, Stripes: stripes, Credits: stripes, Pace: pace})
	}
	return all
}

// one is one stripe with one credit: it pays the latency of a block and of a credit in every step, and no more.
func one(a schedule.Algorithm, block int) Choice {
	return Choice{Algorithm: a, Block: block, Stripes: 1, Credits: 1}
}

// many is one choice for each number of stripes, with a credit more.
func many(a schedule.Algorithm, block int, stripes ...int) (all []Choice) {
	for _, s := range stripes {
		all = append(all, Choice{Algorithm: a, Block: block, Stripes: s, Credits: s + 1})
	}
	return all
}

// count is how many blocks a message has.
func count(size uint64, block int) int { return max(1, int((size+uint64(block)-1)/uint64(block))) }

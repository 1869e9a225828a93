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

// played is how many choices are played through of each algorithm: the formula is better at comparing block sizes than
// algorithms.
const played = 8

// shortlist ranks the choices of each algorithm by the formula, and returns the best of each, the best of all first.
func shortlist(g Group, n Network, among []schedule.Algorithm) (list []ranked) {
	for _, algorithm := range among {
		if algorithm.Racks() && !hasRacks(g) {
			continue
		}
		var all []ranked
		for _, block := range blocks(g, n) {
			for _, c := range ways(algorithm, block, g, n) {
				all = append(all, ranked{c, estimate(g, n, c)})
			}
		}
		slices.SortStableFunc(all, byEstimate)
		list = append(list, all[:min(played, len(all))]...)
	}
	slices.SortStableFunc(list, byEstimate)
	return list
}

func byEstimate(a, b ranked) int { return cmp.Compare(a.estimate, b.estimate) }

// hasRacks reports whether there are several racks, and one of several members.
func hasRacks(g Group) bool { n := racks(g); return n > 1 && n < g.Members }

// blocks are the sizes to choose from: some power of two, half as much again, and so on, up to the first that holds the
// message. Smaller ones than the first would save too little, even in a chain, which has the most steps before all are busy.
func blocks(g Group, n Network) (all []int) {
	least, most := MinBlock, MaxBlock
	if n.MaxBlock > 0 {
		most = min(most, n.MaxBlock)
	}
	if least = min(least, most); n.MinBlock > 0 {
		least = n.MinBlock
	}
	for 2*least <= most && float64(2*least*(g.Members-1)) <= (nearly-1)/2*float64(g.Size) {
		least *= 2
	}
	for block := least; block <= most; block *= 2 {
		for _, b := range []int{block, block + block/2} {
			if b > most || g.Size > uint64(b)*maxBlocks {
				continue
			}
			if all = append(all, b); g.Size <= uint64(b) {
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
		return striped(block, smallest(g.Racks))
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

// striped is some choices for each number of stripes between racks: as many as the smallest rack has leaders.
func striped(block, leaders int) (all []Choice) {
	for _, s := range []int{2, 3, 4, 6} {
		if s > leaders {
			break
		}
		for _, credits := range []int{min(s, rackWindow), s + 1} {
			all = append(all, Choice{Algorithm: schedule.RackStripes, Block: block, Stripes: s, Credits: credits})
		}
	}
	return all
}

// smallest is how many members the smallest rack has, but 2 at least.
func smallest(racks []int) int {
	members := map[int]int{}
	for _, rack := range racks {
		members[rack]++
	}
	least := len(racks)
	for _, n := range members {
		least = min(least, n)
	}
	return max(2, least)
}

// count is how many blocks a message has.
func count(size uint64, block int) int { return max(1, int((size+uint64(block)-1)/uint64(block))) }

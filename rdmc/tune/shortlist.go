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

// ways are the stripes, credits and paces that are worth a look, or those that were said.
func ways(a schedule.Algorithm, block int, g Group, n Network) (all []Choice) {
	k := count(g.Size, block)
	for _, stripes := range orElse(n.Stripes, stripesOf(a, k, g)) {
		for _, credits := range orElse(n.Credits, creditsOf(a, k, stripes, n)) {
			c := Choice{Algorithm: a, Block: block, Stripes: stripes, Credits: credits}
			if takesTurns(a, k, stripes) && !n.Offload {
				c.Pace = time.Duration(float64(block) * 8e9 / n.Rate)
			}
			all = append(all, c)
		}
	}
	return all
}

// orElse is a number that was said, or else some to choose from.
func orElse(said int, some []int) []int {
	if said != 0 {
		return []int{said}
	}
	return some
}

// stripesOf are the numbers of stripes that are worth a look. Between racks they are at most as many as the smallest rack has
// leaders.
func stripesOf(a schedule.Algorithm, k int, g Group) []int {
	switch {
	case a == schedule.Chain:
		return []int{1, 2, 3, 4}
	case a == schedule.RackStripes:
		leaders := smallest(g.Racks)
		return slices.DeleteFunc([]int{2, 3, 4, 6}, func(s int) bool { return s > leaders })
	case a.Racks(), a == schedule.Tree, a == schedule.Sequential:
		return []int{1, 2}
	case k == 2:
		return []int{2, 1}
	}
	return []int{1, 2, 3, 4}[:min(4, k)]
}

// creditsOf are the numbers of credits that are worth a look: one more than there are stripes, as a rule. But one stripe with
// one credit pays the latency of a block and of a credit in every step, and no more. And where stripes take turns a member with
// as many credits receives one block of each at a time; one more, and two blocks of a stripe meet on its link, which no model
// foresees.
func creditsOf(a schedule.Algorithm, k, stripes int, n Network) []int {
	switch {
	case a == schedule.RackStripes:
		return []int{min(stripes, rackWindow), stripes + 1}
	case doubles(a) && stripes == 1, takesTurns(a, k, stripes) && !n.Offload:
		return []int{stripes}
	}
	return []int{stripes + 1}
}

// doubles reports whether those who have a block double with every step, in all racks alike.
func doubles(a schedule.Algorithm) bool { return a == schedule.Pipeline || a == schedule.Circulant }

// takesTurns reports whether stripes would meet at a member if nobody kept a pace.
func takesTurns(a schedule.Algorithm, k, stripes int) bool { return doubles(a) && stripes > 1 && k > 2 }

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

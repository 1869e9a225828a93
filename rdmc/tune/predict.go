package tune

import (
	"math"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// What is played at most. Members and blocks beyond are added as the last ones took.
const (
	playedMembers = 16
	playedRacks   = 8
	playedSeats   = 8 // of a rack
	playedBlocks  = 24

	// playedTransfers are so few that a large group is played as it is: a part of it, twice, would be as much work.
	playedTransfers = 1536
)

// predict computes how long a message takes, of what was checked.
func predict(g Group, n Network, c Choice) time.Duration {
	k := count(g.Size, c.Block)
	if g.Members == 1 {
		return 0
	}
	l := n.link()
	window := c.Credits <= c.Stripes && c.Credits >= min(c.Stripes, rackWindow)
	if c.Algorithm == schedule.RackStripes && window && 4*l.net < l.busy(c) && hasRacks(g) {
		// Blocks that cross at the same time share the uplinks with others that do not, where the game has them wait. With
		// fewer credits than a window they do wait.
		return duration(estimate(g, n, c))
	}
	if hasRacks(g) {
		return duration(racked(g, l, c, k))
	}
	if len(g.Racks) > 0 {
		c.Algorithm = level(c.Algorithm, racks(g) == 1)
	}
	g.Racks = nil
	return duration(flat(g, l, c, k) * l.caution(c, g.Members, k))
}

// level is what an algorithm does in a group that needs no hierarchy: all are in one rack, or each in its own.
func level(a schedule.Algorithm, together bool) schedule.Algorithm {
	switch {
	case !a.Racks():
		return a
	case a == schedule.RackChain && !together:
		return schedule.Chain
	}
	return schedule.Pipeline
}

// duration is a time that fits.
func duration(nanoseconds float64) time.Duration {
	if !(nanoseconds < math.MaxInt64) {
		return math.MaxInt64
	}
	return time.Duration(nanoseconds)
}

// flat plays a group in one rack. A larger one takes longer by as much for each round, or for each member of a chain, as a
// half takes less; never less time, though a half may take more where many small blocks meet.
func flat(g Group, l link, c Choice, k int) float64 {
	if g.Members <= playedMembers || g.Members*k <= playedTransfers {
		return long(g, l, c, k)
	}
	whole, half := Group{Members: playedMembers}, Group{Members: playedMembers / 2}
	all := long(whole, l, c, k)
	more := rounds(g.Members) - rounds(playedMembers)
	if c.Algorithm == schedule.Chain || c.Algorithm == schedule.Sequential {
		more = float64(g.Members-playedMembers) / (playedMembers / 2)
	}
	return all + more*max(0, all-long(half, l, c, k))
}

// long plays a message. After a while each further block takes as long as the ones before.
func long(g Group, l link, c Choice, k int) float64 {
	cycle := c.Stripes * int(rounds(g.Members))
	some := (playedBlocks + cycle - 1) / cycle * cycle
	if k <= 2*some {
		return must(play(g, l, c, k))
	}
	first, second := must(play(g, l, c, some)), must(play(g, l, c, 2*some))
	return second + float64(k-2*some)*(second-first)/float64(some)
}

// must turns what is impossible into for ever.
func must(nanoseconds float64, err error) float64 {
	if err != nil {
		return math.Inf(1)
	}
	return nanoseconds
}

// racked plays a group in racks, or a smaller one with fewer and smaller racks. Where all members of a rack send to others,
// smaller racks have narrower uplinks.
func racked(g Group, l link, c Choice, k int) float64 {
	small := shrink(g)
	if !c.Algorithm.Racks() && c.Algorithm != schedule.Chain {
		l.upTime *= float64(g.Members*racks(small)) / float64(small.Members*racks(g))
	}
	all := long(small, l, c, k)
	step := float64(c.Stripes) * l.busy(c)
	if c.Algorithm == schedule.Chain || c.Algorithm == schedule.RackChain {
		return all + float64(g.Members-small.Members)*l.hop(float64(c.Block))
	}
	return all + (rounds(g.Members)-rounds(small.Members))*step
}

// shrink keeps the first members of the first racks.
func shrink(g Group) Group {
	seats := make([]int, racks(g))
	small := Group{Size: g.Size}
	for _, rack := range g.Racks {
		if seats[rack]++; rack < playedRacks && seats[rack] <= playedSeats {
			small.Racks = append(small.Racks, rack)
		}
	}
	small.Members = len(small.Racks)
	return small
}

package paper

import (
	"slices"

	"github.com/weft-fabric/weft/bench/figure"
)

// The lines of figure 10 that claims are about: indexes of overlap, and of aware.
const (
	largeAll = iota
	largeHalf
	largeOne
	middleAll
	_
	middleOne
	smallAll
	_
	smallOne
	largeAware // only where there are racks
)

// flatClaims: what a NIC takes in is the limit. If all members send, each takes in what the n−1 others send, so that the
// aggregate can be n/(n−1) times its rate; otherwise there is one that takes in everything.
func flatClaims(v *bandwidths) []figure.Claim {
	var all, half, one []float64
	for i, members := range v.members {
		n := float64(members)
		all = append(all, v.rates[largeAll][i]/(fractus*n/(n-1)))
		half = append(half, v.rates[largeHalf][i]/fractus)
		one = append(one, v.rates[largeOne][i]/fractus)
	}
	possible := func(lines ...[]float64) bool { return slices.Max(slices.Concat(lines...)) < 1.001 } // else the network is not what it should be
	last := len(v.members) - 1
	small, large := v.rates[smallOne][last]/fractus, one[last]
	gain := v.rates[smallAll][last] / v.rates[smallOne][last]
	return []figure.Claim{
		claim("100 MB, concurrent senders: close to what the NICs can, 0.9 at least", slices.Min(all) >= 0.9 && slices.Min(half) >= 0.9 && possible(all, half),
			"all send %.3f to %.3f, half %.3f to %.3f of it", slices.Min(all), slices.Max(all), slices.Min(half), slices.Max(half)),
		claim("100 MB, one sender: 0.85 at least in every group", slices.Min(one) >= 0.85 && possible(one), "%.3f to %.3f of it", slices.Min(one), slices.Max(one)),
		claim("smaller messages use less of the network", small < 0.5*large, "16 members, one sends: 10 KB %.3f, 1 MB %.3f, 100 MB %.3f of it",
			small, v.rates[middleOne][last]/fractus, large),
		claim("concurrent senders fill what one leaves idle", gain > 3, "16 members, 10 KB: all together %.1f × one", gain),
	}
}

// oversubscribedClaims: transfers between racks share uplinks, and a pattern that does not know racks sends most blocks
// between them.
func oversubscribedClaims(v *bandwidths) []figure.Claim {
	last := len(v.members) - 1
	at := func(line int) float64 { return v.rates[line][last] / 1e9 }
	loaded := func(bits float64) bool { return bits > 0.75*aptLoaded/1e9 && bits < 1.25*aptLoaded/1e9 }
	small, falls := v.rates[largeOne][0]/1e9, at(largeOne)/(v.rates[largeOne][0]/1e9)
	return []figure.Claim{
		claim("large groups end at about 16 Gbit/s, whoever sends", loaded(at(largeAll)) && loaded(at(largeHalf)) && loaded(at(largeOne)),
			"16 members, 100 MB: all send %.1f, half %.1f, one %.1f Gbit/s", at(largeAll), at(largeHalf), at(largeOne)),
		claim("so do messages of 1 MB, if there are enough senders", loaded(at(middleAll)), "16 members, all send: %.1f Gbit/s", at(middleAll)),
		claim("small groups do not fill the network between racks", falls < 0.5, "%d members, one sends: %.1f Gbit/s", v.members[0], small),
		claim("who knows the racks gets more than twice as much (section 4.3.1; the paper could not try it)",
			at(largeAware) > 2*at(largeOne), "16 members, 100 MB, one sends: %.1f and %.1f Gbit/s", at(largeAware), at(largeOne)),
	}
}

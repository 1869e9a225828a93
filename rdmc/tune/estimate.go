package tune

import (
	"math/bits"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// estimate is the formula: steps times what a step takes, in nanoseconds. For a pipeline of one stripe that is
// (k + ⌈log₂ n⌉ − 1) · (α + β·size/k); a step of S stripes takes S blocks' time, or the latency if that is longer.
func estimate(g Group, n Network, c Choice) float64 {
	l, k, rounds := n.link(), count(g.Size, c.Block), rounds(g.Members)
	if g.Members == 1 {
		return 0
	}
	busy, hop, ack := l.busy(c), l.hop(float64(c.Block)), l.net
	beat := max(busy, (hop+ack)/float64(c.sends(k)))
	stripes := min(c.Stripes, k)
	step := max(float64(stripes)*busy, hop+l.word()) // of all stripes
	turns := float64((k + stripes - 1) / stripes)
	switch c.Algorithm {
	case schedule.Chain:
		return max(float64(k-1)*beat+float64(g.Members-1)*hop, l.crossing(g, c, k))
	case schedule.Tree:
		// The root sends every block in every round; or, if there are few, one block passes from hand to hand.
		return max(float64(k)*rounds*max(float64(c.Block)*l.byteTime, l.gap)+l.word(), float64(k-1)*beat+rounds*hop)
	case schedule.Sequential:
		return float64(k)*float64(g.Members-1)*beat + hop
	case schedule.RackChain, schedule.RackPipeline:
		return max(2*float64(k)*busy+2*rounds*(hop+l.word()), l.crossing(g, c, k))
	case schedule.RackStripes:
		// Leaders of different stripes send between racks at the same time: (1+S) steps for S blocks.
		period := max(float64(1+stripes)*busy, float64(stripes)/float64(c.sends(k))*(hop+l.word()+2*l.net))
		return max((float64(k)/float64(stripes)+rounds-1)*period+hop, l.crossing(g, c, k))
	default:
		return max((turns+rounds-1)*step+hop-busy, l.crossing(g, c, k)) * l.caution(c, g.Members, k)
	}
}

// busy is how long a block keeps a member: its bytes, or the messages for it, which are two with its credit.
func (l link) busy(c Choice) float64 { return max(float64(c.Block)*l.byteTime, 2*l.gap) }

// least is what a choice takes at least, in nanoseconds, whatever else there is: the time of the root's blocks, and of the
// last one's way to all.
func least(g Group, n Network, c Choice) float64 {
	l, k, rounds := n.link(), float64(count(g.Size, c.Block)), rounds(g.Members)
	turn := max(float64(c.Block)*l.byteTime, l.gap)
	switch c.Algorithm {
	case schedule.Tree:
		return k * rounds * turn
	case schedule.Sequential:
		return k * float64(g.Members-1) * turn
	case schedule.Chain:
		return (k-1)*turn + float64(g.Members-1)*l.hop(float64(c.Block))
	}
	return (k + rounds - 1) * turn
}

// crossing is how long the blocks take that pass between racks: one for each other rack if the algorithm knows racks, or
// the members of a rack are neighbours in a chain; else those of most members.
func (l link) crossing(g Group, c Choice, k int) float64 {
	n := racks(g)
	if n == 1 || l.upTime == 0 {
		return 0
	}
	copies := 1.0
	if !c.Algorithm.Racks() && c.Algorithm != schedule.Chain {
		copies = float64(g.Members) / float64(n) / 2
	}
	return float64(k) * copies * float64(c.Block) * l.upTime
}

// rounds is in how many steps one block reaches all.
func rounds(members int) float64 { return float64(bits.Len(uint(members - 1))) }

package tune

import (
	"math"
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
		return rounds * (float64(k-1)*beat + hop)
	case schedule.Sequential:
		return float64(k)*float64(g.Members-1)*beat + hop
	case schedule.RackChain, schedule.RackPipeline:
		return max(2*float64(k)*busy+2*rounds*(hop+l.word()), l.crossing(g, c, k))
	case schedule.RackStripes:
		s := float64(c.Stripes)
		return max((1+s)*(float64(k)/s+rounds)*busy, l.crossing(g, c, k))
	default:
		return max((turns+rounds-1)*step+hop-busy, l.crossing(g, c, k)) * l.caution(c, k)
	}
}

// busy is how long a block keeps a member: its bytes, or the messages for it, which are two with its credit.
func (l link) busy(c Choice) float64 { return max(float64(c.Block)*l.byteTime, 2*l.gap) }

// caution is what stripes take beyond the model, as the simulator has it: blocks that come from several members at once
// share the link, most where first blocks bring the header and the second wait for credits, as in the pipeline. Where
// messages keep the NIC nearly as long as their bytes the link, they wait for each other, the more the longer it lasts.
// And where a stripe's turn comes just when its credit does, whatever is late makes all late.
func (l link) caution(c Choice, k int) float64 {
	if c.Pace == 0 {
		return 1
	}
	bytes := float64(c.Block)
	load := min(1, 2*l.gap/(bytes*l.byteTime))
	tight := (l.hop(bytes) + l.word()) / (float64(min(c.Stripes, k)) * l.busy(c))
	more := 0.08*load*load*min(1, float64(k)/64) + 0.1*max(0, 1-math.Abs(tight-1)/0.3)
	if c.Algorithm == schedule.Pipeline {
		return 1.12 + more
	}
	return 1.07 + more
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

package tune

import (
	"math/bits"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// caution is how many times as long as the game the simulator takes.
func (l link) caution(c Choice, members, k int) float64 {
	switch {
	case l.offload && c.Algorithm == schedule.Pipeline && members > 4 && !doubled(members):
		return crooked
	case c.Pace > 0:
		return l.drift(c, members, k)
	case !l.offload && doubles(c.Algorithm) && c.Stripes == 1 && c.Credits > 1 && k > 2 && l.slips(members):
		return slipping
	}
	return 1
}

// crooked is what a pipeline that NICs relay takes longer in a group that is no power of two, where some pass on two streams
// in turns: a NIC waits for the block whose turn it is, while the other one is here. Members of a circulant all do the same.
const crooked = 1.12

// slipping is what one stripe takes longer if some members are a step ahead of others, as more credits than one let them be:
// two blocks then share a link, which is idle in the next step.
const slipping = 1.4

// slips reports whether members do not keep step: where they have different parts, and where a block waits longer behind a
// credit than that is under way.
func (l link) slips(members int) bool { return members > 2 && (!doubled(members) || l.gap > l.net) }

// doubled reports whether a group is one member, doubled some times.
func doubled(members int) bool { return bits.OnesCount(uint(members)) == 1 }

// drift is what stripes take longer. Blocks that come from several members at once share the link, and all of them arrive late;
// in the game the first of them is in time. That is up to 8 % once each stripe has had so many turns that they have drifted
// apart, as far as their slack lets them, and 2 % before. Where messages keep the NIC as long as their bytes the link they wait
// for each other too; with more stripes there is more else to do meanwhile. And it is more if stripes stay together.
func (l link) drift(c Choice, members, k int) float64 {
	const drifting = 20 // turns after which stripes are half as far apart as they will be
	stripes := float64(c.Stripes)
	turns, load := float64(k)/stripes, min(1, 2*l.gap/(float64(c.Block)*l.byteTime))
	apart := min(0.06, max(0, 0.15*l.slack(c))) + 0.3*load*load/stripes
	return 1.02 + max(apart, l.meeting(c, members)-0.02)*turns/(turns+drifting)
}

// slack is the part of a stripe's turn in which neither its block nor the credit for the next one is under way.
func (l link) slack(c Choice) float64 { return 1 - l.trip(c)/l.turn(c) }

// turn is how long all stripes take for a block each.
func (l link) turn(c Choice) float64 { return float64(c.Stripes) * l.busy(c) }

// trip is how long a block and the credit for the next one take.
func (l link) trip(c Choice) float64 { return l.hop(float64(c.Block)) + l.word() }

// meeting is what it costs if two blocks share a link in every turn, as often as that happens: each takes the time of two and
// the latency, with the credit for the next one, which is too late for its turn if there are few stripes.
func (l link) meeting(c Choice, members int) float64 {
	shared := float64(c.Block)*l.byteTime + l.trip(c)
	return l.risk(c, members) * max(0, shared/max(l.turn(c), l.trip(c))-1)
}

// risk is how likely two stripes meet and stay together. In a pipeline of 8 or 16 members they always do: all its members send
// and receive in the same steps, and what is late makes everybody late alike. In large groups it is a matter of luck, with which
// nobody should reckon. In others it takes a turn that leaves little slack, the less the smaller the group is.
func (l link) risk(c Choice, members int) float64 {
	if members > 16 || c.Algorithm == schedule.Pipeline && members >= 8 && doubled(members) {
		return 1
	}
	return min(1, max(0, 1.5-20*l.slack(c)/rounds(members)))
}

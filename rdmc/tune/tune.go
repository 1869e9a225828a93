package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Network is what is known of the links between members, and what a choice for them has to keep to.
type Network struct {
	Rate     float64       // bits a second of one link, each way
	Latency  time.Duration // one way: from posting a small message until the receiver sees it
	Message  time.Duration // that a message occupies its sender's NIC or host beside its bytes
	Uplink   float64       // bits a second between a rack and the others; 0: full bisection
	MinBlock int           // bytes; 0: the package's own limit
	MaxBlock int           // bytes; 0: the package's own limit
	Stripes  int           // that a choice must have; 0: any
	Credits  int           // that a choice must have; 0: any
	Offload  bool          // NICs relay by themselves, and keep no pace
}

// Group is who gets what.
type Group struct {
	Members int
	Size    uint64 // of a message, in bytes
	Racks   []int  // rack of each member; nil: all are in one
}

// Choice is how a group sends, and how long a message will take.
type Choice struct {
	Algorithm               schedule.Algorithm
	Block, Stripes, Credits int
	Pace                    time.Duration // of rdmc.Config; 0: none
	Predicted               time.Duration
}

// Limits of what is chosen, and of what is known.
const (
	MinBlock  = 4 << 10
	MaxBlock  = 64 << 20
	maxRate   = 1e15
	maxTime   = time.Hour
	maxBlocks = 1 << 26 // of a message, as package rdmc has it
	maxSize   = maxBlocks * MaxBlock

	maxCredits = 1 << 10 // as package rdmc has it
)

// Choose finds the best choice for a group on a network, among some algorithms; none means all. It fails if the group or
// the network makes no sense, and says why.
func Choose(g Group, n Network, among ...schedule.Algorithm) (Choice, error) {
	if err := check(g, n); err != nil {
		return Choice{}, err
	}
	g.Racks = renumber(g.Racks)
	if len(among) == 0 {
		among = schedule.Algorithms()
	}
	list := shortlist(g, n, among)
	if len(list) == 0 {
		return Choice{}, fmt.Errorf("none of the algorithms %v is for a group of %d members in %d racks", among, g.Members, racks(g))
	}
	all := playAll(g, n, list)
	if best := Lightest(all, 1); count(g.Size, best.Block) <= few {
		return best, nil
	}
	return Lightest(all, nearly), nil
}

// playAll predicts all that could be the best.
func playAll(g Group, n Network, list []ranked) (all []Choice) {
	best := math.Inf(1)
	for _, r := range list {
		if least(g, n, r.Choice) >= nearly*best {
			continue
		}
		r.Predicted = predict(g, n, r.Choice)
		best = min(best, float64(r.Predicted))
		all = append(all, r.Choice)
	}
	return all
}

// Each block is work for hosts, which no model here sees: a few do not matter, but of many there should be fewer if that is
// nearly as fast.
const (
	few    = 1024
	nearly = 1.01
)

// Lightest is the choice with the largest blocks among those that take at most so many times as long as the fastest, and the
// first of these.
func Lightest(all []Choice, within float64) (best Choice) {
	fastest := slices.MinFunc(all, func(a, b Choice) int { return cmp.Compare(a.Predicted, b.Predicted) })
	for _, c := range all {
		if c.Block > best.Block && float64(c.Predicted) <= within*float64(fastest.Predicted) {
			best = c
		}
	}
	return best
}

// Predict computes how long a message takes with a choice. What is impossible takes for ever.
func Predict(g Group, n Network, c Choice) time.Duration {
	if check(g, n) != nil || c.Block < 1 || c.Credits < 1 || c.Stripes < 1 || c.Stripes > schedule.MaxStripes || c.Pace < 0 {
		return math.MaxInt64
	}
	g.Racks = renumber(g.Racks)
	return predict(g, n, c)
}

// check says what makes no sense. Conditions are written so that what is not a number fails them.
func check(g Group, n Network) error {
	switch {
	case g.Members < 1 || g.Members > schedule.MaxMembers:
		return fmt.Errorf("%d members: a group has 1 to %d", g.Members, schedule.MaxMembers)
	case g.Size > maxSize:
		return fmt.Errorf("a message of %d bytes: at most %d", g.Size, uint64(maxSize))
	case len(g.Racks) > 0 && len(g.Racks) != g.Members:
		return fmt.Errorf("racks of %d members, where the group has %d", len(g.Racks), g.Members)
	case !(n.Rate >= 1 && n.Rate <= maxRate):
		return fmt.Errorf("a rate of %v bits a second: it is from 1 to %g", n.Rate, maxRate)
	case !(n.Uplink == 0 || n.Uplink >= 1 && n.Uplink <= maxRate):
		return fmt.Errorf("an uplink of %v bits a second: it is from 1 to %g, or 0 if it is never narrow", n.Uplink, maxRate)
	case n.Latency < 0 || n.Latency > maxTime || n.Message < 0 || n.Message > maxTime:
		return fmt.Errorf("a latency of %v and %v a message: they are from 0 to %v", n.Latency, n.Message, maxTime)
	case n.MinBlock < 0 || n.MaxBlock < 0 || n.MaxBlock > 0 && n.MaxBlock < n.MinBlock || n.MinBlock > MaxBlock:
		return fmt.Errorf("blocks of %d to %d bytes: from 1 to %d, or 0 for no limit", n.MinBlock, n.MaxBlock, MaxBlock)
	case n.Stripes < 0 || n.Stripes > schedule.MaxStripes || n.Credits < 0 || n.Credits > maxCredits:
		return fmt.Errorf("%d stripes and %d credits: up to %d and %d, or 0 for any", n.Stripes, n.Credits, schedule.MaxStripes, maxCredits)
	}
	return nil
}

// renumber counts racks from 0, in the order of their first members.
func renumber(racks []int) []int {
	known, out := map[int]int{}, make([]int, 0, len(racks))
	for _, name := range racks {
		number, ok := known[name]
		if !ok {
			number = len(known)
			known[name] = number
		}
		out = append(out, number)
	}
	return out
}

// racks is how many there are, once they are renumbered.
func racks(g Group) int {
	most := 0
	for _, rack := range g.Racks {
		most = max(most, rack)
	}
	return most + 1
}

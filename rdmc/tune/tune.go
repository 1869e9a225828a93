package tune

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Network is what is known of the links between members.
type Network struct {
	Rate     float64       // bits a second of one link, each way
	Latency  time.Duration // one way: from posting a small message until the receiver sees it
	Message  time.Duration // that a message occupies its sender's NIC or host beside its bytes
	Uplink   float64       // bits a second between a rack and the others; 0: full bisection
	MaxBlock int           // bytes; 0: no limit but the package's own
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
	Predicted               time.Duration
}

const (
	minBlock = 4 << 10
	maxBlock = 64 << 20
)

// Choose finds the best choice for a group on a network. It fails if one of them is impossible, and says why.
func Choose(g Group, n Network) (Choice, error) {
	if g.Members < 1 || !(n.Rate > 0) {
		return Choice{}, fmt.Errorf("%d members at %v bits a second", g.Members, n.Rate)
	}
	c := Choice{Algorithm: schedule.Pipeline, Stripes: 2, Credits: 3}
	rounds := float64(max(1, bits.Len(uint(g.Members-1))-1))
	best := math.Sqrt(float64(g.Size) * n.Rate / 8 * (n.Message + n.Latency/4).Seconds() / rounds)
	c.Block = 1 << bits.Len(uint(min(max(best, minBlock), maxBlock)-1))
	if n.MaxBlock > 0 {
		c.Block = min(c.Block, n.MaxBlock)
	}
	c.Predicted = Predict(g, n, c)
	return c, nil
}

// Predict computes how long a message takes with a choice (research 2.2).
func Predict(g Group, n Network, c Choice) time.Duration {
	blocks := (float64(g.Size) + float64(c.Block) - 1) / float64(c.Block)
	steps := blocks + float64(bits.Len(uint(g.Members-1)))
	return time.Duration(steps * (n.Message.Seconds() + float64(c.Block)*8/n.Rate) * 1e9)
}

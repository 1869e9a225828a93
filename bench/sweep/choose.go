package sweep

import (
	"math"
	"slices"
	"time"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// Blocks that are tried: powers of two, of which a message has at most so many. More would make the last steps shorter by less
// than a thousandth, and the simulation longer.
const (
	leastBlock = 4 << 10
	mostBlock  = 64 << 20
	mostBlocks = 4096
)

// network is the simulated one, as the cost model sees it.
func (p *Plan) network() tune.Network {
	return tune.Network{Rate: p.Rate, Latency: p.Fabric.OneWay(), Message: p.Fabric.Message, Uplink: p.Fabric.Uplink}
}

func (p *Plan) tuneGroup(nodes int, size uint64) tune.Group {
	return tune.Group{Members: nodes, Size: size, Racks: p.rackOf()}
}

// rackOf is the rack of each node; nil: there are none.
func (p *Plan) rackOf() (racks []int) {
	for rack, nodes := range p.Fabric.Racks {
		racks = append(racks, slices.Repeat([]int{rack}, nodes)...)
	}
	return racks
}

// fill chooses what is not said for an algorithm: the fastest, if each of its steps takes a block's time on a link and a bit
// more (research 2.2). Choose plays transfers instead, which is exact, and too long for every algorithm at 10,000 nodes.
func (p *Plan) fill(nodes int, size uint64, algorithm schedule.Algorithm, block int) tune.Choice {
	best := tune.Choice{Algorithm: algorithm, Predicted: math.MaxInt64}
	for _, stripes := range p.stripes(algorithm) {
		c := Case{Nodes: nodes, Size: size, Choice: tune.Choice{Algorithm: algorithm, Stripes: stripes, Credits: p.credits(stripes)}}
		part, err := schedule.New(p.shape(c), 0)
		for _, block := range p.blocks(size, block) {
			if c.Block = block; err == nil {
				c.Predicted = p.predict(c, part.Plan(c.Blocks()).Steps())
			}
			if c.Predicted < best.Predicted {
				best = c.Choice
			}
		}
	}
	return best
}

// predict is how long so many steps take. With one stripe a step waits for three messages: its block, the news that it was
// taken, and a credit. With more, others use the link meanwhile.
func (p *Plan) predict(c Case, steps int) time.Duration {
	const waits = 3
	step := float64(c.Block) * 8 / p.Rate
	step += (waits*p.Fabric.OneWay()/time.Duration(c.Stripes*c.Stripes) + 2*p.Fabric.Message).Seconds()
	return time.Duration(min(float64(steps)*step*1e9, math.MaxInt64/2))
}

// shape is that of a case's group.
func (p *Plan) shape(c Case) schedule.Config {
	shape := schedule.Config{Algorithm: c.Algorithm, Members: c.Nodes, Stripes: c.Stripes}
	if c.Algorithm.Racks() {
		shape.Racks = p.rackOf()
	}
	return shape
}

// blocks are the sizes to choose from.
func (p *Plan) blocks(size uint64, block int) (all []int) {
	if block != 0 {
		return []int{block}
	}
	for block := leastBlock; block <= mostBlock; block *= 2 {
		if size/uint64(block) < mostBlocks || block == mostBlock {
			all = append(all, block)
		}
		if uint64(block) >= size {
			break
		}
	}
	return all
}

// stripes are the numbers to choose from. Two stripes of a pipeline meet on the same links: at 512 nodes, with 256 MB in blocks
// of 256 KiB at 40 Gbit/s, they take a tenth longer than their steps. Those of a chain follow each other.
func (p *Plan) stripes(algorithm schedule.Algorithm) (all []int) {
	switch {
	case p.Stripes != 0:
		return []int{p.Stripes}
	case algorithm == schedule.Chain:
		return []int{1, 2}
	case algorithm != schedule.RackStripes:
		return []int{1}
	}
	for n := 1; n <= min(slices.Min(p.Fabric.Racks), cast.MaxStripes); n *= 2 {
		all = append(all, n)
	}
	return all
}

// credits are three at most: on racks with narrow uplinks four stripes took 1.44 × the bound with three, and 1.53 with 17,
// because blocks came early that nobody waited for.
func (p *Plan) credits(stripes int) int {
	if p.Credits != 0 {
		return p.Credits
	}
	return min(cast.AutoCredits(stripes), 3)
}

package sweep

import (
	"math"
	"slices"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// Blocks that are tried: powers of two.
const (
	leastBlock = 4 << 10
	mostBlock  = 64 << 20
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

// fill chooses what is not said for an algorithm: by the cost model, the fastest.
func (p *Plan) fill(nodes int, size uint64, algorithm schedule.Algorithm, block int) tune.Choice {
	best := tune.Choice{Predicted: math.MaxInt64}
	group, network := p.tuneGroup(nodes, size), p.network()
	for _, block := range p.blocks(size, block) {
		for _, stripes := range p.stripes(algorithm) {
			c := tune.Choice{Algorithm: algorithm, Block: block, Stripes: stripes, Credits: p.credits(stripes)}
			if c.Predicted = tune.Predict(group, network, c); c.Predicted < best.Predicted {
				best = c
			}
		}
	}
	return best
}

// blocks are the sizes to choose from.
func (p *Plan) blocks(size uint64, block int) (all []int) {
	if block != 0 {
		return []int{block}
	}
	for block := leastBlock; block <= mostBlock; block *= 2 {
		all = append(all, block)
		if uint64(block) >= size {
			break
		}
	}
	return all
}

// stripes are the numbers to choose from.
func (p *Plan) stripes(algorithm schedule.Algorithm) (all []int) {
	switch {
	case p.Stripes != 0:
		return []int{p.Stripes}
	case algorithm != schedule.RackStripes:
		return []int{1, 2}
	}
	for n := 1; n <= min(slices.Min(p.Fabric.Racks), cast.MaxStripes); n *= 2 {
		all = append(all, n)
	}
	return all
}

func (p *Plan) credits(stripes int) int {
	if p.Credits != 0 {
		return p.Credits
	}
	return cast.AutoCredits(stripes)
}

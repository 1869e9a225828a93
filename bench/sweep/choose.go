package sweep

import (
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// How many blocks a message has at most, if nobody says so: more would make the last steps shorter by less than a thousandth.
// Of an algorithm that was named no more than can be simulated in a minute, and of those to which blocks do not matter few.
const (
	mostBlocks    = 4096
	mostTransfers = 4 << 20
	enoughBlocks  = 256
)

// choose has the cost model choose what is not said, for the best of some algorithms; none means all. NICs that relay by
// themselves know no pace, and have credits for a long chain.
func (p *Plan) choose(nodes int, size uint64, block int, among ...schedule.Algorithm) (tune.Choice, error) {
	network := tune.Network{Rate: p.Rate, Latency: p.Fabric.OneWay(), Message: p.Fabric.Message, Uplink: p.Fabric.Uplink,
		MinBlock: block, MaxBlock: block, Stripes: p.Stripes, Credits: p.Credits, Offload: p.Offload}
	if block == 0 {
		network.MinBlock = leastBlock(nodes, size, among)
	}
	if p.Offload && p.Credits == 0 {
		network.Credits = max(p.Stripes+1, cast.AutoCredits(p.Stripes, true))
	}
	return tune.Choose(tune.Group{Members: nodes, Size: size, Racks: p.rackOf()}, network, among...)
}

// leastBlock is the smallest block that is chosen, a power of two.
func leastBlock(nodes int, size uint64, among []schedule.Algorithm) int {
	most := mostBlocks
	if len(among) == 1 {
		most = min(max(mostTransfers/(nodes-1), enoughBlocks), mostBlocks)
		if among[0] == schedule.Tree || among[0] == schedule.Sequential {
			most = enoughBlocks
		}
	}
	return min(max(tune.MinBlock, 1<<bits.Len64((size-1)/uint64(most))), tune.MaxBlock)
}

// rackOf is the rack of each node; nil: there are none.
func (p *Plan) rackOf() (racks []int) {
	for rack, nodes := range p.Fabric.Racks {
		racks = append(racks, slices.Repeat([]int{rack}, nodes)...)
	}
	return racks
}

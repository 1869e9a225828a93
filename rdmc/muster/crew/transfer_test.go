package crew

import (
	"fmt"
	"testing"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

const blockSize = 4 << 10

// sizes of messages: none, less than a block, exactly one, one byte more, and many blocks.
var sizes = []uint64{0, 1, blockSize, blockSize + 1, 10*blockSize + 77}

// everyGroup is a group for each algorithm and each way to give memory.
func everyGroup(ranks []int) (groups []groupOrder) {
	for _, algorithm := range schedule.Algorithms() {
		for kind := range 3 {
			groups = append(groups, groupOrder{
				Name: fmt.Sprintf("%v/%d", algorithm, kind), Algorithm: algorithm.String(), Racks: racks(algorithm, len(ranks)),
				Ranks: ranks, BlockSize: blockSize, Store: kind > 0, Gate: kind == 2,
			})
		}
	}
	return groups
}

// racks puts every other member in the second rack, for the algorithms that know racks.
func racks(algorithm schedule.Algorithm, n int) (racks []int) {
	switch algorithm {
	case schedule.RackChain, schedule.RackPipeline, schedule.RackStripes:
		for i := range n {
			racks = append(racks, i%2)
		}
	}
	return racks
}

// Messages of all sizes arrive as they were sent, with every algorithm, in memory that is given whole or by blocks.
func TestTransfer(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		c := newCrew(t, lane, 5, nil)
		groups := everyGroup([]int{1, 2, 3, 4, 0})
		groups = append(groups, groupOrder{Name: "stripes", Ranks: []int{4, 0, 2, 3, 1}, Stripes: 2, BlockSize: blockSize})
		if lane != "ibv" {
			groups = append(groups, groupOrder{Name: "offload", Ranks: []int{2, 1, 0, 4, 3}, Offload: true, BlockSize: blockSize})
		}
		c.create(groups...)
		for _, g := range groups {
			c.send(g, sizes...)
		}
		for _, g := range groups {
			c.arrive(g, g.Ranks, len(sizes))
		}
	})
}

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
func everyGroup(ranks []int, kinds int) (groups []groupOrder) {
	for i, algorithm := range schedule.Algorithms() {
		for kind := range kinds {
			kind = (kind + i) % 3
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
		groups := everyGroup([]int{1, 2, 3, 4, 0}, inMachine(lane, 1, 3))
		groups = append(groups, groupOrder{Name: "stripes", Ranks: []int{4, 0, 2, 3, 1}, Stripes: 2, BlockSize: blockSize})
		c.carry(groups)
	})
}

// carry makes groups, and has messages go through all of them at once.
func (c *crew) carry(groups []groupOrder) {
	c.t.Helper()
	c.create(groups...)
	c.sendAll(groups, sizes...)
	for _, g := range groups {
		c.arrive(g, g.Ranks, len(sizes))
	}
}

// With chained requests the devices carry messages by themselves (section 4.4).
func TestOffload(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		skipWithout(t, lane)
		var groups []groupOrder
		for _, algorithm := range schedule.Algorithms() {
			groups = append(groups, groupOrder{Name: algorithm.String(), Algorithm: algorithm.String(), Racks: racks(algorithm, 5),
				Ranks: []int{2, 1, 0, 4, 3}, BlockSize: blockSize, Offload: true})
		}
		newCrew(t, lane, 5, nil).carry(groups)
	})
}

package schedule

import (
	"fmt"
	"testing"
)

// layouts are racks of all kinds: in order, spread, of equal and of very different sizes, one, all alone.
func layouts() map[string][]int {
	all := map[string][]int{
		"8 racks of 8":         racks(64, func(rank int) int { return rank / 8 }),
		"8 racks of 8, spread": racks(64, func(rank int) int { return rank % 8 }),
		"3 racks of 5":         racks(15, func(rank int) int { return rank / 5 }),
		"root alone":           racks(13, func(rank int) int { return min(rank, 1) + rank/8 }),
		"triangle":             racks(45, func(rank int) int { return triangle(rank) }),
		"one rack":             racks(11, func(int) int { return 7 }),
		"all alone":            racks(11, func(rank int) int { return -rank }),
		"2 members":            {0, 1},
		"2 racks of 100":       racks(200, func(rank int) int { return rank % 2 }),
	}
	for n := 2; n < 40; n++ {
		for count := 1; count <= 5; count++ {
			all[fmt.Sprintf("%d in %d", n, count)] = racks(n, func(rank int) int { return rank * rank % (2*count + 1) % count })
		}
	}
	return all
}

func racks(members int, of func(rank int) int) []int {
	racks := make([]int, members)
	for rank := range racks {
		racks[rank] = of(rank)
	}
	return racks
}

// triangle gives racks of 1, 2, 3, … members.
func triangle(rank int) int {
	rack := 0
	for ; rank > rack; rack++ {
		rank -= rack + 1
	}
	return rack
}

// crossings counts the blocks that go from rack to rack.
func (c *cluster) crossings() int {
	count := 0
	for rank, plan := range c.plans {
		for step := range plan.Steps() {
			if in, ok := plan.Receive(step); ok && c.config.Racks[in.Peer] != c.config.Racks[rank] {
				count++
			}
		}
	}
	return count
}

// TestRacks runs all layouts with all algorithms for racks, striped as well.
func TestRacks(t *testing.T) {
	for name, racks := range layouts() {
		others := len(newFloorplan(racks).racks) - 1
		for _, algorithm := range []Algorithm{RackChain, RackPipeline, RackStripes} {
			for _, stripes := range []int{0, 2, 3, 5} {
				config := Config{Algorithm: algorithm, Members: len(racks), Racks: racks, Stripes: stripes}
				c := newCluster(t, config)
				if err := c.checkPeers(); err != nil {
					t.Fatalf("%s, %v, %d stripes: %v", name, algorithm, stripes, err)
				}
				for _, blocks := range []int{1, 2, 3, 4, 7, 10, 21} {
					if err := c.run(blocks); err != nil {
						t.Fatalf("%s, %v, %d stripes, %d blocks: %v", name, algorithm, stripes, blocks, err)
					}
					_, last := c.span()
					if last != c.plans[0].Steps()-1 {
						t.Errorf("%s, %v, %d stripes, %d blocks: complete after %d steps of %d",
							name, algorithm, stripes, blocks, last+1, c.plans[0].Steps())
					}
					if crossed := c.crossings(); crossed != others*blocks {
						t.Errorf("%s, %v, %d stripes: %d blocks cross racks %d times, not %d",
							name, algorithm, stripes, blocks, crossed, others*blocks)
					}
				}
			}
		}
	}
}

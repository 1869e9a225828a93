package schedule

import (
	"fmt"
	"slices"
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
	for n := 2; n < 40 && !testing.Short(); n++ {
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
		for _, algorithm := range []Algorithm{RackChain, RackPipeline, RackStripes} {
			for _, stripes := range []int{0, 1, 2, 3, 5} {
				config := Config{Algorithm: algorithm, Members: len(racks), Racks: racks, Stripes: stripes}
				if err := runRacks(newCluster(t, config)); err != nil {
					t.Fatalf("%s, %v, %d stripes: %v", name, algorithm, stripes, err)
				}
			}
		}
	}
}

func runRacks(c *cluster) error {
	if err := c.checkPeers(); err != nil {
		return err
	}
	others := len(newFloorplan(c.config.Racks).racks) - 1
	for _, blocks := range []int{1, 2, 3, 4, 7, 10, 21} {
		err := c.run(blocks)
		if err == nil {
			err = complete(c, blocks)
		}
		if crossed := c.crossings(); err == nil && crossed != others*blocks {
			err = fmt.Errorf("blocks cross racks %d times, not %d", crossed, others*blocks)
		}
		if err != nil {
			return fmt.Errorf("%d blocks: %w", blocks, err)
		}
	}
	return nil
}

// TestRackSteps: the formulas of the doc comments, for equal racks.
func TestRackSteps(t *testing.T) {
	for _, shape := range [][2]int{{2, 2}, {8, 8}, {4, 16}, {5, 7}, {3, 2}} {
		count, size := shape[0], shape[1]
		c, s := ceilLog2(count), ceilLog2(size)
		layout := racks(count*size, func(rank int) int { return rank / size })
		for _, blocks := range []int{2, 4, 40} {
			check := func(algorithm Algorithm, stripes, want int) {
				t.Helper()
				part, err := New(Config{algorithm, len(layout), layout, stripes}, 1)
				if err != nil || part.Plan(blocks).Steps() != want {
					t.Errorf("%d racks of %d, %v: %d steps, not %d; %v", count, size, algorithm, part.Plan(blocks).Steps(), want, err)
				}
			}
			check(RackChain, 1, 2*(blocks+count+s-3))
			check(RackPipeline, 1, 2*(blocks+c+s-2))
			if size > 2 {
				check(RackStripes, 2, 3*(blocks/2+c+s-1))
			} else {
				check(RackStripes, 2, 3*(blocks/2+c+2*s-2)) // nobody but the root could lead both
			}
		}
	}
}

// TestRackLoad: a leader sends 1 + 1/stripes blocks for each block of the message. What comes on top does not grow with
// the message: sources of pipelines send their last block once for each further dimension.
func TestRackLoad(t *testing.T) {
	const blocks = 120
	layout := racks(40, func(rank int) int { return rank % 5 })
	for _, stripes := range []int{1, 2, 4, 8} {
		sent := slices.Max(sends(t, Config{RackStripes, len(layout), layout, stripes}, blocks))
		again := stripes*(ceilLog2(8)-1) + ceilLog2(5) - 1
		if limit := blocks + blocks/stripes + again; sent > limit {
			t.Errorf("%d stripes: somebody sends %d blocks, not %d", stripes, sent, limit)
		}
	}
}

// TestRacksThatAreNone: one rack, and a rack for each, are the plain algorithms.
func TestRacksThatAreNone(t *testing.T) {
	one, each := make([]int, 13), racks(13, func(rank int) int { return rank })
	for _, same := range [][2]Config{
		{{RackChain, 13, one, 0}, {Pipeline, 13, nil, 0}},
		{{RackStripes, 13, one, 3}, {Pipeline, 13, nil, 3}},
		{{RackChain, 13, each, 2}, {Chain, 13, nil, 2}},
		{{RackPipeline, 13, each, 0}, {Pipeline, 13, nil, 0}},
		{{RackStripes, 13, each, 0}, {Pipeline, 13, nil, 0}},
	} {
		if got, want := edges(t, same[0], 9), edges(t, same[1], 9); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%+v differs from %+v", same[0], same[1])
		}
	}
}

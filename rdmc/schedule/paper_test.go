package schedule

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/figure3.txt
var figure3 string

// Figure 3: a tree and a pipeline, 8 members, 3 blocks. The tree moves whole objects, the pipeline blocks.
func TestFigure3(t *testing.T) {
	var out strings.Builder
	for _, algorithm := range []Algorithm{Tree, Pipeline} {
		if err := Write(&out, Config{Algorithm: algorithm, Members: 8}, 3); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != figure3 {
		t.Errorf("testdata/figure3.txt has\n%sbut the schedules are\n%s", figure3, out.String())
	}
}

// Section 4.3: "sender 0 starts by sending the entire message to receiver 1. Then in parallel, 0 sends to 2 while 1
// sends to 3, and then in the final step 0 sends to 4, 1 sends to 5, 2 sends to 6 and 3 sends to 7."
func TestSection43Tree(t *testing.T) {
	want := [][][2]int{{{0, 1}}, {{0, 2}, {1, 3}}, {{0, 4}, {1, 5}, {2, 6}, {3, 7}}}
	if got := edges(t, Config{Algorithm: Tree, Members: 8}, 1); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the tree is %v, not %v", got, want)
	}
}

// Appendix A: "if the binomial pipeline is run with only a single block, it will produce a binomial tree."
func TestAppendixAOneBlockIsTheTree(t *testing.T) {
	for members := 2; members <= 1024; members *= 2 {
		pipeline := edges(t, Config{Algorithm: Pipeline, Members: members}, 1)
		tree := edges(t, Config{Algorithm: Tree, Members: members}, 1)
		if !slices.EqualFunc(pipeline, tree, slices.Equal) {
			t.Errorf("%d members: pipeline %v, tree %v", members, pipeline, tree)
		}
	}
}

// edges are the pairs that exchange something in each step.
func edges(t *testing.T, config Config, blocks int) [][][2]int {
	t.Helper()
	plans, err := plans(config, blocks)
	if err != nil {
		t.Fatal(err)
	}
	all := make([][][2]int, plans[0].Steps())
	for step := range all {
		for rank, plan := range plans {
			if out, ok := plan.Send(step); ok {
				all[step] = append(all[step], [2]int{rank, out.Peer})
			}
		}
	}
	return all
}

// Section 4.3, sequential: "the sender's NIC will incur an IO load of N·B bits. Replicas will receive B bits, but do no
// sending."
func TestSection43SequentialLoad(t *testing.T) {
	const members, blocks = 9, 5
	for rank, sent := range sends(t, Config{Algorithm: Sequential, Members: members}, blocks) {
		if want := map[bool]int{true: (members - 1) * blocks}[rank == 0]; sent != want {
			t.Errorf("%d sends %d blocks, not %d", rank, sent, want)
		}
	}
}

// Section 4.3, pipeline: "except for the initial and final steps, every node other than the sender maintains a steady
// load, sending and receiving one block on each logical step." One member does not send: the root takes nothing from
// the vertex that faces it.
func TestSection43SteadyLoad(t *testing.T) {
	const blocks = 40
	for _, members := range []int{2, 4, 8, 64, 5, 13, 100} {
		plans, err := plans(Config{Algorithm: Pipeline, Members: members}, blocks)
		if err != nil {
			t.Fatal(err)
		}
		for step := 2 * ceilLog2(members); step < blocks; step++ {
			sending, receiving := 0, 0
			for _, plan := range plans {
				if _, ok := plan.Send(step); ok {
					sending++
				}
				if _, ok := plan.Receive(step); ok {
					receiving++
				}
			}
			if sending != members-1 || receiving != members-1 {
				t.Errorf("%d members, step %d: %d send, %d receive", members, step, sending, receiving)
			}
		}
	}
}

// Appendix A, second stage: "the sender continues to send successive blocks while all other vertices trade their highest
// numbered blocks". Final stage: "The sender repeatedly sends the last block".
func TestAppendixAHighestBlocks(t *testing.T) {
	const blocks = 12
	for members := 2; members <= 128; members *= 2 {
		c := newCluster(t, Config{Members: members})
		if err := c.run(blocks); err != nil {
			t.Fatal(err)
		}
		for step := range c.plans[0].Steps() {
			for rank, plan := range c.plans {
				out, ok := plan.Send(step)
				if want := c.highest(rank, step); ok && out.Block != want {
					t.Fatalf("%d members, step %d: %d sends block %d, not %d", members, step, rank, out.Block, want)
				}
			}
		}
	}
}

// highest is the highest block that a member has before a step; the root releases one more in each.
func (c *cluster) highest(rank, step int) int {
	if rank == 0 {
		return min(step, len(c.has[0])-1)
	}
	highest := -1
	for block, received := range c.has[rank] {
		if received < step {
			highest = block
		}
	}
	return highest
}

// sends counts the blocks that each member sends.
func sends(t *testing.T, config Config, blocks int) []int {
	t.Helper()
	plans, err := plans(config, blocks)
	if err != nil {
		t.Fatal(err)
	}
	sent := make([]int, len(plans))
	for rank, plan := range plans {
		for step := range plan.Steps() {
			if _, ok := plan.Send(step); ok {
				sent[rank]++
			}
		}
	}
	return sent
}

package schedule

import (
	"fmt"
	"testing"
)

// sizes are the groups that are tested by exhaustion.
func sizes() []int {
	members := []int{255, 256, 257, 1000, 1025}
	for n := 1; n <= 130; n++ {
		if !testing.Short() || n < 40 || n > 120 {
			members = append(members, n)
		}
	}
	return members
}

// blocksFor are the messages: all up to 40 blocks, but for large groups, and for patterns with very many steps.
func blocksFor(config Config) []int {
	if config.Algorithm == Sequential && config.Members > 20 {
		return []int{1, 2, 3}
	}
	if config.Members > 130 {
		return []int{1, 2, 3, 7, 12, 40}
	}
	blocks := make([]int, 40)
	for i := range blocks {
		blocks[i] = i + 1
	}
	return blocks
}

// exhaust runs all sizes of one algorithm.
func exhaust(t *testing.T, config Config, check func(c *cluster, blocks int) error) {
	t.Helper()
	for _, config.Members = range sizes() {
		c := newCluster(t, config)
		if err := c.checkPeers(); err != nil {
			t.Fatalf("%+v: %v", config, err)
		}
		for _, blocks := range blocksFor(config) {
			err := c.run(blocks)
			if err == nil && config.Members > 1 {
				err = check(c, blocks)
			}
			if err != nil {
				t.Fatalf("%+v, %d blocks: %v", config, blocks, err)
			}
		}
	}
}

// optimal checks the number of steps, that the last of them is needed, and how far apart members end.
func optimal(skew func(members int) int) func(*cluster, int) error {
	return func(c *cluster, blocks int) error {
		n := c.config.Members
		steps, best := c.plans[0].Steps(), blocks+ceilLog2(n)-1
		first, last := c.span()
		if steps != best || last != best-1 {
			return fmt.Errorf("%d steps, complete after %d, the optimum is %d", steps, last+1, best)
		}
		if blocks > 1 && last-first > skew(n) {
			return fmt.Errorf("members end in steps %d to %d", first, last)
		}
		return nil
	}
}

// takes checks the number of steps, and that the last of them is needed.
func takes(steps func(members, blocks int) int) func(*cluster, int) error {
	return func(c *cluster, blocks int) error {
		want := steps(c.config.Members, blocks)
		if _, last := c.span(); last+1 != want || c.plans[0].Steps() != want {
			return fmt.Errorf("%d steps, complete after %d, not %d", c.plans[0].Steps(), last+1, want)
		}
		return nil
	}
}

// A message of one block cannot end everywhere at once: its first copy arrives in step 0.
func TestPipeline(t *testing.T) {
	exhaust(t, Config{Algorithm: Pipeline}, optimal(func(int) int { return 1 }))
}

func TestChain(t *testing.T) {
	exhaust(t, Config{Algorithm: Chain}, takes(func(n, k int) int { return k + n - 2 }))
}

func TestTree(t *testing.T) {
	exhaust(t, Config{Algorithm: Tree}, takes(func(n, k int) int { return k * ceilLog2(n) }))
}

func TestSequential(t *testing.T) {
	exhaust(t, Config{Algorithm: Sequential}, takes(func(n, k int) int { return k * (n - 1) }))
}

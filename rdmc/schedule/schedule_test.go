package schedule

import (
	"fmt"
	"strings"
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
func exhaust(t *testing.T, config Config, check func(*cluster, int) error) {
	t.Helper()
	for _, config.Members = range sizes() {
		runAll(t, config, check)
	}
}

// runAll runs all messages in one group.
func runAll(t *testing.T, config Config, check func(*cluster, int) error) {
	t.Helper()
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

// optimal checks the number of steps, that the last of them is needed, and how far apart members end.
func optimal(skew func(members int) int) func(*cluster, int) error {
	return func(c *cluster, blocks int) error {
		n := c.config.Members
		steps, best := c.plans[0].Steps(), blocks+ceilLog2(n)-1
		first, last := c.span()
		if steps != best || last != best-1 {
			return fmt.Errorf("%d steps, complete after %d, the optimum is %d", steps, last+1, best)
		}
		if depth := c.depth(); depth > ceilLog2(n) {
			return fmt.Errorf("news take %d hops", depth)
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

func TestCirculant(t *testing.T) {
	exhaust(t, Config{Algorithm: Circulant}, optimal(func(n int) int { return ceilLog2(n) - 1 }))
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

// TestStripes: a stripe costs the steps that the pattern needs beyond the number of blocks, once more.
func TestStripes(t *testing.T) {
	for _, algorithm := range []Algorithm{Pipeline, Circulant, Chain} {
		for _, stripes := range []int{2, 3, 7} {
			config := Config{Algorithm: algorithm, Stripes: stripes}
			some(t, config, takes(func(n, k int) int { return k + stripes*(newTestPart(t, algorithm, n).steps(1)-1) }))
		}
	}
	some(t, Config{Algorithm: Tree, Stripes: 3}, complete)
	some(t, Config{Algorithm: Sequential, Stripes: 3}, complete)
}

// some runs a choice of sizes.
func some(t *testing.T, config Config, check func(*cluster, int) error) {
	t.Helper()
	for _, config.Members = range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 31, 33, 60, 64, 100} {
		runAll(t, config, check)
	}
}

func newTestPart(t *testing.T, algorithm Algorithm, members int) *Part {
	t.Helper()
	part, err := New(Config{Algorithm: algorithm, Members: members}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// complete checks that the last step is needed.
func complete(c *cluster, _ int) error {
	if _, last := c.span(); last != c.plans[0].Steps()-1 {
		return fmt.Errorf("complete after %d steps of %d", last+1, c.plans[0].Steps())
	}
	return nil
}

// Write breaks the lines of large groups, and loses nothing.
func TestWriteBreaksLines(t *testing.T) {
	const members, blocks = 200, 3
	var out strings.Builder
	if err := Write(&out, Config{Members: members}, blocks); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "→") - 1; n != (members-1)*blocks {
		t.Errorf("%d transfers are printed", n)
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(line)); n > 101 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

package schedule

import (
	"fmt"
	"slices"
	"testing"
)

// cluster is all members of one group, which nobody but a test ever puts together.
type cluster struct {
	config Config
	parts  []*Part
	peers  [][]int
	plans  []Plan
	has    [][]int // by rank and block: the step in which it was received, -1 at the root, never
}

const never = 1 << 40

func newCluster(t testing.TB, config Config) *cluster {
	t.Helper()
	c := &cluster{config: config}
	for rank := range config.Members {
		part, err := New(config, rank)
		if err != nil {
			t.Fatalf("%+v: %v", config, err)
		}
		c.parts, c.peers = append(c.parts, part), append(c.peers, part.Peers())
	}
	return c
}

// run walks through one message and returns the first rule that was broken.
func (c *cluster) run(blocks int) error {
	c.begin(blocks)
	steps := c.plans[0].Steps()
	for step := range steps {
		for rank := range c.plans {
			if err := c.check(rank, step); err != nil {
				return fmt.Errorf("step %d of %d: %w", step, steps, err)
			}
		}
	}
	return c.end(blocks, steps)
}

func (c *cluster) begin(blocks int) {
	c.plans, c.has = c.plans[:0], c.has[:0]
	for rank, part := range c.parts {
		c.plans = append(c.plans, part.Plan(blocks))
		step := never
		if rank == 0 {
			step = -1
		}
		c.has = append(c.has, slices.Repeat([]int{step}, blocks))
	}
}

// check looks at what one member does in one step. A block that is received in this step cannot be sent in it: it is
// noted with its step, and a sender must have what it sends from an earlier one.
func (c *cluster) check(rank, step int) error {
	if err := checkBounds(c.plans[rank], step); err != nil {
		return fmt.Errorf("%d: %w", rank, err)
	}
	if out, ok := c.plans[rank].Send(step); ok {
		if in, ok := c.plans[out.Peer].Receive(step); !ok || in != (Transfer{rank, out.Block}) {
			return fmt.Errorf("%d sends block %d to %d, which expects %v %v", rank, out.Block, out.Peer, in, ok)
		}
		if c.has[rank][out.Block] >= step {
			return fmt.Errorf("%d sends block %d to %d and does not have it", rank, out.Block, out.Peer)
		}
	}
	in, ok := c.plans[rank].Receive(step)
	if !ok {
		return nil
	}
	return c.take(rank, step, in)
}

// checkBounds: whoever looks only at the steps that a plan names misses nothing.
func checkBounds(p Plan, step int) error {
	outside := func(from, to int) bool { return step < from || step >= to }
	if _, ok := p.Send(step); ok && outside(p.Sending()) {
		return fmt.Errorf("it sends in step %d, outside of its bounds", step)
	}
	if _, ok := p.Receive(step); ok && outside(p.Receiving()) {
		return fmt.Errorf("it receives in step %d, outside of its bounds", step)
	}
	return nil
}

func (c *cluster) take(rank, step int, in Transfer) error {
	if out, ok := c.plans[in.Peer].Send(step); !ok || out != (Transfer{rank, in.Block}) {
		return fmt.Errorf("%d expects block %d from %d, which sends %v %v", rank, in.Block, in.Peer, out, ok)
	}
	if c.has[rank][in.Block] != never {
		return fmt.Errorf("%d gets block %d twice", rank, in.Block)
	}
	if _, ok := slices.BinarySearch(c.peers[rank], in.Peer); !ok {
		return fmt.Errorf("%d receives from %d, which is not among its peers", rank, in.Peer)
	}
	if herald, _ := c.parts[rank].Herald(); !c.parts[rank].Announced() && herald != in.Peer && c.lacksAll(rank) {
		return fmt.Errorf("%d gets its first block from %d, its herald is %d", rank, in.Peer, herald)
	}
	c.has[rank][in.Block] = step
	return nil
}

func (c *cluster) lacksAll(rank int) bool {
	return !slices.ContainsFunc(c.has[rank], func(step int) bool { return step != never })
}

// end checks that all is there, and that nobody does anything outside of the steps.
func (c *cluster) end(blocks, steps int) error {
	for rank, plan := range c.plans {
		if block := slices.Index(c.has[rank], never); block >= 0 {
			return fmt.Errorf("%d lacks block %d in the end", rank, block)
		}
		if plan.Steps() != steps {
			return fmt.Errorf("%d counts %d steps, the root %d", rank, plan.Steps(), steps)
		}
		for _, step := range []int{-1, -2, steps, steps + 1, steps + 7} {
			_, sends := plan.Send(step)
			if _, receives := plan.Receive(step); sends || receives {
				return fmt.Errorf("%d is busy in step %d of %d", rank, step, steps)
			}
		}
	}
	if c.parts[0].Bound(blocks) > steps {
		return fmt.Errorf("%d steps are less than the bound %d", steps, c.parts[0].Bound(blocks))
	}
	return nil
}

// span returns the first and the last of the steps in which members were complete.
func (c *cluster) span() (first, last int) {
	first = never
	for _, has := range c.has[1:] {
		done := slices.Max(has)
		first, last = min(first, done), max(last, done)
	}
	return first, last
}

// checkPeers: peers are ascending and symmetric; heralds are peers, are mirrored by heirs, and form a tree.
func (c *cluster) checkPeers() error {
	told := 0
	for rank, part := range c.parts {
		peers := c.peers[rank]
		if part.Announced() != c.parts[0].Announced() {
			return fmt.Errorf("%d and the root do not agree whether messages are announced", rank)
		}
		for i, peer := range peers {
			if peer == rank || i > 0 && peers[i-1] >= peer || !slices.Contains(c.peers[peer], rank) {
				return fmt.Errorf("peers of %d are %v, of %d are %v", rank, peers, peer, c.peers[peer])
			}
		}
		for _, heir := range part.Heirs() {
			if herald, ok := c.parts[heir].Herald(); !ok || herald != rank || !slices.Contains(peers, heir) {
				return fmt.Errorf("%d has the heir %d, whose herald is %d; peers %v", rank, heir, herald, peers)
			}
			told++
		}
	}
	if told != len(c.parts)-1 {
		return fmt.Errorf("%d members of %d are told", told, len(c.parts))
	}
	if depth := c.depth(); depth == never {
		return fmt.Errorf("heralds do not lead to the root")
	}
	return nil
}

// depth is how many heralds are between the root and the last to hear of a message, or never.
func (c *cluster) depth() int {
	deepest := 0
	for rank, part := range c.parts {
		depth := 0
		for up, ok := part.Herald(); ok && depth < len(c.parts); up, ok = c.parts[up].Herald() {
			rank, depth = up, depth+1
		}
		if rank != 0 {
			return never
		}
		deepest = max(deepest, depth)
	}
	return deepest
}

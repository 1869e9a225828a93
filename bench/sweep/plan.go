package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// Limits of a plan.
const (
	MaxNodes = 10_000
	MaxCases = 1_000
	MaxBlock = tune.MaxBlock // bytes, the largest that the cost model knows
	// MaxTransfers is how many blocks all receivers of one message may get together: about half an hour.
	MaxTransfers = 1 << 27
)

// ErrPlan: a plan makes no sense.
var ErrPlan = errors.New("makes no sense")

// Plan is what is to be simulated: every combination of its lists.
type Plan struct {
	Nodes      []int    // members of a group, with the root
	Sizes      []uint64 // of a message, in bytes
	Blocks     []int    // bytes; 0: chosen for each algorithm
	Algorithms []schedule.Algorithm
	Auto       bool    // another case for each group, of which everything is chosen, the algorithm too
	All        bool    // the algorithms were not named: some may be omitted
	Rate       float64 // of a node's link, each way, in bits a second
	Fabric     cast.Fabric
	Stripes    int // 0: chosen
	Credits    int // 0: chosen
	Offload    bool
	Seed       uint64

	names []string // of nodes, as many as were needed so far
}

// Case is one message to one group.
type Case struct {
	Nodes int
	Size  uint64
	Auto  bool // the algorithm was chosen, too
	tune.Choice
}

// All are the algorithms, those that know racks only if these have two levels.
func All(racks []int) []schedule.Algorithm {
	return slices.DeleteFunc(schedule.Algorithms(), func(a schedule.Algorithm) bool { return a.Racks() && !TwoLevels(racks) })
}

// TwoLevels reports whether racks are something that an algorithm can make use of: there are two at least, and one has two
// nodes at least.
func TwoLevels(racks []int) bool { return len(racks) > 1 && slices.Max(racks) > 1 }

// Blocks is how many blocks the message has.
func (c Case) Blocks() int { return rdmc.Message{Size: c.Size, BlockSize: c.Block}.Blocks() }

// Transfers is how often a block is sent: each receiver gets each block once, whatever the algorithm.
func (c Case) Transfers() int { return c.Blocks() * (c.Nodes - 1) }

// BoundSteps is the least number of steps in which all can have all blocks (RDMC, section 4.3).
func (c Case) BoundSteps() int { return c.Blocks() + bits.Len(uint(c.Nodes-1)) - 1 }

// Cases are all combinations, in the order of nodes, sizes, algorithms and blocks, and those of them that are omitted. It
// fails if one is impossible, and says why.
func (p *Plan) Cases() (cases []Case, omitted []Omitted, err error) {
	if err := p.validate(); err != nil {
		return nil, nil, err
	}
	for _, nodes := range p.Nodes {
		for _, size := range p.Sizes {
			if err := p.probe(nodes, size); err != nil {
				return nil, nil, err
			}
			found, err := p.group(nodes, size)
			if err != nil {
				return nil, nil, err
			}
			for _, c := range found {
				if o, ok := p.omit(c); ok {
					omitted = append(omitted, o)
				} else {
					cases = append(cases, c)
				}
			}
		}
	}
	return cases, omitted, p.check(cases)
}

// group are the cases of one message to one group.
func (p *Plan) group(nodes int, size uint64) (cases []Case, err error) {
	for _, algorithm := range p.Algorithms {
		for _, block := range p.Blocks {
			choice, err := p.choose(nodes, size, block, algorithm)
			if err != nil {
				return nil, err
			}
			cases = append(cases, Case{Nodes: nodes, Size: size, Choice: choice})
		}
	}
	if !p.Auto {
		return cases, nil
	}
	for _, block := range p.Blocks {
		choice, err := p.choose(nodes, size, block)
		if err != nil {
			return nil, err
		}
		cases = append(cases, Case{Nodes: nodes, Size: size, Auto: true, Choice: choice})
	}
	return cases, nil
}

// probe says what is wrong whatever is chosen.
func (p *Plan) probe(nodes int, size uint64) error {
	job := p.job(Case{Nodes: nodes, Size: size, Choice: tune.Choice{Block: MaxBlock, Stripes: cmp.Or(p.Stripes, 1), Credits: cmp.Or(p.Credits, 1)}})
	return p.Fabric.Validate(&job)
}

// check looks at each case as the simulator will.
func (p *Plan) check(cases []Case) error {
	for _, c := range cases {
		job := p.job(c)
		if err := p.Fabric.Validate(&job); err != nil {
			return err
		}
		if _, err := job.Steps(); err != nil {
			return err
		}
		if n := c.Transfers(); n > MaxTransfers {
			return fmt.Errorf("%d nodes with %d blocks are %d transfers, which %w: at most %d; take larger blocks, or fewer nodes", c.Nodes, c.Blocks(), n, ErrPlan, MaxTransfers)
		}
	}
	return nil
}

func (p *Plan) validate() error {
	for _, list := range []struct {
		what string
		n    int
	}{{"nodes", len(p.Nodes)}, {"sizes", len(p.Sizes)}, {"blocks", len(p.Blocks)}} {
		if list.n == 0 {
			return fmt.Errorf("%s: none at all %w", list.what, ErrPlan)
		}
	}
	for _, n := range p.Nodes {
		if n < 2 || n > MaxNodes {
			return fmt.Errorf("nodes: a group of %d %w: it has 2 to %d", n, ErrPlan, MaxNodes)
		}
	}
	if n := len(p.Nodes) * len(p.Sizes) * (len(p.Algorithms)*len(p.Blocks) + 1); n > MaxCases {
		return fmt.Errorf("a sweep of %d cases %w: at most %d", n, ErrPlan, MaxCases)
	}
	for _, block := range p.Blocks {
		if block != 0 && (block < cast.MinBlock || block > MaxBlock) {
			return fmt.Errorf("block size: %d %w: it is between %d and %d", block, ErrPlan, cast.MinBlock, MaxBlock)
		}
	}
	return p.validateRest()
}

func (p *Plan) validateRest() error {
	switch {
	case len(p.Algorithms) == 0 && !p.Auto:
		return fmt.Errorf("algorithms: none at all %w", ErrPlan)
	case !(p.Rate > 0):
		return fmt.Errorf("rate: %v bits a second %w", p.Rate, ErrPlan)
	case !TwoLevels(p.Fabric.Racks) && slices.ContainsFunc(p.Algorithms, schedule.Algorithm.Racks):
		return fmt.Errorf("algorithms: one that knows racks %w without two racks, one of them with two nodes", ErrPlan)
	}
	return nil
}

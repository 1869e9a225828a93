package schedule

import (
	"fmt"
	"slices"
)

// Part is one member's part of a group's schedules. It does not change, and may be shared.
type Part struct {
	pattern
	members int
}

// pattern is one algorithm, seen by one member.
type pattern interface {
	steps(blocks int) int
	send(blocks, step int) (Transfer, bool)
	receive(blocks, step int) (Transfer, bool)
	peers() []int
	announced() bool
	herald() (int, bool)
	heirs() []int
}

// New computes the part of the member with a rank. It fails if the shape is impossible, and says why.
func New(config Config, rank int) (*Part, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if rank < 0 || rank >= config.Members {
		return nil, fmt.Errorf("rank %d in a group of %d: ranks go from 0 to %d", rank, config.Members, config.Members-1)
	}
	return &Part{members: config.Members, pattern: newPattern(config, rank)}, nil
}

// newPattern chooses the pattern.
func newPattern(config Config, rank int) pattern {
	switch {
	case config.Members == 1:
		return nothing
	case config.Algorithm.Racks():
		return newRacked(config, rank)
	default:
		return newStriped(newPlain(config, rank), config.Stripes)
	}
}

func newPlain(config Config, rank int) pattern {
	switch config.Algorithm {
	case Circulant:
		return newCirculant(config.Members, rank)
	case Chain:
		return chain{members: config.Members, rank: rank}
	case Tree:
		return tree{members: config.Members, rank: rank}
	case Sequential:
		return sequential{members: config.Members, rank: rank}
	default:
		return newPipeline(config.Members, rank)
	}
}

// newRacked needs a hierarchy only if there are racks of several members, and more than one.
func newRacked(config Config, rank int) pattern {
	f, lead := newFloorplan(config.Racks), leadingPipeline
	if config.Algorithm == RackChain {
		lead = leadingChain
	}
	switch {
	case len(f.racks) == 1:
		return newStriped(newPipeline(config.Members, rank), config.Stripes)
	case len(f.racks) == config.Members:
		return newStriped(lead(config.Members, rank), config.Stripes)
	case config.Algorithm == RackStripes && config.Stripes == 0:
		return newHierarchy(f, lead, min(f.smallest, defaultRackStripes), rank)
	case config.Algorithm == RackStripes:
		return newHierarchy(f, lead, config.Stripes, rank)
	default:
		return newStriped(newHierarchy(f, lead, 1, rank), config.Stripes)
	}
}

// defaultRackStripes make a leader send 1.25 times as much as others.
const defaultRackStripes = 4

// nothing is the pattern of somebody who is alone.
var nothing = chain{members: 1}

// Peers are all with whom the member exchanges anything, for whatever number of blocks, in ascending order.
func (p *Part) Peers() []int { return p.peers() }

// Announced reports whether a message's header travels alone, ahead of the blocks. Otherwise the first block that a
// member receives comes from its herald, for every number of blocks, and can carry it.
func (p *Part) Announced() bool { return p.announced() }

// Herald is the member that tells this one of a new message; the root has none.
func (p *Part) Herald() (peer int, ok bool) { return p.herald() }

// Heirs are the members whose herald this one is, in the order in which they are told.
func (p *Part) Heirs() []int { return p.heirs() }

// Bound is the number of steps of the best possible schedule: the root needs one for each block, and the last block then
// reaches the others by doubling. Pipeline and Circulant meet it.
func (p *Part) Bound(blocks int) int {
	if p.members == 1 || blocks < 1 {
		return 0
	}
	return blocks - 1 + ceilLog2(p.members)
}

// Plan is what the member does for a message of so many blocks. For less than one block that is nothing.
func (p *Part) Plan(blocks int) Plan {
	if blocks < 1 {
		return plan{nothing, 1}
	}
	return plan{p.pattern, blocks}
}

// plan is a pattern for one number of blocks.
type plan struct {
	pattern
	blocks int
}

func (p plan) Steps() int                        { return p.steps(p.blocks) }
func (p plan) Send(step int) (Transfer, bool)    { return p.send(p.blocks, step) }
func (p plan) Receive(step int) (Transfer, bool) { return p.receive(p.blocks, step) }

// bounded is a pattern in which members are idle for as many steps as there are blocks, or many times that. It says between
// which steps they are not, so that nobody has to look at the others.
type bounded interface {
	sending(blocks int) (from, to int)
	receiving(blocks int) (from, to int)
}

func (p plan) Sending() (from, to int) {
	if _, ok := p.herald(); ok && slices.Equal(p.peers(), []int{0}) { // the root, which has everything
		return 0, 0
	}
	if b, ok := p.pattern.(bounded); ok {
		return b.sending(p.blocks)
	}
	return 0, p.Steps()
}

func (p plan) Receiving() (from, to int) {
	if _, ok := p.herald(); !ok { // it is the root
		return 0, 0
	}
	if b, ok := p.pattern.(bounded); ok {
		return b.receiving(p.blocks)
	}
	return 0, p.Steps()
}

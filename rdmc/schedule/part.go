package schedule

import "fmt"

// Part is one member's part of a group's schedules. It does not change, and may be shared.
type Part struct {
	pattern
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
	if config.Members < 1 || config.Members > MaxMembers {
		return nil, errMembers
	}
	if rank < 0 || rank >= config.Members {
		return nil, fmt.Errorf("rank %d in a group of %d", rank, config.Members)
	}
	switch config.Algorithm {
	case Chain:
		return &Part{chain{members: config.Members, rank: rank}}, nil
	default:
		return nil, fmt.Errorf("no schedule for %v", config.Algorithm)
	}
}

// Peers are all with whom the member exchanges anything, for whatever number of blocks, in ascending order.
func (p *Part) Peers() []int { return p.peers() }

// Announced reports whether a message's header travels alone, ahead of the blocks. Otherwise the first block that a
// member receives comes from its herald, for every number of blocks, and can carry it.
func (p *Part) Announced() bool { return p.announced() }

// Herald is the member that tells this one of a new message; the root has none.
func (p *Part) Herald() (peer int, ok bool) { return p.herald() }

// Heirs are the members whose herald this one is, in the order in which they are told.
func (p *Part) Heirs() []int { return p.heirs() }

// Plan is what the member does for a message of so many blocks.
func (p *Part) Plan(blocks int) Plan { return plan{p.pattern, blocks} }

// plan is a pattern for one number of blocks.
type plan struct {
	pattern
	blocks int
}

func (p plan) Steps() int                        { return p.steps(p.blocks) }
func (p plan) Send(step int) (Transfer, bool)    { return p.send(p.blocks, step) }
func (p plan) Receive(step int) (Transfer, bool) { return p.receive(p.blocks, step) }

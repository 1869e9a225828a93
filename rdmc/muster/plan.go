package muster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/rdmc"
)

// MaxGroups is how many groups can be made in one go.
const MaxGroups = 1 << 14

// What can be wrong. Errors of this package wrap one of these, or what packages mesh, rdmc and loop say.
var (
	// ErrArgument: something is missing or makes no sense on this side.
	ErrArgument = errors.New("bad argument")
	// ErrMalformed: a member sent something that this package does not know.
	ErrMalformed = errors.New("not what a weft member sends")
	// ErrDisagree: the members want different groups.
	ErrDisagree = errors.New("the members disagree")
	// ErrElsewhere: it went well here, but not at another member.
	ErrElsewhere = errors.New("failed there")
	// ErrLate: something did not end in time.
	ErrLate = errors.New("not in time")
)

// Plan is a group to be made. All its members need the same plans in the same order, but for what Config does not mark
// "same"; who is not a member of a group leaves its plan out.
type Plan struct {
	// Config is the group's. Create sets Self, Connected, and Members to the mesh's names if they are nil. Callbacks come when all
	// groups are connected at all members, which is before Create returns. Until then its error says what has failed.
	rdmc.Config
	// Ranks are the mesh's indexes of the members, in order of their ranks: the first is the root. Nil: all of the mesh.
	Ranks []int
	// Made is called on the loop with the group before the other callbacks, which may need it; may be nil.
	Made func(*rdmc.Group)
}

// complete fills in what the mesh knows, and says what is wrong with a plan.
func (p Plan) complete(m *mesh.Mesh) (Plan, error) {
	if p.Ranks == nil {
		p.Ranks = m.Members()
	}
	if err := checkRanks(m, p.Ranks); err != nil {
		return p, fmt.Errorf("group %s: %w: %w", p.Name, err, ErrArgument)
	}
	if p.Self = slices.Index(p.Ranks, m.Self()); p.Self < 0 {
		return p, fmt.Errorf("group %s: this member, %d (%s), is not one of its: leave the plan out: %w", p.Name, m.Self(),
			m.Name(m.Self()), ErrArgument)
	}
	if p.Members == nil {
		for _, member := range p.Ranks {
			p.Members = append(p.Members, m.Name(member))
		}
	}
	if len(p.Members) != len(p.Ranks) {
		return p, fmt.Errorf("group %s: %d names for %d members: %w", p.Name, len(p.Members), len(p.Ranks), ErrArgument)
	}
	return p, nil
}

// checkRanks says what is wrong with a list of members.
func checkRanks(m *mesh.Mesh, ranks []int) error {
	seen := make(map[int]bool)
	for rank, member := range ranks {
		if !m.Has(member) {
			return fmt.Errorf("rank %d is member %d, which is not in the mesh", rank, member)
		}
		if seen[member] {
			return fmt.Errorf("member %d (%s) is there twice", member, m.Name(member))
		}
		seen[member] = true
	}
	return nil
}

// completeAll does so with all plans.
func completeAll(m *mesh.Mesh, plans []Plan) ([]Plan, error) {
	if len(plans) > MaxGroups {
		return nil, fmt.Errorf("%d groups, allowed are %d: %w", len(plans), MaxGroups, ErrArgument)
	}
	completed := make([]Plan, len(plans))
	for i, plan := range plans {
		var err error
		if completed[i], err = plan.complete(m); err != nil {
			return nil, err
		}
	}
	return completed, nil
}

package muster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Mended is what the survivors of a failed group go on with.
type Mended struct {
	Mesh  *mesh.Mesh // without the dead; it takes the place of the one that Mend was given
	Group *Group     // with the same plan; its root is the first survivor
	Remains
}

// Mend has the survivors of a failed group go on: they agree on who is left, bring together what they hold, and make a group
// that finishes it before anything else. All of them call it after Config.Failed, with a mesh of the group's members (see
// mesh.Among), and not on the loop. To what Group.Holdings says a member adds the complete messages that it still has
// (Complete makes a Holding of a Delivery): others may lack them. If another member dies meanwhile, it begins anew.
//
// The failed group stays to be closed, when the new one has Completed what was unfinished: until then messages of one block
// lie in its buffers. The completion queue needs room for both. If Mend fails, the mesh is closed, and the others go on
// without this member.
func Mend(ctx context.Context, m *mesh.Mesh, failed *Group, complete ...rdmc.Holding) (*Mended, error) {
	if ctx == nil || m == nil || failed == nil {
		return nil, fmt.Errorf("muster: mend: the context, mesh or group is nil: %w", ErrArgument)
	}
	held, dead, err := failed.remains(ctx)
	if err != nil {
		return nil, fmt.Errorf("muster: mend: %w", inOneLine(err, m.CloseWith(err)))
	}
	held = append(slices.DeleteFunc(held, func(h rdmc.Holding) bool {
		return slices.ContainsFunc(complete, func(c rdmc.Holding) bool { return c.Number == h.Number })
	}), complete...)
	for range m.Len() { // each time somebody else is lost
		if m, err = m.Without(ctx, dead...); err != nil {
			return nil, fmt.Errorf("muster: mend: %w", err)
		}
		var mended *Mended
		if mended, err = failed.mend(ctx, m, held); err == nil {
			return mended, nil
		}
		dead = mesh.Failed(err)
		if dead == nil && !errors.Is(err, mesh.ErrRegroup) && !errors.Is(err, ErrElsewhere) {
			break
		}
	}
	return nil, fmt.Errorf("muster: mend: %w", inOneLine(err, m.CloseWith(err)))
}

// Complete is the holding of a message that is complete here.
func Complete(d rdmc.Delivery) rdmc.Holding {
	return rdmc.Holding{Message: d.Message, Place: d.Place, Have: schedule.FullSet(d.Blocks())}
}

// remains is what a failed group holds, and who failed, by index in the mesh.
func (g *Group) remains(ctx context.Context) (held []rdmc.Holding, dead []int, err error) {
	err = g.Do(ctx, func(group *rdmc.Group) error {
		if g.failure == nil {
			return fmt.Errorf("group %s has not failed: %w", g.plan.Name, ErrArgument)
		}
		if g.failure.Rank != rdmc.Unknown {
			dead = []int{g.Ranks[g.failure.Rank]}
		}
		held = group.Holdings()
		return nil
	})
	return held, dead, err
}

// mend makes the group of those who are left.
func (g *Group) mend(ctx context.Context, m *mesh.Mesh, held []rdmc.Holding) (*Mended, error) {
	plan := g.plan.without(func(member int) bool { return !m.Has(member) })
	remains, err := Gather(ctx, m, plan.Ranks, held)
	if err != nil {
		return nil, err
	}
	plan.Unfinished = remains.Unfinished
	groups, err := Create(ctx, m, g.loop, g.domain, []Plan{plan})
	if err != nil {
		return nil, err
	}
	return &Mended{Mesh: m, Group: groups[0], Remains: remains}, nil
}

// without is a complete plan without some members of the mesh.
func (p Plan) without(gone func(member int) bool) Plan {
	left := p
	left.Ranks, left.Members, left.Racks = nil, nil, nil
	for rank, member := range p.Ranks {
		if gone(member) {
			continue
		}
		left.Ranks, left.Members = append(left.Ranks, member), append(left.Members, p.Members[rank])
		if p.Racks != nil {
			left.Racks = append(left.Racks, p.Racks[rank])
		}
	}
	return left
}

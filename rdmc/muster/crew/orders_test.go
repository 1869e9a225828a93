package crew

import (
	"context"
	"slices"

	"github.com/weft-fabric/weft/rdmc/muster"
)

// create makes groups: those of the orders that this member is in.
func (m *member) create(ctx context.Context, orders []groupOrder) error {
	var squads []*squad
	for _, o := range orders {
		if slices.Contains(o.Ranks, m.mesh.Self()) || len(o.Ranks) == 0 {
			s := m.newSquad(o)
			m.squads[o.Name] = s
			squads = append(squads, s)
		}
	}
	plans := make([]muster.Plan, len(squads))
	for i, s := range squads {
		var err error
		if plans[i], err = s.plan(); err != nil {
			return err
		}
	}
	return m.muster(ctx, squads, plans)
}

func (m *member) muster(ctx context.Context, squads []*squad, plans []muster.Plan) error {
	if m.liar != nil {
		m.liar.prepare(squads)
	}
	groups, err := muster.Create(ctx, m.mesh, m.loop, m.domain, plans)
	if err != nil {
		return err
	}
	for i, s := range squads {
		s.made = groups[i]
	}
	return nil
}

// finish makes groups of the survivors, which finish what is unfinished. The orders say who they are.
func (m *member) finish(ctx context.Context, orders []groupOrder) error {
	var squads []*squad
	var plans []muster.Plan
	for _, o := range orders {
		s := m.squads[o.Name]
		if s == nil {
			continue
		}
		plan, err := m.resume(ctx, s, o)
		if err != nil {
			return err
		}
		squads, plans, m.failed = append(squads, s), append(plans, plan), append(m.failed, s.made)
	}
	return m.muster(ctx, squads, plans)
}

// bury closes the groups that have failed. What was unfinished lay in their buffers until now.
func (m *member) bury(ctx context.Context) error {
	failed := m.failed
	m.failed = nil
	return muster.Close(ctx, failed)
}

// resume gathers what the survivors of a group hold.
func (m *member) resume(ctx context.Context, s *squad, o groupOrder) (muster.Plan, error) {
	held, err := s.holdings(ctx)
	if err != nil {
		return muster.Plan{}, err
	}
	remains, err := muster.Gather(ctx, m.mesh, o.Ranks, held)
	if err != nil {
		return muster.Plan{}, err
	}
	for _, lost := range remains.Lost {
		m.report(report{Kind: kindLost, Group: o.Name, Number: lost.Number})
		if s.shelf != nil {
			delete(s.shelf.books, lost.Number) // the number may be given again
		}
	}
	for _, u := range remains.Unfinished {
		m.report(report{Kind: kindResumed, Group: o.Name, Number: u.Number})
	}
	s.order = o
	plan, err := s.plan()
	plan.Unfinished = remains.Unfinished
	return plan, err
}

// close closes a group, or all of them.
func (m *member) close(ctx context.Context, name string) error {
	var groups []*muster.Group
	for _, s := range m.squads {
		if s.made != nil && (name == "" || s.order.Name == name) {
			groups = append(groups, s.made)
			s.made = nil
		}
	}
	return muster.Close(ctx, groups)
}

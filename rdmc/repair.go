package rdmc

import (
	"fmt"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// repair is one member's part in finishing an unfinished message.
type repair struct {
	plan  schedule.Plan
	peers []int
}

// repairs computes how what is unfinished is finished, from what the members hold: every member comes to the same plan.
func (c *Config) repairs() ([]repair, error) {
	if err := c.validateUnfinished(); err != nil {
		return nil, err
	}
	var list []repair
	for i := range c.Unfinished {
		u := &c.Unfinished[i]
		all, err := schedule.Repair(u.Have)
		if err != nil {
			return nil, fmt.Errorf("group %s: unfinished message %d: %w", c.Name, u.Number, err)
		}
		list = append(list, repair{all.Plan(c.Self), all.Peers(c.Self)})
	}
	return list, nil
}

// validateUnfinished looks at what an earlier group left.
func (c *Config) validateUnfinished() error {
	for i := range c.Unfinished {
		u := &c.Unfinished[i]
		if i > 0 && u.Number <= c.Unfinished[i-1].Number {
			return c.wrong("unfinished message %d stands behind message %d", u.Number, c.Unfinished[i-1].Number)
		}
		if u.BlockSize != c.BlockSize || len(u.Have) != len(c.Members) {
			return c.wrong("unfinished message %d has block size %d and %d sets, the group %d and %d members", u.Number,
				u.BlockSize, len(u.Have), c.BlockSize, len(c.Members))
		}
		if err := c.checkSize(u.Size); err != nil {
			return err
		}
		if err := c.checkHave(u); err != nil {
			return err
		}
	}
	return nil
}

// checkHave looks at the sets of an unfinished message, and whether what this member has of it lies anywhere.
func (c *Config) checkHave(u *Unfinished) error {
	for rank, have := range u.Have {
		if have.Len() != u.Blocks() {
			return c.wrong("unfinished message %d: the set of member %d is for %d blocks, not %d", u.Number, rank, have.Len(),
				u.Blocks())
		}
	}
	if c.Store != nil || u.Place.Memory == nil && u.Have[c.Self].Count() == 0 {
		return nil
	}
	if err := c.fits(u.Place, u.Message); err != nil {
		return c.wrong("unfinished message %d: %v", u.Number, err)
	}
	return nil
}

// resume makes transfers of what is unfinished. Every member knows of them, so that no header is sent.
func (g *Group) resume(repairs []repair) {
	for i, r := range repairs {
		u := &g.config.Unfinished[i]
		t := newTransfer(u.Message, r.plan)
		t.repair, t.have, t.count = true, u.Have[g.config.Self].Clone(), u.Have[g.config.Self].Count()
		t.place, t.placed = u.Place, u.Place.Memory != nil || u.Size == 0
		if g.config.Store != nil {
			g.prepareStore(t)
		}
		g.active = append(g.active, t)
		g.next = u.Number + 1
	}
}

// placeUnfinished asks for memory where this member has nothing of an unfinished message.
func (g *Group) placeUnfinished() {
	for _, t := range g.active {
		switch {
		case t.placed || g.config.Store != nil || g.state != ready:
		case g.config.Incoming == nil:
			g.fail(g.config.Self, because(ErrMemory, fmt.Errorf("none for unfinished message %d", t.Number)))
		default:
			g.askForPlace(t)
		}
	}
}

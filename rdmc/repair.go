package rdmc

import (
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// repair is how one unfinished message is finished.
type repair struct {
	plan  schedule.Plan
	peers []int
}

// repairs computes how what is unfinished is finished: every member comes to the same plan.
func (c *Config) repairs() ([]repair, error) {
	return nil, nil
}

// resume makes transfers of what is unfinished. Every member knows of them, so no header is sent.
func (g *Group) resume(repairs []repair) {
	for i, r := range repairs {
		u := &g.config.Unfinished[i]
		t := newTransfer(u.Message, r.plan)
		t.repair = true
		g.active = append(g.active, t)
		g.next = u.Number + 1
	}
}

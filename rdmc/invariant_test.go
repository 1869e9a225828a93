package rdmc

import "fmt"

// check says which invariant is broken.
func (g *Group) check() error {
	awaiting, firsts := 0, 0
	for _, in := range g.incoming {
		switch {
		case in.transfer != nil:
			awaiting++
		case in.link != nil:
			firsts++
		}
	}
	sending := 0
	for _, t := range g.active {
		sending += t.sending
		if t.count > t.have.Len() || t.count != t.have.Count() {
			return fmt.Errorf("message %d counts %d blocks, and has %d of %d", t.Number, t.count, t.have.Count(), t.have.Len())
		}
	}
	for i := range g.links {
		l := &g.links[i]
		if l.credits < 0 || l.credits > g.config.Credits+1 {
			return fmt.Errorf("%d credits of member %d", l.credits, l.rank)
		}
	}
	switch {
	case awaiting != g.awaiting || awaiting > g.config.Credits || firsts > 1 || firsts == 1 != g.firstPosted:
		return fmt.Errorf("%d receives and %d for a first block, noted are %d (%t)", awaiting, firsts, g.awaiting, g.firstPosted)
	case len(g.incoming)-len(g.idleIn) != awaiting+firsts:
		return fmt.Errorf("%d slots idle of %d, with %d receives", len(g.idleIn), len(g.incoming), awaiting+firsts)
	case len(g.outgoing)-len(g.idleOut) != sending:
		return fmt.Errorf("%d slots idle of %d, with %d sends", len(g.idleOut), len(g.outgoing), sending)
	case len(g.queue) > MaxQueued || len(g.active) > max(maxActive, len(g.config.Unfinished)):
		return fmt.Errorf("%d messages wait, %d are under way", len(g.queue), len(g.active))
	case g.receiveAt > len(g.active) || g.sendAt > len(g.active):
		return fmt.Errorf("cursors %d and %d of %d", g.receiveAt, g.sendAt, len(g.active))
	}
	return nil
}

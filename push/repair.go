package push

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/hosts"
)

// recover finds out why a group has ended, gives up who is to blame, and ends it everywhere. Then the next one can be formed.
func (p *pusher) recover(ctx context.Context, g *group) error {
	if err := p.hearAll(ctx, g); err != nil {
		return err
	}
	by := p.testimonies(g)
	v := judge(by)
	if len(v.broken) > 0 && p.isDoubtful() { // all answer, but not by RDMA
		p.end(ctx, g)
		return p.fallBack(fmt.Errorf("%w: %s", errWay, v.broken[0].describe(by)))
	}
	for rank, t := range v.guilty {
		p.giveUp(g.hosts[rank-1], t)
	}
	v.remember(g.hosts, p.hosts)
	p.noteAccusers(g, by, v.guilty)
	if len(alive(p.hosts)) > 0 {
		p.emit(Event{Kind: EventRepair, Text: summaryOf(by, v)})
	}
	p.end(ctx, g)
	return p.anybody(ctx)
}

// hearAll waits until of every member is known how it is, after something went wrong: the one who says nothing may be dead. Whoever is mute is knocked
// at again and again: of a process that is killed the port may be closed last.
func (p *pusher) hearAll(ctx context.Context, g *group) error {
	since := time.Now()
	mute := func() []*host { return those(alive(g.hosts), func(h *host) bool { return !p.hasSpoken(g, h, since) }) }
	for ctx.Err() == nil {
		each(ctx, mute(), p.Fan, p.knock)
		soon, cancel := context.WithTimeout(ctx, retryGap)
		err := p.board.await(soon, func() bool { return len(mute()) == 0 })
		if cancel(); err == nil {
			return nil
		}
	}
	return context.Cause(ctx)
}

func (p *pusher) hasSpoken(g *group, h *host, since time.Time) bool {
	n := p.board.of(h)
	return n.lost != nil || n.status.Phase == control.PhaseFailed || n.failedIn(g.epoch) != nil || n.heard.After(since)
}

// testimonies are how a group ended for its members, by rank.
func (p *pusher) testimonies(g *group) []testimony {
	by := []testimony{{name: rootName, failed: p.board.failedHere(g.epoch)}}
	for _, h := range g.hosts {
		n := p.board.of(h)
		t := testimony{name: h.name, lost: n.lost, failed: n.failedIn(g.epoch), broken: h.broken, accused: h.accused}
		if n.status.Phase == control.PhaseFailed {
			t.trouble = orUnknown(n.status.Error)
		}
		by = append(by, t)
	}
	if c := g.apart.Load(); c != nil && !slices.ContainsFunc(by, func(t testimony) bool { return t.failed != nil }) {
		by[0].failed = &control.GroupFailed{Rank: c.rank, Cause: "could not connect: " + c.err.Error()} // nobody else knows more
	}
	return by
}

// noteAccusers remembers by whose word others were given up.
func (p *pusher) noteAccusers(g *group, by []testimony, guilty map[int]*control.Trouble) {
	for i, h := range g.hosts {
		if f := by[i+1].failed; f != nil && f.Rejected && !f.Told && guilty[f.Rank] != nil {
			h.accused = true
		}
	}
}

func orUnknown(t *control.Trouble) *control.Trouble {
	if t == nil {
		return &control.Trouble{Class: control.Other, Text: "its agent has given up, and does not say why"}
	}
	return t
}

// summaryOf says for people why a group has ended.
func summaryOf(by []testimony, v verdict) string {
	var names []string
	for rank := range by {
		if v.guilty[rank] != nil {
			names = append(names, by[rank].name)
		}
	}
	switch {
	case len(names) == len(by)-1:
		return "nobody is left"
	case len(names) > 0:
		return fmt.Sprintf("the others go on without %s", hosts.Fold(names))
	case len(v.broken) > 0:
		return fmt.Sprintf("connections broke, all answer, and all go on: %s", v.broken[0].describe(by))
	}
	return "connections broke, and all go on"
}

// describe names the ends of a connection that broke, and says why.
func (x hop) describe(by []testimony) string {
	names, cause := by[x.other].name, x.other // the root says little of itself
	if x.one != x.other {
		names = by[x.one].name + " and " + names
	}
	if f := by[x.other].failed; x.one > 0 && f != nil && f.Rank == x.one {
		cause = x.one
	}
	return names + ": " + causeOf(by, cause)
}

package muster

import (
	"context"
	"errors"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/rdmc"
)

// again is how long all wait before they connect groups anew: what cannot be reached shall not be called without end.
const again = 50 * time.Millisecond

// connectAll connects the groups, a turn of them at a time.
//
// A group's turn is its root's: all its members connect it in the same, and begin the turn together. So two ends never wait
// long for each other, be a member busy with other groups or the plans in whatever order, and a device does not have to call
// thousands of peers at once.
//
// Devices wait for a peer, and bear its silence, for as long as Limits.PeerTimeout, which is short. A member may be late by
// more than that all the same: it was stopped, or has much to do. So groups that a member has lost are made anew at all of
// theirs, from that turn on, until the time is up. Nothing is lost with them: none begins before all are connected.
func (c *creation) connectAll(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	soon, cancel := context.WithTimeout(ctx, time.Until(deadline)*3/4) // which leaves some of the time to say what went wrong
	defer cancel()
	for turn := 0; turn < c.turns; {
		next, err := c.connect(soon, turn)
		if err != nil {
			c.discard() // so that the others need not wait for these
		}
		if next, err = agree(ctx, c.mesh, "groups connected", next, turn+1, err); err != nil {
			return err
		}
		if next <= turn {
			err = c.anew(ctx, next, turn)
		}
		if err != nil {
			return err
		}
		turn = next
	}
	return nil
}

// connect connects the groups of a turn. It returns the next turn that is due: the first in which a group was lost to a
// member that did not answer, and may still come.
func (c *creation) connect(ctx context.Context, turn int) (next int, err error) {
	few := c.within(turn, turn)
	if err := inTurns(ctx, c.loop, few, (*Group).connect); err != nil {
		return 0, err
	}
	for _, g := range few {
		if err := g.awaitConnected(ctx); err != nil {
			return 0, err
		}
	}
	next = turn + 1
	for _, g := range c.within(0, turn) {
		f := g.failed()
		if f != nil && (!unanswered(f) || ctx.Err() != nil) {
			return 0, f
		}
		if f != nil {
			next = min(next, g.turn)
		}
	}
	return next, nil
}

// unanswered reports whether a group has failed because a member did not answer: not now, perhaps later.
func unanswered(f *rdmc.Failure) bool {
	return errors.Is(f, rdmc.ErrDied) || errors.Is(f, rdmc.ErrSilent) || errors.Is(f, rdmc.ErrLeft)
}

// anew makes the groups of some turns once more.
func (c *creation) anew(ctx context.Context, first, last int) error {
	if err := pause.For(ctx, again); err != nil {
		return err
	}
	return c.introduce(ctx, c.within(first, last))
}

// discard frees all groups without a word: none has begun.
func (c *creation) discard() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = inTurns(ctx, c.loop, c.groups, func(g *Group) error { g.discard(); return nil }) // what is left, undo closes
}

// within are the groups of some turns, in the order of the plans.
func (c *creation) within(first, last int) (groups []*Group) {
	for _, g := range c.groups {
		if first <= g.turn && g.turn <= last {
			groups = append(groups, g)
		}
	}
	return groups
}

package muster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
)

// patience bounds what is done when the context is over: closing groups that will not come about.
const patience = 5 * time.Second

// Create makes groups, all at once. All members of the mesh call it, those without a group too. It returns when all groups
// are ready at all members, in the order of the plans, or with an error at all of them that says what went wrong at whom;
// then it has closed whatever it made. It ends with the context, or after mesh.DefaultTimeout if that has no deadline.
//
// The loop must have been started, and its completion queue have room for rdmc.CompletionRoom of each plan.
func Create(ctx context.Context, m *mesh.Mesh, l *loop.Loop, domain *verbs.Domain, plans []Plan) ([]*Group, error) {
	if ctx == nil || m == nil || l == nil || domain == nil {
		return nil, fmt.Errorf("muster: create: the context, mesh, loop or domain is nil: %w", ErrArgument)
	}
	if _, ok := ctx.Deadline(); !ok {
		bounded, cancel := context.WithTimeout(ctx, mesh.DefaultTimeout)
		defer cancel()
		ctx = bounded
	}
	c := &creation{mesh: m, loop: l, domain: domain}
	err := c.run(ctx, plans)
	if err != nil {
		return nil, fmt.Errorf("muster: create: %w", inOneLine(err, c.undo()))
	}
	return c.groups, nil
}

// creation is a Create under way.
type creation struct {
	mesh   *mesh.Mesh
	loop   *loop.Loop
	domain *verbs.Domain
	groups []*Group
	shared [][]*Group // by index in the mesh: groups that a member is in too, in the order of the plans
	turns  int        // how many of them it takes to connect all groups of all members
}

// run takes the steps. After each that can fail at one member, all tell each other how it went.
func (c *creation) run(ctx context.Context, plans []Plan) error {
	if err := c.verdict(ctx, "groups made", c.make(ctx, plans)); err != nil {
		return err
	}
	mine, err := c.offers(ctx)
	if err := c.verdict(ctx, "groups described", err); err != nil {
		return err
	}
	notes, err := c.mesh.Exchange(ctx, "groups", mine)
	if err != nil {
		return err
	}
	if err := c.verdict(ctx, "groups compared", c.compare(ctx, notes)); err != nil {
		return err
	}
	for turn := range c.turns {
		if err = c.connect(ctx, turn); err != nil {
			err = inOneLine(err, c.undo()) // so that the others need not wait for these
		}
		if err := c.verdict(ctx, "groups ready", err); err != nil {
			return err
		}
	}
	return inTurns(ctx, c.loop, c.groups, (*Group).form)
}

// make makes this member's ends of the groups.
func (c *creation) make(ctx context.Context, plans []Plan) error {
	plans, err := completeAll(c.mesh, plans)
	if err != nil {
		return err
	}
	c.shared = make([][]*Group, c.mesh.Len())
	c.turns = (len(plans) + batch - 1) / batch
	return inTurns(ctx, c.loop, plans, func(plan Plan) error {
		g, err := newGroup(c.loop, c.domain, plan)
		if err != nil {
			return err
		}
		g.turn = len(c.groups) / batch
		c.groups = append(c.groups, g)
		for _, member := range plan.Ranks {
			c.shared[member] = append(c.shared[member], g)
		}
		return nil
	})
}

// offers are what each member needs to know of the groups that it is in too.
func (c *creation) offers(ctx context.Context) ([][]byte, error) {
	notes := make([][]byte, c.mesh.Len())
	for member, groups := range c.shared {
		if member == c.mesh.Self() {
			continue
		}
		var offers []offer
		err := inTurns(ctx, c.loop, groups, func(g *Group) error {
			offers = append(offers, offer{g.Description(), g.Addresses(g.rankOf(member)), g.turn})
			return nil
		})
		if err != nil {
			return nil, err
		}
		notes[member] = encodeOffers(c.turns, offers)
	}
	return notes, nil
}

// compare takes the members' notes apart, keeps the addresses, and finds the first difference.
func (c *creation) compare(ctx context.Context, notes [][]byte) error {
	for _, member := range c.others() {
		turns, theirs, err := decodeOffers(notes[member])
		if c.turns = max(c.turns, turns); err == nil {
			err = c.compareWith(ctx, member, theirs)
		}
		if err != nil {
			return fmt.Errorf("member %d (%s): %w", member, c.mesh.Name(member), err)
		}
	}
	return nil
}

func (c *creation) compareWith(ctx context.Context, member int, theirs []offer) error {
	if ours := len(c.shared[member]); ours != len(theirs) {
		return fmt.Errorf("%w: it has %d groups together with this member, this member has %d with it", ErrDisagree, len(theirs), ours)
	}
	return inTurns(ctx, c.loop, c.shared[member], func(g *Group) error {
		rank, offer := g.rankOf(member), theirs[0]
		theirs = theirs[1:]
		if g.addresses[rank] = offer.addresses; rank == 0 {
			g.turn = offer.turn
		}
		if err := g.Agrees(rank, offer.description); err != nil {
			return fmt.Errorf("%w: %w", ErrDisagree, err)
		}
		return nil
	})
}

func (c *creation) others() []int {
	return slices.DeleteFunc(c.mesh.Members(), func(i int) bool { return i == c.mesh.Self() })
}

// connect connects the groups of a turn and waits until they are ready. It leaves some of the time for the verdict.
//
// A group's turn is its root's: all its members connect it in the same, and begin the turn together. So two ends never wait
// long for each other, be a member busy with other groups or the plans in whatever order, and a device does not have to call
// thousands of peers at once.
func (c *creation) connect(ctx context.Context, turn int) error {
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithTimeout(ctx, time.Until(deadline)*3/4)
	defer cancel()
	few := slices.DeleteFunc(slices.Clone(c.groups), func(g *Group) bool { return g.turn != turn })
	if err := inTurns(ctx, c.loop, few, (*Group).connect); err != nil {
		return err
	}
	for _, g := range few {
		if err := g.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// undo closes what was made. It does so whether the context is over or not.
func (c *creation) undo() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	groups := c.groups
	c.groups = nil
	if err := Close(ctx, groups); err != nil {
		return fmt.Errorf("then: %w", err)
	}
	return nil
}

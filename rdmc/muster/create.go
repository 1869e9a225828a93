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
// are connected at all members, in the order of the plans, or with an error at all of them that says what went wrong at whom;
// then it has closed whatever it made. It ends with the context, or after mesh.DefaultTimeout if that has no deadline: a
// member that is late, be it by more than its device waits for peers, costs only time.
//
// The loop must have been started, and its completion queue have room for rdmc.CompletionRoom of each plan.
func Create(ctx context.Context, m *mesh.Mesh, l *loop.Loop, domain *verbs.Domain, plans []Plan) ([]*Group, error) {
	if ctx == nil || m == nil {
		return nil, fmt.Errorf("muster: create: the context or the mesh is nil: %w", ErrArgument)
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
	turns  int // how many of them it takes to connect all groups of all members
}

// run takes the steps. After each that can fail at one member, all tell each other how it went.
func (c *creation) run(ctx context.Context, plans []Plan) error {
	if err := verdict(ctx, c.mesh, "groups planned", c.plan(plans)); err != nil {
		return err
	}
	if err := c.introduce(ctx, c.groups); err != nil {
		return err
	}
	if err := c.connectAll(ctx); err != nil {
		return err
	}
	if err := inTurns(ctx, c.loop, c.groups, (*Group).form); err != nil {
		return err
	}
	for _, g := range c.groups {
		if err := g.awaitSettled(ctx); err != nil {
			return err
		}
	}
	return nil
}

// plan says which groups there will be, or what is wrong with the plans.
func (c *creation) plan(plans []Plan) error {
	if c.loop == nil || c.domain == nil {
		return fmt.Errorf("the loop or the domain is nil: %w", ErrArgument)
	}
	plans, err := completeAll(c.mesh, plans)
	if err != nil {
		return err
	}
	c.turns = (len(plans) + batch - 1) / batch
	for i, plan := range plans {
		c.groups = append(c.groups, &Group{Ranks: plan.Ranks, plan: plan, loop: c.loop, domain: c.domain, turn: i / batch})
	}
	return nil
}

// introduce makes this member's ends of groups, and finds out how to connect them.
func (c *creation) introduce(ctx context.Context, groups []*Group) error {
	shared := c.shared(groups)
	mine, err := c.make(ctx, groups, shared)
	if err := verdict(ctx, c.mesh, "groups made", err); err != nil {
		return err
	}
	notes, err := c.mesh.Exchange(ctx, "groups", mine)
	if err != nil {
		return err
	}
	return verdict(ctx, c.mesh, "groups compared", c.compare(ctx, shared, notes))
}

// shared are those groups that a member is in too, by index in the mesh, in the order of the plans.
func (c *creation) shared(groups []*Group) [][]*Group {
	shared := make([][]*Group, c.mesh.Len())
	for _, g := range groups {
		for _, member := range g.Ranks {
			shared[member] = append(shared[member], g)
		}
	}
	return shared
}

// make makes this member's ends, and what each member needs to know of those that it shares.
func (c *creation) make(ctx context.Context, groups []*Group, shared [][]*Group) ([][]byte, error) {
	if err := inTurns(ctx, c.loop, groups, (*Group).make); err != nil {
		return nil, err
	}
	notes := make([][]byte, c.mesh.Len())
	for _, member := range c.others() {
		var offers []offer
		err := inTurns(ctx, c.loop, shared[member], func(g *Group) error {
			offers = append(offers, offer{g.Description(), g.Addresses(g.rankOf(member)), g.turn})
			return nil
		})
		if err != nil {
			return nil, err
		}
		if notes[member] = encodeOffers(c.turns, offers); len(notes[member]) > mesh.MaxExchange {
			return nil, fmt.Errorf("%d groups take %d bytes to describe, allowed are %d; make them in several goes: %w", len(offers),
				len(notes[member]), mesh.MaxExchange, ErrArgument)
		}
	}
	return notes, nil
}

// compare takes the members' notes apart, keeps the addresses, and finds the first difference.
func (c *creation) compare(ctx context.Context, shared [][]*Group, notes [][]byte) error {
	for _, member := range c.others() {
		turns, theirs, err := decodeOffers(notes[member])
		if c.turns = max(c.turns, turns); err == nil {
			err = c.compareWith(ctx, member, shared[member], theirs)
		}
		if err != nil {
			return fmt.Errorf("member %d (%s): %w", member, c.mesh.Name(member), err)
		}
	}
	return nil
}

func (c *creation) compareWith(ctx context.Context, member int, ours []*Group, theirs []offer) error {
	if len(ours) != len(theirs) {
		return fmt.Errorf("%w: it has %d groups together with this member, this member has %d with it", ErrDisagree, len(theirs), len(ours))
	}
	return inTurns(ctx, c.loop, ours, func(g *Group) error {
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

// undo closes what was made. It does so whether the context is over or not.
func (c *creation) undo() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	made := slices.DeleteFunc(c.groups, func(g *Group) bool { return g.Group == nil })
	c.groups = nil
	if err := Close(ctx, made); err != nil {
		return fmt.Errorf("then: %w", err)
	}
	return nil
}

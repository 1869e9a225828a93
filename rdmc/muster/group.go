package muster

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/verbs"
)

// Group is a group that Create made. The methods of the rdmc.Group are called on the loop: from callbacks, or by Do.
type Group struct {
	*rdmc.Group
	Ranks []int // the mesh's indexes of the members, by rank

	plan      Plan
	loop      *loop.Loop
	domain    *verbs.Domain
	addresses [][]verbs.Address // by rank: what the members gave us to connect with
	turn      int               // when it is connected

	connected chan struct{} // closed by Connected
	settled   chan struct{} // closed when the program has heard of Ready, or of the end
	ended     chan struct{} // closed when failure is set, on the loop
	closed    chan struct{} // closed by Closed

	abandon sync.Once // freeing without a loop

	// These belong to the loop.
	failure *rdmc.Failure
	formed  bool // Create has done its work: Failed and Closed are the program's now
}

// make makes this member's end of the group, on the loop, in the place of one that did not get connected.
func (g *Group) make() error {
	g.discard()
	g.addresses, g.failure = make([][]verbs.Address, len(g.Ranks)), nil
	g.connected, g.settled = make(chan struct{}), make(chan struct{})
	g.ended, g.closed = make(chan struct{}), make(chan struct{})
	config := g.plan.Config
	config.Connected, config.Ready, config.Failed, config.Closed = g.becomeConnected, g.becomeReady, g.fail, g.close
	made, err := rdmc.New(g.loop, g.domain, config)
	if err == nil {
		g.Group = made
	}
	return err
}

// discard frees this member's end without a word, if there is one.
func (g *Group) discard() {
	if g.Group != nil {
		g.Discard()
		g.Group = nil
	}
}

// connect begins to connect with all peers.
func (g *Group) connect() error {
	for _, rank := range g.Peers() {
		if err := g.Connect(rank, g.addresses[rank]); err != nil {
			return err
		}
	}
	g.addresses = nil
	return nil
}

// awaitConnected waits until the group is connected, or has failed.
func (g *Group) awaitConnected(ctx context.Context) error {
	if err := await(ctx, g.loop, g.connected, g.ended); err != nil {
		return fmt.Errorf("group %s was not connected%s: %w", g.plan.Name, g.unconnected(), err)
	}
	return nil
}

// unconnected names the members that a group is not connected with, if its loop can tell.
func (g *Group) unconnected() (text string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*glance)
	defer cancel()
	_ = g.Do(ctx, func(group *rdmc.Group) error {
		for i, rank := range group.Unconnected() {
			if i == maxVoices {
				text += ", and others"
				break
			}
			text += fmt.Sprintf(", with member %d (%s)", g.Ranks[rank], g.plan.Members[rank])
		}
		return nil
	})
	return text
}

// failed is why the group has, or nil.
func (g *Group) failed() *rdmc.Failure {
	select {
	case <-g.ended:
		return g.failure
	default:
		return nil
	}
}

func (g *Group) becomeConnected() { close(g.connected) }

// becomeReady, fail and close call the program before they let Create and Close return: a program that has heard the end of
// one of these has heard the call too.
func (g *Group) becomeReady() {
	if g.plan.Ready != nil {
		g.plan.Ready()
	}
	g.settle()
}

// settle is called on the loop, once or more.
func (g *Group) settle() {
	select {
	case <-g.settled:
	default:
		close(g.settled)
	}
}

// fail keeps a failure until Create is done, or tells it.
func (g *Group) fail(f *rdmc.Failure) {
	g.failure = f
	if g.formed {
		g.tellFailure()
	}
	close(g.ended)
	g.settle()
}

func (g *Group) tellFailure() {
	if g.failure != nil && g.plan.Failed != nil {
		g.plan.Failed(g.failure)
	}
}

// form hands the group over to the program: from now on it hears of failures, be it of one that was kept.
func (g *Group) form() error {
	g.formed = true
	if g.plan.Made != nil {
		g.plan.Made(g.Group)
	}
	g.tellFailure()
	g.Begin()
	return nil
}

// awaitSettled waits until the program has heard that the group is ready, or has ended: it may have closed it already.
func (g *Group) awaitSettled(ctx context.Context) error {
	if err := await(ctx, g.loop, g.settled, nil); err != nil {
		return fmt.Errorf("group %s did not begin: %w", g.plan.Name, err)
	}
	return nil
}

func (g *Group) close() {
	if g.formed && g.plan.Closed != nil {
		g.plan.Closed()
	}
	close(g.closed)
	g.settle()
}

// rankOf is the rank of a member of the mesh, or -1.
func (g *Group) rankOf(member int) int {
	for rank, index := range g.Ranks {
		if index == member {
			return rank
		}
	}
	return -1
}

// Do has f run on the group's loop, and returns what it returns. It must not be called on the loop. If the context ends first,
// f will not run any more.
func (g *Group) Do(ctx context.Context, f func(*rdmc.Group) error) error {
	return onLoop(ctx, g.loop, func() error { return f(g.Group) })
}

// Close says goodbye in groups of one loop, all at once, and returns when everything is freed. It must not be called on the loop. A member
// that closes while others still need it ends the group for them: let all be done first, by a Barrier of the mesh. If the
// loop has ended, it frees without a word.
func Close(ctx context.Context, groups []*Group) error {
	var failed error
	for few := range slices.Chunk(groups, batch) {
		err := onLoop(ctx, few[0].loop, func() error { return beginClose(few) })
		if failed == nil && ended(few[0].loop) == nil {
			failed = err
		}
	}
	for i, g := range groups {
		if err := g.endClose(ctx); err != nil {
			return fmt.Errorf("close group %s, and perhaps %d more: %w", g.plan.Name, len(groups)-i-1, err)
		}
	}
	return failed
}

func beginClose(groups []*Group) error {
	var failed error
	for _, g := range groups {
		if err := g.Group.Close(); failed == nil {
			failed = err
		}
	}
	return failed
}

// endClose waits until everything is freed, and frees it if there is no loop any more.
func (g *Group) endClose(ctx context.Context) error {
	err := await(ctx, g.loop, g.closed, nil)
	if err == nil || ended(g.loop) == nil {
		return err
	}
	g.abandon.Do(g.free)
	return nil
}

func (g *Group) free() {
	select {
	case <-g.closed:
	default:
		g.Discard()
		close(g.closed)
	}
}

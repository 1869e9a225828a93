package rdmc

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// Peers are the ranks of the members that this one must be connected with.
func (g *Group) Peers() []int {
	peers := make([]int, len(g.links))
	for i, l := range g.links {
		peers[i] = l.rank
	}
	return peers
}

// Addresses are those of the queue pairs for a peer, to be given to it. For a member that is no peer there are none.
func (g *Group) Addresses(peer int) []verbs.Address {
	l := g.linkOf(peer)
	if l == nil || g.state == closed {
		return nil
	}
	return []verbs.Address{l.data.Address(), l.control.Address()}
}

// Connect connects with a peer, by what its Addresses said for this member. It ends as Config.Connected and Config.Ready
// when all are connected, or as Config.Failed, which names the member.
func (g *Group) Connect(peer int, theirs []verbs.Address) error {
	l := g.linkOf(peer)
	switch {
	case g.state.over():
		return g.refuse("connect", ErrEnded)
	case l == nil:
		return g.config.wrong("connect: member %d is not a peer", peer)
	case len(theirs) != 2:
		return g.config.wrong("connect: member %d (%s) gave %d addresses, not 2", peer, g.config.Members[peer], len(theirs))
	}
	err := errors.Join(l.data.Connect(g.tag(tagConnect, l, 0), theirs[0]), l.control.Connect(g.tag(tagConnect, l, 1), theirs[1]))
	if err != nil {
		return fmt.Errorf("group %s: connect member %d (%s): %w", g.config.Name, peer, g.config.Members[peer], err)
	}
	return nil
}

// Unconnected are the ranks of the peers that are not connected yet.
func (g *Group) Unconnected() (peers []int) {
	for i := range g.links {
		l := &g.links[i]
		if l.connected < 2 {
			peers = append(peers, l.rank)
		}
	}
	return peers
}

func (g *Group) refuse(what string, why error) error {
	if g.failure != nil {
		return fmt.Errorf("%s: %w: %w", what, why, g.failure)
	}
	return fmt.Errorf("group %s: %s: %w", g.config.Name, what, why)
}

func (g *Group) stepConnected(l *link, c *verbs.Completion) {
	if g.state.over() {
		return
	}
	if c.Status != verbs.OK {
		g.fail(l.rank, fmt.Errorf("%w, while the group was formed", ErrDied))
		return
	}
	l.connected++
	g.missing--
	g.speak(l)
}

// becomeConnected waits for Begin, if somebody wants to call it.
func (g *Group) becomeConnected() {
	g.state = connected
	if g.config.Connected == nil {
		g.begun = true
		return
	}
	g.config.Connected()
}

// Begin has the group do its work, now or as soon as it is connected. Only a group with Config.Connected needs it.
func (g *Group) Begin() {
	g.begun = true
	g.wake()
}

// becomeReady begins with the work.
func (g *Group) becomeReady() {
	g.state = ready
	if g.config.Ready != nil {
		g.config.Ready()
	}
	g.placeUnfinished()
	g.countOn()
}

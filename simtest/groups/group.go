package groups

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Spec describes a group on a cluster.
type Spec struct {
	rdmc.Config       // but for Members, Self, Store and the calls, which are set for each member
	Nodes       []int // of the cluster; the first is the root

	Blockwise bool // memory is given by block, from a Store; else for whole messages
	Window    int  // blocks that the Store has memory for; 0: what should be enough

	// Wait says how long a member takes to give memory or to accept a block; nil: no time.
	Wait func() time.Duration
}

// Group is a group on a cluster, with all its members.
type Group struct {
	Cluster *Cluster
	Spec    Spec
	Members []*Member // by rank
	Lacking int       // blocks that its members lack of what the group was made to finish

	stream *stream
	posted uint64 // number of the message that is to be handed to Send next
	last   int    // the member that all looks at first
	named  []string
}

// Group makes a group and connects its members. It is ready a little later.
func (c *Cluster) Group(spec Spec) (*Group, error) {
	g := c.prepare(spec, c.newStream())
	return g, g.open(nil)
}

func (c *Cluster) newStream() *stream {
	s := &stream{id: uint64(len(c.streams) + 1), replicas: map[*Node]*replica{}}
	c.streams = append(c.streams, s)
	return s
}

// prepare makes a group whose members have no ends yet.
func (c *Cluster) prepare(spec Spec, s *stream) *Group {
	if spec.Name == "" {
		spec.Name = fmt.Sprint("g", len(c.groups))
	}
	g := &Group{Cluster: c, Spec: spec, stream: s, posted: uint64(len(s.sizes))}
	c.groups = append(c.groups, g)
	for rank, node := range spec.Nodes {
		n := c.Nodes[node]
		g.Members = append(g.Members, &Member{Group: g, Rank: rank, Node: n, replica: s.replica(n, spec.Blockwise)})
	}
	return g
}

// open makes the members' ends, and connects them.
func (g *Group) open(unfinished []rdmc.Unfinished) error {
	for _, m := range g.Members {
		if err := m.open(slices.Clone(unfinished)); err != nil {
			return fmt.Errorf("member %d (%s): %w", m.Rank, m.Node.Name, err)
		}
	}
	return g.connect()
}

func (m *Member) open(unfinished []rdmc.Unfinished) (err error) {
	for i := range unfinished {
		if unfinished[i].Place, err = m.replica.place(m.replica.message(unfinished[i].Message)); err != nil {
			return err
		}
	}
	spec := &m.Group.Spec
	config := spec.Config
	config.Members, config.Self, config.Unfinished = m.Group.names(), m.Rank, unfinished
	config.Ready, config.Incoming, config.Completed = m.ready, m.incoming, m.completed
	config.Failed, config.Closed = m.failed, m.closed
	if spec.Blockwise {
		if m.store, err = newStore(m, m.Group.window(), m.Group.blockSize(), spec.Phantom); err != nil {
			return err
		}
		config.Store = m.store
	}
	m.End, err = rdmc.New(m.Node.Loop, m.Node.domain, config)
	return err
}

// names are those of the members, the same list for all.
func (g *Group) names() []string {
	for _, m := range g.Members[len(g.named):] {
		g.named = append(g.named, m.Node.Name)
	}
	return g.named
}

// connect does what package muster does between processes.
func (g *Group) connect() error {
	description := g.Members[0].End.Description()
	for _, m := range g.Members {
		if err := m.End.Agrees(0, description); err != nil {
			return err
		}
		for _, peer := range m.End.Peers() {
			if err := m.End.Connect(peer, g.Members[peer].End.Addresses(m.Rank)); err != nil {
				return err
			}
		}
		m.Node.do(func() {}) // a turn, in which what was staged goes out
	}
	return nil
}

func (g *Group) blockSize() int {
	if g.Spec.BlockSize == 0 {
		return rdmc.DefaultBlockSize
	}
	return g.Spec.BlockSize
}

// window is how many blocks a Store has memory for: for some patterns, what the documentation of rdmc.Store says is
// enough; members of the others may need all blocks of a message.
func (g *Group) window() int {
	switch {
	case g.Spec.Window > 0:
		return g.Spec.Window
	case g.Spec.Offload || g.Spec.Algorithm > schedule.Chain:
		return manyBlocks
	}
	stripes, credits := g.Spec.Stripes, g.Spec.Credits
	if stripes == 0 {
		stripes = 2
	}
	if credits == 0 {
		credits = stripes
	}
	return stripes*bits.Len(uint(len(g.Members)-1)) + credits + 1
}

const manyBlocks = 80

// wait is how long a member takes for something, by chance.
func (g *Group) wait() time.Duration {
	if g.Spec.Wait == nil {
		return 0
	}
	return g.Spec.Wait()
}

// Send has the root send a message of made up contents: now or, if too many wait, when there is room.
func (g *Group) Send(size uint64) {
	g.stream.sizes = append(g.stream.sizes, size)
	g.Members[0].Node.do(g.sendMore)
}

// sendMore hands over as many messages as the root's group takes.
func (g *Group) sendMore() {
	root := g.Members[0]
	for g.posted < uint64(len(g.stream.sizes)) && root.live() {
		h, err := root.replica.make(rdmc.Message{Number: g.posted, Size: g.stream.sizes[g.posted], BlockSize: g.blockSize()})
		if err != nil {
			root.expect(err)
			return
		}
		message, err := root.End.Send(rdmc.Place{Memory: h.memory}, h.Size)
		if errors.Is(err, rdmc.ErrFull) {
			return
		}
		root.expect(err)
		if message != h.Message {
			root.problem("Send of %+v gave %+v", h.Message, message)
		}
		g.posted++
	}
}

// Done reports whether every message that was sent is complete at every member that runs.
func (g *Group) Done() bool {
	return g.all(func(m *Member) bool { return m.Node.Crashed || m.next >= uint64(len(g.stream.sizes)) })
}

// all reports whether something is true of all members. It is asked after every event, so it looks first at the one of
// which it was not true the last time.
func (g *Group) all(is func(*Member) bool) bool {
	for range g.Members {
		if !is(g.Members[g.last]) {
			return false
		}
		g.last = (g.last + 1) % len(g.Members)
	}
	return true
}

// Failed reports whether the group has failed at every member that runs.
func (g *Group) Failed() bool {
	return g.all(func(m *Member) bool { return m.Node.Crashed || m.Failure != nil })
}

// Ready reports whether every member is connected.
func (g *Group) Ready() bool {
	return g.all(func(m *Member) bool { return m.Ready })
}

// Close has every member that runs leave, and waits until all have.
func (g *Group) Close() error {
	for _, m := range g.Members {
		m.close()
	}
	gone := func() bool {
		for _, m := range g.Members {
			if !m.Closed && !m.Node.Crashed {
				return false
			}
		}
		return true
	}
	return g.Cluster.RunUntil(gone, closeLimit)
}

// closeLimit is more than a goodbye to a peer that does not answer takes.
const closeLimit = 10 * time.Second

// discard frees what is left, whatever state it is in.
func (g *Group) discard() (failed []error) {
	for _, m := range g.Members {
		if m.End != nil {
			m.End.Discard()
		}
		if m.store != nil {
			failed = append(failed, m.store.memory.Close())
		}
	}
	return failed
}

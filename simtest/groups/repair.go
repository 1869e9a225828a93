package groups

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Repair closes what is left of a group that failed, and makes one of the members that run. It finishes the messages that
// were under way, as far as every block of them and of those before is still somewhere, from what the members hold. The
// first of them is its root.
func (g *Group) Repair() (*Group, error) {
	known := make([]map[uint64]schedule.Set, len(g.Members))
	for i, m := range g.Members {
		known[i] = m.holdings()
	}
	if err := g.Close(); err != nil {
		return nil, fmt.Errorf("close group %s: %w", g.Spec.Name, err)
	}
	spec, holders := g.Spec, []map[uint64]schedule.Set(nil)
	spec.Name, spec.Nodes, spec.Racks = g.Spec.Name+"'", nil, nil
	for i, m := range g.Members {
		if m.Node.Crashed {
			continue
		}
		m.checkFrozen()
		spec.Nodes, holders = append(spec.Nodes, g.Spec.Nodes[i]), append(holders, known[i])
		if g.Spec.Racks != nil {
			spec.Racks = append(spec.Racks, g.Spec.Racks[i])
		}
	}
	return g.succeed(spec, holders)
}

// holdings is what the member says that it has of messages that are not complete, and the test of that.
func (m *Member) holdings() map[uint64]schedule.Set {
	if m.Node.Crashed {
		return nil
	}
	sets := map[uint64]schedule.Set{}
	for _, holding := range m.End.Holdings() {
		m.checkMessage(holding.Message)
		h := m.replica.message(holding.Message)
		m.rescue(h, holding)
		for block := range holding.Blocks() {
			if holding.Have.Has(block) && !h.holds(block) {
				m.problem("says that it holds block %d of message %d", block, h.Number)
			}
		}
		sets[h.Number] = holding.Have
	}
	return sets
}

// rescue copies a message of one block, which lies in a buffer of the group's.
func (m *Member) rescue(h *held, holding rdmc.Holding) {
	if m.store != nil || holding.Blocks() > 1 || h.Size == 0 || !holding.Have.Has(0) {
		return
	}
	place, err := m.replica.place(h)
	m.expect(err)
	if place.Memory != holding.Memory {
		copy(place.Memory.Bytes(), holding.Memory.Bytes()[holding.Offset:holding.Offset+h.Size])
	}
}

// succeed makes the group that finishes what holders, by rank, have pieces of.
func (g *Group) succeed(spec Spec, holders []map[uint64]schedule.Set) (*Group, error) {
	heir := g.Cluster.prepare(spec, g.stream)
	first := uint64(len(g.stream.sizes))
	for i, node := range spec.Nodes {
		old := g.member(node)
		first = min(first, old.next)
		heir.Members[i].before = old.next
	}
	var rest []rdmc.Unfinished
	for number := first; number < uint64(len(g.stream.sizes)); number++ {
		u, whole := heir.unfinished(number, holders)
		if !whole {
			break
		}
		rest = append(rest, u)
		for _, have := range u.Have {
			if u.Size > 0 { // nobody can count blocks without bytes
				heir.Lacking += have.Len() - have.Count()
			}
		}
	}
	heir.startAt(first, len(rest))
	return heir, heir.open(rest)
}

func (g *Group) member(node int) *Member {
	for i, n := range g.Spec.Nodes {
		if n == node {
			return g.Members[i]
		}
	}
	return nil
}

// unfinished is what the members hold of a message, and whether that is all of it.
func (g *Group) unfinished(number uint64, holders []map[uint64]schedule.Set) (u rdmc.Unfinished, whole bool) {
	u.Message = rdmc.Message{Number: number, Size: g.stream.sizes[number], BlockSize: g.blockSize()}
	union := schedule.NewSet(u.Blocks())
	for rank, m := range g.Members {
		have := schedule.NewSet(u.Blocks())
		for block := range u.Blocks() {
			known, ok := holders[rank][number]
			if m.before > number || ok && known.Has(block) {
				have.Add(block)
				union.Add(block)
			}
		}
		u.Have = append(u.Have, have)
	}
	return u, union.Count() == u.Blocks()
}

// startAt forgets the messages that cannot be finished. Without any that can, the group begins anew, with number 0.
func (g *Group) startAt(first uint64, unfinished int) {
	for _, err := range g.stream.cut(first + uint64(unfinished)) {
		if !errors.Is(err, sim.ErrCrashed) {
			g.Cluster.expect(err)
		}
	}
	g.posted = uint64(len(g.stream.sizes))
	if unfinished == 0 {
		g.stream = g.Cluster.newStream()
		g.posted, first = 0, 0
	}
	for _, m := range g.Members {
		m.replica, m.next = g.stream.replica(m.Node, g.Spec.Blockwise), first
	}
}

package ripc

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// Join makes a service that receives what is sent to a group. Any number of services, here and elsewhere, may join it.
func (n *Node) Join(ctx context.Context, group string) (*Service, error) {
	if group == "" || printable.Check("name", group, wire.MaxName) != nil {
		return nil, fmt.Errorf("join %q: %w: %w", printable.Clean(group, 2*wire.MaxName), wire.ErrName, ErrArgument)
	}
	return n.register(ctx, &Service{node: n, id: Group(group), name: group})
}

// membersFor is how long the members of a group are remembered: who joins gets messages that much later, at most.
const membersFor = time.Second

// spread sends a message to all processes in which a group has members. It is sent when it was sent to all, and delivered if it
// was to one.
func (r *route) spread(o *operation) {
	o.parts = 1 // this very loop
	seen := make(map[ID]bool)
	if len(r.office.groups[r.to]) > 0 {
		r.sendPart(o, r.office.self(), "")
		seen[r.office.node.id] = true
	}
	for i := range r.members {
		if record := &r.members[i]; !seen[record.Node] {
			seen[record.Node] = true
			r.sendPart(o, r.office.peerOf(record), record.Name)
		}
	}
	if len(seen) == 0 {
		o.partErr = fmt.Errorf("%w: the group has no members", ErrNoService)
	}
	o.partEnded(o.partErr)
}

// sendPart sends it to one process.
func (r *route) sendPart(whole *operation, to *peer, name string) {
	o := &operation{office: whole.office, from: whole.from, to: whole.to, name: name, mayDrop: whole.mayDrop, whole: whole}
	o.Head, o.Items, o.Owner = whole.Head, whole.Items, o
	whole.parts++
	to.send(o)
}

// partEnded hears that a message to one process has ended.
func (o *operation) partEnded(err error) {
	if o.partErr == nil {
		o.partErr = err
	}
	if o.parts--; o.parts > 0 {
		return
	}
	if o.reached {
		o.partErr = nil
	}
	o.finish(o.partErr)
}

// deliverToGroup hands a message to all members that are here. The last of them gives the slot back.
func (f *office) deliverToGroup(l *link.Link, m *wire.Message, s *link.Slot) {
	members := f.groups[m.Head.To]
	if len(members) == 0 {
		f.refuse(l, &m.Head, wire.NotHere)
		s.Release()
		return
	}
	left := len(members)
	for _, member := range members {
		member.take(delivery{slot: s, link: l, at: f.node.loop.Now(), left: &left})
	}
}

// knowsMembers reports whether the members of a group are known, lately enough.
func (r *route) knowsMembers() bool { return r.office.node.loop.Now() < r.until }

// foundMembers notes who the members are.
func (r *route) foundMembers(records []find.Record) {
	r.members, r.until = records, r.office.node.loop.Now().Add(membersFor)
}

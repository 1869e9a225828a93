package ripc

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// office is what a node knows: its services, the processes that it talks to, and where services are. It belongs to the loop.
type office struct {
	node      *Node
	hub       *link.Hub
	services  map[ID]*Service
	reserved  map[ID]bool       // names that are being claimed
	groups    map[ID][]*Service // members that are here
	lines     map[ID]*Line
	handled   map[call]*handling // calls that handlers work on
	routes    map[ID]*route
	peers     map[ID]*peer     // by their node
	places    map[string]*peer // whose node is not known yet, by their address
	message   wire.Message     // taken apart last
	dropped   uint64           // messages
	isLeaving bool             // nobody new is let in
	isClosed  bool
}

func newOffice(n *Node) *office {
	return &office{node: n, services: make(map[ID]*Service), reserved: make(map[ID]bool), groups: make(map[ID][]*Service), lines: make(map[ID]*Line),
		handled: make(map[call]*handling), routes: make(map[ID]*route), peers: make(map[ID]*peer), places: make(map[string]*peer)}
}

// Ready implements link.Handler.
func (f *office) Ready(*link.Link) {}

// Arrived implements link.Handler: it hands a message to its service.
func (f *office) Arrived(l *link.Link, m *wire.Message, s *link.Slot) {
	p := l.Peer.(*peer)
	if m.Head.Type == wire.Present {
		if !p.introduce(m.Head.From, m.Items.All()[0]) {
			f.node.log.Warn("a process presents too many services, or one that it may not have", "process", p.node, "owner", p.owner, "service", m.Head.From)
			l.Close()
		}
		s.Release()
		return
	}
	if line := f.lines[m.Head.To]; line != nil {
		if err := line.arrived(l, m); err != nil {
			f.node.log.Warn("a process speaks on a line that is not its own", "process", p.node, "error", err)
			l.Close()
		}
		s.Release()
		return
	}
	var service *Service
	if m.Head.To.Kind() != wire.Group {
		if service = f.services[m.Head.To]; service == nil || !service.isMeant(m.Head.Epoch) {
			f.decline(l, m, s, wire.NotHere) // in whose name does not matter: who speaks on a line that is gone here is an honest process
			return
		}
	}
	if !p.speaksFor(m.Head.From) {
		f.node.log.Warn("a process sends in the name of somebody else", "process", p.node, "name", m.Head.From)
		l.Close() // section III: partners do not trust each other
		s.Release()
		return
	}
	if service == nil {
		f.deliverToGroup(l, m, s)
		return
	}
	if m.Head.Type == wire.Send && m.Returns.Len()+m.Fills.Len() > 0 {
		f.node.log.Warn("a process sends to a service what is only for lines: returns, or fills", "process", p.node, "service", m.Head.To)
		l.Close()
		s.Release()
		return
	}
	if m.Head.Type == wire.Send && service.onlyCalls {
		f.decline(l, m, s, wire.OnlyCalls)
		return
	}
	d := delivery{slot: s, link: l, at: f.node.loop.Now()}
	if m.Head.Type == wire.Call {
		d.number = m.Head.Number
	}
	service.take(d)
}

// decline refuses a message that no service gets, and gives back what it lends.
func (f *office) decline(l *link.Link, m *wire.Message, s *link.Slot, code wire.Code) {
	f.refuse(l, &m.Head, code)
	if m.Loans.Len() > 0 {
		l.Release(m.Head.Number)
	}
	s.Release()
}

// refuse tells the sender of a message that it was not delivered.
func (f *office) refuse(l *link.Link, h *wire.Head, code wire.Code) {
	o := &link.Outgoing{Owner: nobody{}, Credit: h.Type == wire.Send}
	o.Head = wire.Head{Type: wire.Refusal, Code: code, From: f.node.id, To: h.From, Number: h.Number}
	if err := l.Send(o); err != nil {
		f.node.log.Debug("a refusal was not sent", "error", err)
	}
}

// nobody owns what nobody waits for.
type nobody struct{}

func (nobody) Sent(*link.Outgoing, error)     {}
func (nobody) Returned(*link.Outgoing, error) {}

// Answered implements link.Owner.
func (nobody) Answered(_ *link.Outgoing, s *link.Slot, _ error) {
	if s != nil {
		s.Release()
	}
}

// Undelivered implements link.Handler: whoever sends to that service next hears of it, once. What was said on a line ends the line.
func (f *office) Undelivered(l *link.Link, to ID, why error) {
	if to.Kind() == wire.Random && f.routes[to] == nil { // no service: it would have a route
		f.loseLine(l, to, why)
		return
	}
	r := f.route(to)
	if to.Kind() == wire.Group {
		r.until = 0 // somebody has left
		return
	}
	if r.debt == nil {
		r.debt = &UndeliveredError{Service: to, Why: undelivered(why)}
	}
	r.debt.Count++
	r.forget()
}

// Leaving implements link.Handler: what is new goes elsewhere.
func (f *office) Leaving(l *link.Link) {
	if p := l.Peer.(*peer); p.link == l {
		p.part()
	}
}

// Ended implements link.Handler. Who had something on its way there has been told.
func (f *office) Ended(l *link.Link, why error) {
	p, ok := l.Peer.(*peer)
	if !ok {
		return // it was never used
	}
	f.endLines(l, fmt.Errorf("%w: %w", ErrLost, why))
	f.callersGone(l, why)
	f.node.log.Debug("a link has ended", "process", p.node, "error", link.Detailed(why))
	p.lost(l)
}

// blame says of an error that the node was closed, if it was: who waits for something cannot know that its link has ended with that.
func (f *office) blame(err error) error {
	if err == nil || !f.isClosed || errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", errNodeClosed, err)
}

// close ends everything that somebody could wait for.
func (f *office) close() {
	f.isClosed = true
	for _, s := range f.all() {
		s.end(ErrClosed)
	}
	f.endLines(nil, ErrClosed)
	for _, r := range f.routes {
		for _, o := range r.pending.Drain() {
			o.finish(ErrClosed)
		}
	}
	for _, p := range f.everybody() {
		p.close()
	}
	f.closeLinks()
}

// closeLinks ends what is under way, also on links that are being left. Those that nobody uses yet are closed by whoever makes them.
func (f *office) closeLinks() {
	for l := range f.hub.All() {
		if l.Peer != nil {
			l.Close()
		}
	}
}

// all are the services and the members of groups.
func (f *office) all() (list []*Service) {
	for _, s := range f.services {
		list = append(list, s)
	}
	for _, members := range f.groups {
		list = append(list, members...)
	}
	return list
}

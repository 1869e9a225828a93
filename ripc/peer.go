package ripc

import (
	"slices"
	"time"

	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// peer is another process, or this one. It belongs to the loop.
type peer struct {
	office *office
	node   ID       // nobody: not known yet
	at     []string // where it listens; empty: it came by itself
	link   *link.Link
	back   *link.Link   // the other end, if it is this very process
	left   []*link.Link // that come to their end, and are not used for anything new
	dials  bool         // a goroutine is at it
	queue  fifo.Queue[*operation]
	rights // of the process that it is linked with

	presented  map[ID]bool // services of ours that it has been told of
	introduced map[ID]bool // services of its own that it has told us of
}

// maxIntroduced is how many services one process can present.
const maxIntroduced = 1 << 16

// peerOf returns the process of a record.
func (f *office) peerOf(r *find.Record) *peer {
	if r.Node == f.node.id {
		return f.self()
	}
	if p := f.peers[r.Node]; p != nil && r.Node != (ID{}) {
		p.at = r.At
		return p
	}
	if r.Node == (ID{}) {
		if p := f.places[r.At[0]]; p != nil {
			return p
		}
	}
	p := &peer{office: f, node: r.Node, at: r.At}
	f.know(p)
	return p
}

// know puts a process on the list.
func (f *office) know(p *peer) {
	if p.node != (ID{}) {
		f.peers[p.node] = p
	} else {
		f.places[p.at[0]] = p
	}
}

// drop takes it off again.
func (f *office) drop(p *peer) {
	if f.peers[p.node] == p {
		delete(f.peers, p.node)
	}
	if len(p.at) > 0 && f.places[p.at[0]] == p {
		delete(f.places, p.at[0])
	}
}

// leaveIdle says farewell where nothing has come or gone for so long.
func (f *office) leaveIdle(limit time.Duration) {
	now := f.node.config.Device.Clock().Now()
	for _, p := range f.everybody() {
		if p.link == nil || p.link.IdleFor(now) < limit || p.back != nil && p.back.IdleFor(now) < limit {
			continue
		}
		l := p.link
		p.part()
		l.Leave()
	}
}

func (f *office) everybody() []*peer {
	var all []*peer
	for _, p := range f.peers {
		all = append(all, p)
	}
	for _, p := range f.places {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// self is this process: both ends of its link are here.
func (f *office) self() *peer {
	if p := f.peers[f.node.id]; p != nil && p.link != nil {
		return p
	}
	p := &peer{office: f, node: f.node.id}
	f.know(p)
	there, err := f.hub.NewLink()
	if err == nil {
		p.back, err = f.hub.NewLink()
	}
	if err == nil {
		err = there.Connect(p.back.Address(), p.back.Terms())
	}
	if err == nil {
		err = p.back.Connect(there.Address(), there.Terms())
	}
	if err != nil {
		f.node.log.Error("this process cannot be linked with itself", "error", err)
		return p
	}
	p.identity = f.node.config.own().identity
	p.back.Peer, p.back.Identity = p, p.identity
	p.adopt(there)
	return p
}

// adopt takes a link into use, and sends what has waited for it. On one that was left something may still come from services that the peer
// has told us of there.
func (p *peer) adopt(l *link.Link) {
	l.Peer, l.Identity = p, p.identity
	p.link, p.presented = l, make(map[ID]bool)
	if len(p.left) == 0 {
		p.introduced = make(map[ID]bool)
	}
	for _, o := range p.queue.Drain() {
		p.send(o)
	}
}

// send hands an operation to the link, which is made if there is none.
func (p *peer) send(o *operation) {
	if o.abandoned {
		o.finish(errAbandoned)
		return
	}
	if p.link == nil {
		p.queue.Push(o)
		p.dial()
		return
	}
	if !p.mayHave(o.name) {
		o.forbidden(p)
		return
	}
	if o.mayDrop && !p.link.MaySend(o.to) {
		p.office.dropped++
		o.finish(nil)
		return
	}
	p.present(o.from)
	o.link = p.link
	if err := p.link.Send(&o.Outgoing); err != nil {
		o.failed(err)
	}
}

// present tells whose a service of ours is before the first message that it sends: its name, or the salt that it was drawn with.
func (p *peer) present(s *Service) {
	if s == nil || s.id.Kind() == wire.Group || p.presented[s.id] {
		return
	}
	p.presented[s.id] = true
	proof := []byte(s.name)
	if s.id.Kind() == wire.Random {
		proof = s.salt[:]
	}
	o := &link.Outgoing{Owner: nobody{}, Credit: true, Items: []link.Piece{{Bytes: proof}}}
	o.Head = wire.Head{Type: wire.Present, From: s.id}
	if err := p.link.Send(o); err != nil {
		p.office.node.log.Warn("a service could not be presented", "service", s.name, "error", err)
	}
}

// introduce notes a service of the peer's, if it may have it. That a name belongs to its ID was seen when it came.
func (p *peer) introduce(id ID, proof []byte) bool {
	isOwn := id.Kind() == wire.Named && p.mayHave(string(proof)) ||
		id.Kind() == wire.Random && len(proof) == len(salt{}) && serviceID(p.node, salt(proof)) == id
	if !isOwn || len(p.introduced) >= maxIntroduced && !p.introduced[id] {
		return false
	}
	p.introduced[id] = true
	return true
}

// speaksFor reports whether a message of the peer's may come from somebody.
func (p *peer) speaksFor(from ID) bool {
	return p.introduced[from] || from == p.node
}

// part stops using the link for anything new.
func (p *peer) part() {
	p.left = append(p.left, p.link)
	p.link = nil
	p.forgetRoutes()
}

func (p *peer) forgetRoutes() {
	for _, r := range p.office.routes {
		if r.peer == p {
			r.forget()
		}
	}
}

// lost hears that its link has ended. Its services are looked for anew.
func (p *peer) lost(l *link.Link) {
	if at := slices.Index(p.left, l); at >= 0 {
		p.left = slices.Delete(p.left, at, at+1)
	} else if l == p.link || l == p.back {
		p.lostLink(l)
	}
	p.dropUnused()
}

// dropUnused takes the process off the list if nothing is left of it, and nobody is about to link it.
func (p *peer) dropUnused() {
	if p.link == nil && len(p.left) == 0 && p.queue.Empty() && !p.dials {
		p.office.drop(p)
	}
}

func (p *peer) lostLink(l *link.Link) {
	other := p.back
	if l == p.back {
		other = p.link
	}
	p.link, p.back = nil, nil
	p.forgetRoutes()
	if other != nil {
		other.Close()
	}
}

// fail ends what waits for a link that could not be made.
func (p *peer) fail(err error) {
	p.forgetRoutes()
	for _, o := range p.queue.Drain() {
		o.unreached(err)
	}
	p.office.drop(p)
}

// close ends what waits for a link.
func (p *peer) close() {
	for _, o := range p.queue.Drain() {
		o.finish(ErrClosed)
	}
}

package ripc

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// departure is that a service has moved away from wherever it was: what is under way to an earlier incarnation may never be answered.
type departure struct {
	service ID
	epoch   uint64 // of the incarnation that has it now
}

// errMoved is why a message is not waited for any more.
var errMoved = errors.New("the service has moved to another process")

// errSilent is the same of one that was sent, and may not be sent twice.
var errSilent = fmt.Errorf("%w: %w, and the one that had it is silent", ErrLost, errMoved)

// moved hears of an incarnation of the service. What is under way to those before follows it, or is answered, or fails.
func (r *route) moved(now *find.Record) {
	before := r.newest
	r.newest = now.Epoch
	if before == 0 || now.Epoch <= before { // nothing was sent before the first was found
		return
	}
	d := departure{r.to, now.Epoch}
	for _, p := range r.office.everybody() {
		p.recall(d)
	}
}

// concerns reports whether somebody waits for what was meant for an earlier incarnation. One without an epoch is here, or in a table.
func (d departure) concerns(o *operation) bool {
	return o.to == d.service && o.Head.Epoch > 0 && o.Head.Epoch < d.epoch && !o.abandoned && !o.done.IsSet()
}

// underWay are the messages on a link that it concerns.
func (d departure) underWay(l *link.Link) (list []*operation) {
	for _, out := range l.UnderWay(d.service) {
		if o, ok := out.Owner.(*operation); ok && d.concerns(o) {
			list = append(list, o)
		}
	}
	return list
}

// recall has everything follow a service that may be delivered once more, or was not sent. The rest waits for the peer, if that lives.
func (p *peer) recall(d departure) {
	for _, o := range p.queue.Drain() {
		if d.concerns(o) {
			o.unreached(errMoved)
		} else {
			p.queue.Push(o)
		}
	}
	if p.link == nil { // what is on links that are being left is answered
		return
	}
	left := false
	for _, o := range d.underWay(p.link) {
		left = !o.follow() || left
	}
	if left {
		p.listen(p.link, d)
	}
}

// follow sends it to where the service is now, if it may, and reports whether it does.
func (o *operation) follow() bool {
	switch {
	case o.link.Cancel(&o.Outgoing):
		o.failed(fmt.Errorf("%w: %w", link.ErrNotSent, errMoved))
		return true
	case o.isIdempotent && !o.lends() && o.link.Disown(&o.Outgoing):
		o.failed(errSilent)
		return true
	}
	return false
}

// movedGrace is how long a process may be silent that a service has moved away from, before it is taken for stopped.
const movedGrace = 2 * time.Second

// listen finds out whether the peer lives, who then answers what it was sent: it is called, by its own name, which it always refuses.
func (p *peer) listen(l *link.Link, d departure) {
	o := &link.Outgoing{Owner: nobody{}}
	o.Head = wire.Head{Type: wire.Call, From: p.office.node.id, To: p.node}
	_ = l.Send(o) // if it cannot be, the peer may still be heard of otherwise
	n, before := p.office.node, l.Arrivals()
	n.runs.Go(func() {
		if pause.For(n.ctx, movedGrace) == nil {
			_ = n.on(func() { p.heardSince(before, l, d) }) // after Close nobody waits
		}
	})
}

// heardSince gives up what a peer that is silent has not answered. One that has said farewell lives, and so does one that says anything.
func (p *peer) heardSince(before uint64, l *link.Link, d departure) {
	list := d.underWay(l)
	switch {
	case len(list) == 0 || l.HasEnded() || l.IsLeaving():
	case l.Arrivals() != before:
		p.listen(l, d)
	default:
		for _, o := range list {
			o.leaveBehind()
		}
	}
}

// leaveBehind gives up what was sent to a process that is silent. What it lends is taken back first.
func (o *operation) leaveBehind() {
	if o.lends() && !o.isBack {
		o.sentErr = errSilent
		o.link.TakeBack(&o.Outgoing)
	} else if o.link.Disown(&o.Outgoing) {
		o.failed(errSilent)
	}
}

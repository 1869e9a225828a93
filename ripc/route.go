package ripc

import (
	"errors"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// route is where a service is, as far as this node knows.
type route struct {
	office  *office
	to      ID
	peer    *peer         // nil: it is being looked for, or has to be
	record  find.Record   // of the service
	members []find.Record // of a group
	until   clock.Time    // when they are looked for anew
	newest  uint64        // the epoch that was heard of last
	seeking bool
	doubted bool                   // it has moved since it is being looked for: what is found may be what was
	was     bool                   // it was found before, and has not been given up since
	debt    *UndeliveredError      // messages were not delivered, and their senders did not wait to hear so
	pending fifo.Queue[*operation] // wait for it to be found
}

// maxRoutes bounds how many services are remembered: those that nobody waits for are forgotten first.
const maxRoutes = 1 << 16

func (f *office) route(to ID) *route {
	r := f.routes[to]
	if r == nil {
		f.makeRoom()
		r = &route{office: f, to: to}
		f.routes[to] = r
	}
	return r
}

func (f *office) makeRoom() {
	for to, r := range f.routes {
		if len(f.routes) < maxRoutes {
			return
		}
		if r.pending.Empty() && r.debt == nil {
			delete(f.routes, to)
		}
	}
}

// begin sends an operation to its service, as soon as it is known where that is.
func (f *office) begin(o *operation) {
	switch {
	case f.isClosed:
		o.finish(ErrClosed)
		return
	case o.abandoned:
		o.finish(errAbandoned)
		return
	}
	r := f.route(o.to)
	if r.debt != nil && o.Head.Type == wire.Send && !o.isIdempotent {
		err := r.debt
		r.debt = nil
		o.finish(err)
		return
	}
	if o.to.Kind() == wire.Group {
		r.beginGroup(o)
		return
	}
	if f.services[o.to] != nil { // the shortest way
		r.peer, r.record, r.was = f.self(), find.Record{Service: o.to}, true
	}
	if r.peer == nil {
		r.pending.Push(o)
		r.seek()
		return
	}
	o.Head.Epoch, o.name = r.record.Epoch, r.record.Name
	r.peer.send(o)
}

// beginGroup sends to all members of a group, as soon as they are known.
func (r *route) beginGroup(o *operation) {
	switch {
	case r.knowsMembers() || r.office.node.cache == nil:
		r.spread(o)
	default:
		r.pending.Push(o)
		r.seek()
	}
}

// seek asks the resolver, in a goroutine of the node's.
func (r *route) seek() {
	n := r.office.node
	if n.cache == nil {
		r.found(nil, errNoResolver)
		return
	}
	if r.seeking {
		return
	}
	r.seeking = true
	n.runs.Go(func() {
		records, err := n.cache.Find(n.ctx, r.to)
		_ = n.on(func() { r.found(records, err) }) // after Close nobody waits
	})
}

// found sends what has waited, or says why not.
func (r *route) found(records []find.Record, err error) {
	wasDoubted := r.doubted
	r.seeking, r.doubted = false, false
	if err == nil && len(records) == 0 {
		err = find.ErrNotFound
	}
	if err == nil && wasDoubted && records[0].Epoch < r.newest {
		r.seek()
		return
	}
	if err != nil {
		if errors.Is(err, find.ErrNotFound) {
			err = &absentError{err}
		}
		for _, o := range r.pending.Drain() {
			r.absent(o, err)
		}
		return
	}
	if r.to.Kind() == wire.Group {
		r.foundMembers(records)
	} else {
		r.record, r.was = records[0], true
		r.peer = r.office.peerOf(&r.record)
		r.moved(&r.record)
	}
	for _, o := range r.pending.Drain() {
		r.office.begin(o)
	}
}

// heard is told by the resolver of a service that has changed. What is sent from now on goes to its new process, and what is under way
// follows it: the old one may be stopped, and refuse nothing.
func (f *office) heard(now *find.Record) {
	r := f.routes[now.Service]
	switch {
	case r == nil:
	case now.Service.Kind() == wire.Group:
		r.until = 0
	case now.Epoch > r.record.Epoch:
		r.forget()
		r.doubted = r.seeking
		r.moved(now)
	}
}

// absent hears that nobody has the service. One that was there before may be on its way to another process.
func (r *route) absent(o *operation, err error) {
	if !errors.Is(err, find.ErrNotFound) || !r.was {
		o.finish(err)
		return
	}
	r.was = o.tries < maxTries-1
	o.tryAgain(err)
}

// forget has the service looked for anew: it is not where it was thought to be.
func (r *route) forget() {
	if r.peer == nil {
		return
	}
	r.peer = nil
	if n := r.office.node; n.cache != nil {
		n.cache.Forget(r.to, r.record.Epoch)
	}
}

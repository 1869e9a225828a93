package ripc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// Service is a name that this process has: it receives what is sent to it, and sends in its name. Its methods may be called from
// any goroutine.
type Service struct {
	node   *Node
	id     ID
	name   string     // empty: it was drawn
	salt   salt       // with which
	claim  find.Claim // nil: nobody else can find it
	handle leak.Handle

	// What follows belongs to the loop.
	epoch     uint64
	arrived   fifo.Queue[delivery]
	receivers fifo.Queue[*receiver]
	onlyCalls bool  // what else is sent is refused
	isLeaving bool  // what comes now is refused
	why       error // it has ended
}

// delivery is a message that has arrived.
type delivery struct {
	slot   *link.Slot
	link   *link.Link
	number uint64     // of a call; 0: it is none
	at     clock.Time // when it came: what it lends has a time of its own, whenever it is received
	left   *int       // how many have not released it; nil: it is for one alone
}

func (d *delivery) call() call { return call{d.link, d.number} }

// release gives it back, if nobody else has it.
func (d *delivery) release() {
	if d.left != nil {
		if *d.left--; *d.left > 0 {
			return
		}
	}
	d.slot.Release()
}

// receiver is somebody who waits for a message.
type receiver struct {
	handling *handling // of what it gets; nil: it is no handler's
	got      delivery
	err      error
	done     loop.Event
}

// Register makes a service known under a name, of 1 to 255 bytes of printable text. If another process has it, that is
// find.ErrTaken.
func (n *Node) Register(ctx context.Context, name string) (*Service, error) {
	if name == "" || printable.Check("name", name, wire.MaxName) != nil {
		return nil, fmt.Errorf("register %q: %w: %w", printable.Clean(name, 2*wire.MaxName), wire.ErrName, ErrArgument)
	}
	return n.register(ctx, &Service{node: n, id: Name(name), name: name})
}

// RegisterRandom makes a service without a name: who is told its ID can reach it.
func (n *Node) RegisterRandom(ctx context.Context) (*Service, error) {
	s := &Service{node: n, salt: newSalt()}
	s.id = serviceID(n.id, s.salt)
	return n.register(ctx, s)
}

func (n *Node) register(ctx context.Context, s *Service) (*Service, error) {
	if own := n.config.own(); !own.mayHave(s.name) {
		return nil, fmt.Errorf("register %q: the certificate of %s does not list it: %w", s.name, own.owner, ErrForbidden)
	}
	if err := n.reserve(s); err != nil {
		return nil, err
	}
	defer func() { _ = n.on(func() { delete(n.office.reserved, s.id) }) }() // after Close nobody asks
	if n.config.Resolver != nil {
		claim, err := n.config.Resolver.Claim(ctx, find.Record{Service: s.id, Name: s.name, Node: n.id, At: n.at})
		if taken := (*find.TakenError)(nil); errors.As(err, &taken) { // it names the service itself
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("register %q: %w", s.name, err)
		}
		s.claim, s.epoch = claim, claim.Record().Epoch
	}
	var err error
	if failed := n.on(func() { err = n.office.add(s) }); failed != nil || err != nil {
		return nil, errors.Join(failed, err, s.withdraw(ctx))
	}
	s.handle = leak.Opened("ripc.Service")
	if s.claim != nil {
		n.runs.Go(s.runWatch)
	}
	return s, nil
}

// reserve keeps a name for a service while it is claimed: whoever claims it a second time, and has to withdraw that, would take it from
// the first.
func (n *Node) reserve(s *Service) (err error) {
	failed := n.on(func() {
		f := n.office
		if f.services[s.id] != nil || f.reserved[s.id] {
			err = fmt.Errorf("register %q: this process has it: %w", s.name, find.ErrTaken)
		} else if s.id.Kind() != wire.Group { // which may have many members here
			f.reserved[s.id] = true
		}
	})
	if failed != nil {
		return fmt.Errorf("register %q: %w", s.name, failed)
	}
	return err
}

func (f *office) add(s *Service) error {
	if f.isClosed {
		return fmt.Errorf("register %q: the node is %w", s.name, ErrClosed)
	}
	if s.id.Kind() == wire.Group {
		f.groups[s.id] = append(f.groups[s.id], s)
	} else {
		f.services[s.id] = s
	}
	return nil
}

// runWatch ends the service when its claim has ended: another process has it now. The node waits for it.
func (s *Service) runWatch() {
	select {
	case <-s.claim.Done():
		if errors.Is(s.claim.Err(), find.ErrWithdrawn) {
			return // whoever has done that ends it
		}
		_ = s.node.on(func() { s.end(s.claim.Err()) }) // after Close it has ended
	case <-s.node.ctx.Done():
	}
}

func (s *Service) withdraw(ctx context.Context) error {
	if s.claim == nil {
		return nil
	}
	return s.claim.Withdraw(ctx)
}

// ID is what others reach the service by.
func (s *Service) ID() ID { return s.id }

// Name is its name, or empty if it was drawn.
func (s *Service) Name() string { return s.name }

// TakeOnlyCalls has what else is sent to the service be refused from now on: who does not know that nobody would look at it hears so
// (ErrRefused), at once or by an UndeliveredError.
func (s *Service) TakeOnlyCalls() error {
	if err := s.node.on(func() { s.onlyCalls = true }); err != nil {
		return fmt.Errorf("take only calls to %s: %w", title(s.id), err)
	}
	return nil
}

// Close gives the service up. What has arrived and was not received is refused.
func (s *Service) Close() error {
	failed := s.withdraw(s.node.ctx)
	if err := s.node.on(func() { s.end(ErrClosed) }); !errors.Is(err, ErrClosed) {
		failed = errors.Join(failed, err)
	}
	return failed
}

func (s *Service) hasEnded(why error) error { return fmt.Errorf("%s has ended: %w", title(s.id), why) }

// end lets nobody wait for it any more. It belongs to the loop.
func (s *Service) end(why error) {
	f := s.node.office
	if s.why != nil {
		return
	}
	s.why = why
	f.remove(s)
	for _, r := range s.receivers.Drain() {
		r.err = s.hasEnded(why)
		r.done.Set()
	}
	for _, d := range s.arrived.Drain() {
		f.turnAway(d)
	}
	s.handle.Closed()
}

func (f *office) remove(s *Service) {
	if f.services[s.id] == s {
		delete(f.services, s.id)
	}
	if members := slices.DeleteFunc(f.groups[s.id], func(other *Service) bool { return other == s }); len(members) > 0 {
		f.groups[s.id] = members
	} else {
		delete(f.groups, s.id)
	}
}

// turnAway refuses a message that was taken in, but will not be received.
func (f *office) turnAway(d delivery) {
	if m := &f.message; m.Take(d.slot.Bytes()) == nil {
		if m.Head.Type == wire.Call { // who has sent anything else was told that it was delivered
			f.refuse(d.link, &m.Head, wire.Moved)
		}
		if m.Loans.Len() > 0 {
			d.link.Release(m.Head.Number)
		}
	}
	d.release()
}

// isMeant reports whether a message is for this incarnation of the service, and whether that may have it: a process that was
// stopped, and goes on, must first hear whether the service is still its own.
func (s *Service) isMeant(epoch uint64) bool {
	return !s.isLeaving && (epoch == 0 || epoch == s.epoch) && s.isSure()
}

// isSure reports whether the service is surely this process's own now.
func (s *Service) isSure() bool {
	if s.claim == nil {
		return true
	}
	until := s.claim.ValidUntil()
	return until == clock.Never || clock.Real.Now() < until
}

// sureEvery is how often a receiver looks whether a claim has been renewed that was late.
const sureEvery = time.Millisecond

// secure waits until it is known whether the service is still this process's own, which may have been stopped since the message
// was taken in: then another process may have the service. A message that is not handed out goes back to where it was.
func (s *Service) secure(ctx context.Context, d delivery) error {
	for !s.isSure() {
		err := s.claim.Err()
		switch {
		case errors.Is(err, find.ErrWithdrawn): // by this process itself, which still handles what it has taken in
			return nil
		case err != nil:
			err = s.hasEnded(err)
		case s.node.ctx.Err() != nil:
			err = errNodeClosed
		default:
			err = pause.For(ctx, sureEvery)
		}
		if err != nil {
			return orElse(s.node.on(func() { s.putBack(d) }), err)
		}
	}
	return nil
}

// putBack makes a message the next one again, or refuses it if the service has ended.
func (s *Service) putBack(d delivery) {
	if s.why != nil {
		s.node.office.turnAway(d)
		return
	}
	later := s.arrived.Drain()
	s.take(d)
	for _, other := range later {
		s.take(other)
	}
}

// take gives a message to whoever waits, or keeps it. It belongs to the loop.
func (s *Service) take(d delivery) {
	if s.receivers.Empty() {
		s.arrived.Push(d)
		return
	}
	s.hand(s.receivers.Pop(), d)
}

// hand gives a message to one who waits. A call is noted as handled before its caller can give it up.
func (s *Service) hand(r *receiver, d delivery) {
	r.got = d
	if r.handling != nil && d.number != 0 {
		s.node.office.beginHandling(r.handling, d.call())
	}
	r.done.Set()
}

// Receive waits for the next message. It must be released.
func (s *Service) Receive(ctx context.Context) (*Message, error) { return s.receive(ctx, &receiver{}) }

func (s *Service) receive(ctx context.Context, r *receiver) (*Message, error) {
	if err := s.node.on(func() { s.await(r) }); err != nil {
		return nil, err
	}
	if err := s.node.await(ctx, &r.done); err != nil {
		if err := s.stopWaiting(r, err); err != nil {
			return nil, err
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if err := s.secure(ctx, r.got); err != nil {
		return nil, err
	}
	return s.node.newMessage(s, r.got)
}

// await has r get the next message.
func (s *Service) await(r *receiver) {
	switch {
	case s.why != nil:
		r.err = s.hasEnded(s.why)
		r.done.Set()
	case s.arrived.Empty():
		s.receivers.Push(r)
	default:
		s.hand(r, s.arrived.Pop())
	}
}

// stopWaiting takes r off the list. If it has got a message meanwhile, that counts.
func (s *Service) stopWaiting(r *receiver, why error) error {
	failed := s.node.on(func() {
		if r.done.IsSet() {
			why = nil
		} else {
			s.receivers.Remove(func(other *receiver) bool { return other == r })
		}
	})
	if failed != nil {
		return failed
	}
	return why
}

// Messages are all messages to come, until ctx ends or the service does: that is the last error. Each has to be released.
func (s *Service) Messages(ctx context.Context) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		for {
			m, err := s.Receive(ctx)
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// Send sends a short message. It returns when the bytes are the program's again; a slow receiver makes it wait.
func (s *Service) Send(ctx context.Context, to ID, items ...[]byte) error {
	return s.node.send(ctx, s, &Request{To: to, Items: items})
}

// Call sends a short message and waits for the answer, which must be released.
func (s *Service) Call(ctx context.Context, to ID, items ...[]byte) (*Message, error) {
	return s.node.call(ctx, s, &Request{To: to, Items: items})
}

// Do sends a request in full and waits for the answer, which must be released. What was lent is the program's again then.
func (s *Service) Do(ctx context.Context, r Request) (*Message, error) {
	return s.node.call(ctx, s, &r)
}

// Post sends a request in full that nobody answers, and waits until what it lends is the program's again.
func (s *Service) Post(ctx context.Context, r Request) error { return s.node.send(ctx, s, &r) }

// Send is Service.Send, from no service.
func (n *Node) Send(ctx context.Context, to ID, items ...[]byte) error {
	return n.send(ctx, nil, &Request{To: to, Items: items})
}

// Call is Service.Call, from no service.
func (n *Node) Call(ctx context.Context, to ID, items ...[]byte) (*Message, error) {
	return n.call(ctx, nil, &Request{To: to, Items: items})
}

// Post is Service.Post, from no service.
func (n *Node) Post(ctx context.Context, r Request) error { return n.send(ctx, nil, &r) }

// Do is Service.Do, from no service.
func (n *Node) Do(ctx context.Context, r Request) (*Message, error) { return n.call(ctx, nil, &r) }

func (n *Node) send(ctx context.Context, from *Service, r *Request) error {
	err := n.check(r)
	switch {
	case err != nil:
	case r.To.Kind() == wire.Group && len(r.Lend) > 0:
		err = fmt.Errorf("only short messages go to groups, without Request.Lend: %w", ErrArgument)
	case len(r.Return) > 0:
		err = fmt.Errorf("Request.Return is for calls: nobody answers this: %w", ErrArgument)
	default:
		err = n.perform(ctx, n.newOperation(wire.Send, from, r))
	}
	if err != nil {
		return about("send to", r.To, err)
	}
	return nil
}

func (n *Node) call(ctx context.Context, from *Service, r *Request) (*Message, error) {
	m, err := n.callFor(ctx, from, r)
	if err != nil {
		return nil, about("call", r.To, err)
	}
	if err := failure(m.wire); err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}

// callFor returns the answer to a call, whatever that says.
func (n *Node) callFor(ctx context.Context, from *Service, r *Request) (*Message, error) {
	if err := n.checkCall(r); err != nil {
		return nil, err
	}
	o := n.newOperation(wire.Call, from, r)
	if err := n.perform(ctx, o); err != nil {
		return nil, err
	}
	return n.newMessage(from, delivery{slot: o.slot, link: o.link, at: clock.Real.Now()})
}

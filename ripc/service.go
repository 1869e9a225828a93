package ripc

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/internal/leak"
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
	claim  find.Claim // nil: nobody else can find it
	handle leak.Handle

	// What follows belongs to the loop.
	epoch     uint64
	arrived   fifo.Queue[delivery]
	receivers fifo.Queue[*receiver]
	why       error // it has ended
}

// delivery is a message that has arrived.
type delivery struct {
	slot *link.Slot
	link *link.Link
}

// receiver is somebody who waits for a message.
type receiver struct {
	got  delivery
	err  error
	done loop.Event
}

// Register makes a service known under a name, of 1 to 255 bytes of printable text. If another process has it, that is
// find.ErrTaken.
func (n *Node) Register(ctx context.Context, name string) (*Service, error) {
	if name == "" || printable.Check("name", name, wire.MaxName) != nil {
		return nil, fmt.Errorf("register %q: %w: %w", printable.Clean(name, 2*wire.MaxName), wire.ErrName, ErrArgument)
	}
	return n.register(ctx, Name(name), name)
}

// RegisterRandom makes a service without a name: who is told its ID can reach it.
func (n *Node) RegisterRandom(ctx context.Context) (*Service, error) {
	return n.register(ctx, drawID(), "")
}

func (n *Node) register(ctx context.Context, id ID, name string) (*Service, error) {
	s := &Service{node: n, id: id, name: name}
	if n.config.Resolver != nil {
		claim, err := n.config.Resolver.Claim(ctx, find.Record{Service: id, Name: name, Node: n.id, At: n.at})
		if err != nil {
			return nil, fmt.Errorf("register %q: %w", name, err)
		}
		s.claim, s.epoch = claim, claim.Record().Epoch
	}
	var err error
	if failed := n.shared.Do(func() { err = n.office.add(s) }); failed != nil || err != nil {
		return nil, errors.Join(failed, err, s.withdraw(ctx))
	}
	s.handle = leak.Opened("ripc.Service")
	if s.claim != nil {
		n.runs.Go(s.runWatch)
	}
	return s, nil
}

func (f *office) add(s *Service) error {
	switch {
	case f.isClosed:
		return fmt.Errorf("register %q: the node is %w", s.name, ErrClosed)
	case f.services[s.id] != nil:
		return fmt.Errorf("register %q: this process has it: %w", s.name, find.ErrTaken)
	}
	f.services[s.id] = s
	return nil
}

// runWatch ends the service when its claim has ended: another process has it now. The node waits for it.
func (s *Service) runWatch() {
	select {
	case <-s.claim.Done():
		why := s.claim.Err()
		if errors.Is(why, find.ErrWithdrawn) { // by Close, which is about to say so
			why = ErrClosed
		}
		_ = s.node.shared.Do(func() { s.end(why) }) // after Close it has ended
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

// Close gives the service up. What has arrived and was not received is refused.
func (s *Service) Close() error {
	failed := s.withdraw(s.node.ctx)
	if err := s.node.shared.Do(func() { s.end(ErrClosed) }); !errors.Is(err, loop.ErrClosed) {
		failed = errors.Join(failed, err)
	}
	return failed
}

// end lets nobody wait for it any more. It belongs to the loop.
func (s *Service) end(why error) {
	f := s.node.office
	if s.why != nil {
		return
	}
	s.why = why
	if f.services[s.id] == s {
		delete(f.services, s.id)
	}
	for _, r := range s.receivers.Drain() {
		r.err = fmt.Errorf("service %q has ended: %w", s.name, why)
		r.done.Set()
	}
	for _, d := range s.arrived.Drain() {
		f.turnAway(d)
	}
	s.handle.Closed()
}

// turnAway refuses a message that was taken in, but will not be received.
func (f *office) turnAway(d delivery) {
	if m := &f.message; m.Take(d.slot.Bytes()) == nil {
		f.refuse(d.link, &m.Head, wire.Moved)
		if m.Loans.Len() > 0 {
			d.link.Release(m.Head.Number)
		}
	}
	d.slot.Release()
}

// isMeant reports whether a message is for this incarnation of the service, and whether that may have it: a process that was
// stopped, and goes on, must first hear whether the service is still its own.
func (s *Service) isMeant(epoch uint64) bool {
	if epoch != 0 && epoch != s.epoch {
		return false
	}
	return s.claim == nil || s.claim.ValidUntil() == clock.Never || clock.Real.Now() < s.claim.ValidUntil()
}

// take gives a message to whoever waits, or keeps it. It belongs to the loop.
func (s *Service) take(slot *link.Slot, l *link.Link) {
	if s.receivers.Empty() {
		s.arrived.Push(delivery{slot, l})
		return
	}
	r := s.receivers.Pop()
	r.got = delivery{slot, l}
	r.done.Set()
}

// Receive waits for the next message. It must be released.
func (s *Service) Receive(ctx context.Context) (*Message, error) {
	r := &receiver{}
	if err := s.node.do(func() { s.await(r) }); err != nil {
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
	return s.node.newMessage(s, r.got)
}

// await has r get the next message.
func (s *Service) await(r *receiver) {
	switch {
	case s.why != nil:
		r.err = fmt.Errorf("service %q has ended: %w", s.name, s.why)
		r.done.Set()
	case s.arrived.Empty():
		s.receivers.Push(r)
	default:
		r.got = s.arrived.Pop()
		r.done.Set()
	}
}

// stopWaiting takes r off the list. If it has got a message meanwhile, that counts.
func (s *Service) stopWaiting(r *receiver, why error) error {
	failed := s.node.do(func() {
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

// Do is Service.Do, from no service.
func (n *Node) Do(ctx context.Context, r Request) (*Message, error) { return n.call(ctx, nil, &r) }

func (n *Node) send(ctx context.Context, from *Service, r *Request) error {
	if len(r.Return) > 0 {
		return fmt.Errorf("send: only a call is answered, and can have returns: %w", ErrArgument)
	}
	return n.perform(ctx, n.newOperation(wire.Send, from, r))
}

func (n *Node) call(ctx context.Context, from *Service, r *Request) (*Message, error) {
	o := n.newOperation(wire.Call, from, r)
	if err := n.perform(ctx, o); err != nil {
		return nil, err
	}
	m, err := n.newMessage(from, delivery{o.slot, o.link})
	if err != nil {
		return nil, err
	}
	return m, failure(&m.wire)
}

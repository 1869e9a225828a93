package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// Blocking offers verbs that wait, for programs that are no state machines. Waiting drives the loop in the calling
// goroutine. From inside a Step, or while another goroutine runs the loop, every call fails with ErrBusy; a missing
// argument is ErrArgument, and what the verb itself refuses comes back as it is. An operation that ended badly is an
// *verbs.OpError.
//
// When ctx ends first the call returns its error, but the operation goes on: its memory stays in use until it ends or
// the queue pair is reset or closed, and a Receive that was given up still takes the next message. Who may have to wait
// again uses Start and Wait: a Pending can be waited for as often as it takes. An operation on a queue pair that is
// closed meanwhile never ends.
//
// In a simulator waiting lets virtual time pass. A deadline of ctx is real time all the same: a simulation that is to
// repeat sets timers instead.
type Blocking struct {
	port    Port
	last    uint64
	waiting []*Pending
}

// Pending is an operation that was started and not yet waited for.
type Pending struct {
	value  uint64
	done   bool
	result verbs.Completion
}

// NewBlocking makes blocking verbs on a loop. It fails with ErrFull if the loop has no place for another machine, and
// with ErrBusy if the loop is being run.
func NewBlocking(l *Loop) (*Blocking, error) {
	if l == nil {
		return nil, fmt.Errorf("new blocking verbs: the loop is nil: %w", ErrArgument)
	}
	if err := l.acquire("new blocking verbs"); err != nil {
		return nil, err
	}
	defer l.release()
	b := &Blocking{}
	port, err := l.Add(b)
	b.port = port
	return b, err
}

// Step implements Machine.
func (b *Blocking) Step(c *verbs.Completion) {
	for i, p := range b.waiting {
		if p.value == uint64(c.Tag) {
			p.done, p.result = true, *c
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			return
		}
	}
}

// Start begins an operation: start posts it with the tag it is given. Wait waits for its end.
func (b *Blocking) Start(start func(tag verbs.Tag) error) (*Pending, error) {
	if start == nil {
		return nil, fmt.Errorf("start an operation: the function is nil: %w", ErrArgument)
	}
	if err := b.port.loop.acquire("start an operation"); err != nil {
		return nil, err
	}
	defer b.port.loop.release()
	b.last++
	p := &Pending{value: b.last & valueMask}
	if err := start(b.port.Tag(p.value)); err != nil {
		return nil, err
	}
	b.waiting = append(b.waiting, p)
	return p, b.port.loop.queue.Flush()
}

// Wait waits until p has ended. The error is p's own, as from verbs.CompletionError, or ctx's.
func (b *Blocking) Wait(ctx context.Context, p *Pending) (verbs.Completion, error) {
	if p == nil || ctx == nil {
		return verbs.Completion{}, fmt.Errorf("wait: the operation or the context is nil: %w", ErrArgument)
	}
	l := b.port.loop
	if err := l.acquire("wait"); err != nil {
		return verbs.Completion{}, err
	}
	defer l.release()
	if err := l.inline(ctx, func() bool { return p.done }); err != nil {
		return verbs.Completion{}, err
	}
	if !p.done {
		return verbs.Completion{}, gaveUp(ctx, "wait for an operation")
	}
	return p.result, verbs.CompletionError(&p.result)
}

// Do starts an operation and waits for its end. If ctx is done already it starts nothing.
func (b *Blocking) Do(ctx context.Context, start func(tag verbs.Tag) error) (verbs.Completion, error) {
	if ctx == nil {
		return verbs.Completion{}, fmt.Errorf("start an operation: the context is nil: %w", ErrArgument)
	}
	if ctx.Err() != nil {
		return verbs.Completion{}, gaveUp(ctx, "start an operation")
	}
	p, err := b.Start(start)
	if err != nil {
		return verbs.Completion{}, err
	}
	return b.Wait(ctx, p)
}

// gaveUp is the error of a context that ended: its own, and its cause if that says more.
func gaveUp(ctx context.Context, what string) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%s: %w", what, cause)
	}
	return fmt.Errorf("%s: %w: %w", what, ctx.Err(), cause)
}

func (b *Blocking) do(ctx context.Context, start func(tag verbs.Tag) error) error {
	_, err := b.Do(ctx, start)
	return err
}

// Connect connects q to peer, which must connect too, from another goroutine or by Start.
func (b *Blocking) Connect(ctx context.Context, q *verbs.QueuePair, peer verbs.Address) error {
	return b.do(ctx, func(tag verbs.Tag) error { return q.Connect(tag, peer) })
}

// Reset takes q back to New.
func (b *Blocking) Reset(ctx context.Context, q *verbs.QueuePair) error {
	return b.do(ctx, q.Reset)
}

// SetAccess changes what the peer may do through q. When it returns nil, nothing that only the old access allowed can
// land any more.
func (b *Blocking) SetAccess(ctx context.Context, q *verbs.QueuePair, access verbs.Access) error {
	return b.do(ctx, func(tag verbs.Tag) error { return q.SetAccess(tag, access) })
}

// Send sends from to the peer.
func (b *Blocking) Send(ctx context.Context, q *verbs.QueuePair, from verbs.Span) error {
	return b.do(ctx, func(tag verbs.Tag) error { return q.Send(tag, from, 0) })
}

// Receive waits for a message in into, and says how long it was.
func (b *Blocking) Receive(ctx context.Context, q *verbs.QueuePair, into verbs.Span) (int, error) {
	c, err := b.Do(ctx, func(tag verbs.Tag) error { return q.Receive(tag, into) })
	return int(c.Bytes), err
}

// Write puts from at to. When it returns nil the bytes are in the peer's memory.
func (b *Blocking) Write(ctx context.Context, q *verbs.QueuePair, from verbs.Span, to verbs.RemoteSpan) error {
	return b.do(ctx, func(tag verbs.Tag) error { return q.Write(tag, from, to, 0) })
}

// Read fetches from into into.
func (b *Blocking) Read(ctx context.Context, q *verbs.QueuePair, into verbs.Span, from verbs.RemoteSpan) error {
	return b.do(ctx, func(tag verbs.Tag) error { return q.Read(tag, into, from, 0) })
}

// Word is where an atomic's old value comes to: 8 aligned bytes of registered memory.
type Word struct {
	Memory *verbs.Memory
	Offset int
}

// CompareSwap puts swap at the word at, if compare is there, and returns what was there.
func (b *Blocking) CompareSwap(ctx context.Context, q *verbs.QueuePair, old Word, at verbs.RemoteSpan, compare, swap uint64) (uint64, error) {
	return b.atomic(ctx, old, func(tag verbs.Tag, into verbs.Span) error {
		return q.CompareSwap(tag, into, at, compare, swap, 0)
	})
}

// FetchAdd adds to the word at, and returns what was there.
func (b *Blocking) FetchAdd(ctx context.Context, q *verbs.QueuePair, old Word, at verbs.RemoteSpan, add uint64) (uint64, error) {
	return b.atomic(ctx, old, func(tag verbs.Tag, into verbs.Span) error { return q.FetchAdd(tag, into, at, add, 0) })
}

func (b *Blocking) atomic(ctx context.Context, old Word, start func(tag verbs.Tag, into verbs.Span) error) (uint64, error) {
	if old.Memory == nil || old.Memory.Bytes() == nil {
		return 0, fmt.Errorf("atomic: Word.Memory is nil, or has no bytes: %w", ErrArgument)
	}
	into := old.Memory.Span(old.Offset, 8)
	if err := b.do(ctx, func(tag verbs.Tag) error { return start(tag, into) }); err != nil {
		return 0, err
	}
	return old.Memory.Load64(old.Offset), nil
}

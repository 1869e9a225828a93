package perftest

import (
	"fmt"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/verbs"
)

// end is everything that one side opens on its device.
type end struct {
	plan    *Plan
	domain  *verbs.Domain
	memory  *verbs.Memory // a slot of each pair for incoming messages, then one of each for outgoing
	workers []*worker
	pairs   []*pair // of all workers
}

// openEnd opens one side, unless it is told to stop. On failure nothing stays open.
func openEnd(device *verbs.Device, plan *Plan, sig *signals) (e *end, err error) {
	e = &end{plan: plan}
	defer func() {
		if err != nil {
			err = both(err, e.close())
		}
	}()
	if limit := device.Limits().MaxMessage; int64(plan.slot()) > int64(limit) {
		return e, fmt.Errorf("messages of %d bytes: the device takes %d at most: %w", plan.slot(), limit, verbs.ErrLimit)
	}
	if e.domain, err = device.NewDomain(); err != nil {
		return e, err
	}
	bytes := 2 * plan.Pairs * plan.slot()
	if e.memory, err = e.domain.Alloc(bytes, verbs.RemoteAll); err != nil {
		return e, fmt.Errorf("memory for %d pairs; lower pairs or size: %w", plan.Pairs, err)
	}
	touch(e.memory.Bytes(), sig)
	for i := range plan.Threads {
		if err := e.addWorker(device, i, sig); err != nil {
			return e, err
		}
	}
	return e, nil
}

// touch has the system give pages of their own, so that a run does not pay for them.
func touch(b []byte, sig *signals) {
	for i := 0; i < len(b) && !sig.stop.Load(); i += 4096 {
		b[i] = 0 // it is zero, and a page of its own from now on
	}
}

// addWorker makes a thread's completion queue and its share of the pairs.
func (e *end) addWorker(device *verbs.Device, index int, sig *signals) error {
	share := e.plan.Pairs / e.plan.Threads
	if index < e.plan.Pairs%e.plan.Threads {
		share++
	}
	room := share * (2*e.plan.Depth + verbs.ControlRoom)
	queue, err := device.NewCompletionQueue(room)
	if err != nil {
		return fmt.Errorf("%d pairs of depth %d; lower pairs or depth: %w", share, e.plan.Depth, err)
	}
	w := &worker{end: e, queue: queue}
	e.workers = append(e.workers, w)
	for range share {
		if sig.stop.Load() {
			return errAborted
		}
		if err := e.addPair(w); err != nil {
			return fmt.Errorf("queue pair %d of %d: %w", len(e.pairs)+1, e.plan.Pairs, err)
		}
	}
	return nil
}

func (e *end) addPair(w *worker) error {
	queue, err := e.domain.NewQueuePair(verbs.QueueConfig{Completions: w.queue, SendDepth: e.plan.Depth,
		ReceiveDepth: e.plan.Depth, Access: verbs.RemoteAll})
	if err != nil {
		return err
	}
	slot, number := e.plan.slot(), len(e.pairs)
	in, out := number*slot, (e.plan.Pairs+number)*slot
	p := &pair{number: number, tag: verbs.Tag(len(w.pairs)), queue: queue, memory: e.memory, slot: slot, inAt: in, outAt: out,
		lot: min(mostAgain, (e.plan.Depth+3)/4)}
	w.pairs = append(w.pairs, p)
	e.pairs = append(e.pairs, p)
	for range e.plan.Depth {
		if err := p.receive(); err != nil {
			return err
		}
	}
	return nil
}

// mostAgain is how many receives are posted again at a time, at most.
const mostAgain = 8

// card is what the peer needs.
func (e *end) card() (c connect.Card) {
	c.Step = "connect"
	for _, p := range e.pairs {
		c.Addresses = append(c.Addresses, p.queue.Address())
		c.Spans = append(c.Spans, e.memory.Remote(p.inAt, p.slot))
	}
	return c
}

// connect joins the queue pairs with those of the peer's card.
func (e *end) connect(theirs connect.Card, sig *signals) error {
	if len(theirs.Addresses) != len(e.pairs) || len(theirs.Spans) != len(e.pairs) {
		return fmt.Errorf("the peer has %d queue pairs and %d spans, not %d", len(theirs.Addresses), len(theirs.Spans), len(e.pairs))
	}
	for i, p := range e.pairs {
		if theirs.Spans[i].Length != uint64(p.slot) {
			return fmt.Errorf("the peer lends %d bytes for queue pair %d, not %d", theirs.Spans[i].Length, i, p.slot)
		}
		if sig.stop.Load() {
			return errAborted
		}
		p.remote = theirs.Spans[i]
		if err := p.queue.Connect(p.tag, theirs.Addresses[i]); err != nil {
			return fmt.Errorf("connect queue pair %d: %w", i, err)
		}
	}
	return nil
}

// close closes what was opened, children first.
func (e *end) close() error {
	var failed error
	for _, p := range e.pairs {
		failed = both(failed, p.queue.Close())
	}
	if e.memory != nil {
		failed = both(failed, e.memory.Close())
	}
	for _, w := range e.workers {
		failed = both(failed, w.queue.Close())
	}
	if e.domain != nil {
		failed = both(failed, e.domain.Close())
	}
	return failed
}

package sim

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// receive is memory ready for one message.
type receive struct {
	tag   driver.Tag
	spans spans
	bytes uint64
}

// PostReceive adds receives of this queue pair's own. Where their spans point is judged when a message comes.
func (q *queuePair) PostReceive(list []driver.Receive) (int, error) {
	if err := q.usable(); err != nil {
		return 0, err
	}
	for i := range list {
		r := &list[i]
		q.fabric.tracePosted(q.home, r.Tag, q.number)
		if q.state == driver.Error {
			q.tell(driver.Completion{Tag: r.Tag, Queue: q.number, Op: driver.OpReceive, Status: driver.Flushed})
			continue
		}
		q.receives.push(receive{r.Tag, q.fabric.keepSpans(r.Span, r.More), r.Bytes()})
	}
	q.drainLater()
	return len(list), nil
}

// tracePosted reports a posted receive; of queue 0, a shared one.
func (f *Fabric) tracePosted(node uint32, tag driver.Tag, queue uint32) {
	f.traceOf(Event{Kind: Posted, Node: node, Tag: tag, Queue: queue, Op: driver.OpReceive})
}

// hasReceive reports whether a message could be taken now.
func (q *queuePair) hasReceive() bool {
	if q.shared != nil {
		return q.shared.items.count > 0
	}
	return q.receives.count > 0
}

// takeReceive takes the next receive, of which there is one.
func (q *queuePair) takeReceive() receive {
	if q.shared != nil {
		return q.shared.items.pop()
	}
	return q.receives.pop()
}

// flushReceives completes the queue pair's own receives. Shared ones stay for the others.
func (q *queuePair) flushReceives() {
	for q.receives.count > 0 {
		got := q.receives.pop()
		q.fabric.dropSpans(got.spans)
		q.tell(driver.Completion{Tag: got.tag, Queue: q.number, Op: driver.OpReceive, Status: driver.Flushed})
	}
}

// sharedReceives is a pool of receives for several queue pairs of one domain.
type sharedReceives struct {
	domain  *Domain
	queue   *completionQueue
	account account // its completions that wait to be polled
	users   int     // open queue pairs
	closed  bool
	items   ring[receive]
	waiting []*queuePair // those that lacked a receive since the last were posted
}

// NewSharedReceives makes an empty pool. The configuration is as package verbs has checked it; what it limits package
// verbs counts.
func (d *Domain) NewSharedReceives(config driver.SharedConfig) (driver.SharedReceives, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	d.children++
	return &sharedReceives{domain: d, queue: config.Completions.(*completionQueue)}, nil
}

// usable says why the pool cannot be used, if it cannot.
func (s *sharedReceives) usable() error {
	if s.domain.device.dead {
		return s.domain.device.crashed()
	}
	if s.closed {
		return fmt.Errorf("sim: shared receives of %s are %w", s.domain.device.node.name, driver.ErrClosed)
	}
	return nil
}

// PostReceive adds receives for whichever queue pair gets a message first.
func (s *sharedReceives) PostReceive(list []driver.Receive) (int, error) {
	if err := s.usable(); err != nil {
		return 0, err
	}
	device := s.domain.device
	for i := range list {
		r := &list[i]
		device.fabric.tracePosted(device.node.index, r.Tag, 0)
		s.items.push(receive{r.Tag, device.fabric.keepSpans(r.Span, r.More), r.Bytes()})
	}
	s.drainLater()
	return len(list), nil
}

// drainLater lets the queue pairs that lack a receive look again, in the order in which they began to lack it.
func (s *sharedReceives) drainLater() {
	for _, q := range s.waiting {
		q.parked = false
		q.drainLater()
	}
	s.waiting = s.waiting[:0]
}

// Close drops what is still posted.
func (s *sharedReceives) Close() error {
	if err := s.usable(); err != nil {
		return err
	}
	if s.users > 0 {
		return fmt.Errorf("sim: shared receives of %s are still used by %d queue pairs", s.domain.device.node.name, s.users)
	}
	s.closed = true
	s.queue.forget(&s.account)
	for s.items.count > 0 {
		s.domain.device.fabric.dropSpans(s.items.pop().spans)
	}
	s.domain.children--
	return nil
}

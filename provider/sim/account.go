package sim

import (
	"unsafe"

	"github.com/weft-fabric/weft/verbs/driver"
)

// account is what a queue pair, or a pool of receives, has in its completion queue. When its owner is closed, package
// verbs counts on the room that its completions took (driver.QueuePair.Close), so that it is free at once. The
// completions themselves turn void and go as Poll comes by, or when half of the queue is void: closing thousands of
// queue pairs must not walk over a full queue for each.
//
// Invariant: completionQueue.void is the sum of queued over the closed accounts, and the oldest item is not void.
type account struct {
	record unsafe.Pointer // what package verbs knows of its owner: see ahead.go
	queued int32          // completions in items
	over   bool           // its owner is closed
}

// isVoid reports whether nobody is to see the completion any more.
func (s *stamped) isVoid() bool { return s.owner != nil && s.owner.over }

// tell queues a completion of the queue pair. Receives are those of the pool, if it has one, and outlive the queue pair:
// package verbs has to learn that they were taken.
func (q *queuePair) tell(done driver.Completion) {
	owner := &q.account
	if q.shared != nil && done.Op.IsReceive() {
		owner = &q.shared.account
	}
	q.queue.push(done, owner)
}

// pop takes the oldest completion of a queue that is not empty.
func (c *completionQueue) pop() driver.Completion {
	s := c.items.pop()
	if s.owner != nil {
		s.owner.queued--
	}
	c.skipVoid()
	return s.Completion
}

// skipVoid brings the first completion that somebody may see to the front.
func (c *completionQueue) skipVoid() {
	for c.void > 0 && c.items.front().isVoid() {
		c.items.pop()
		c.void--
	}
}

// forget drops the completions of an owner that is closed.
func (c *completionQueue) forget(a *account) {
	a.over = true
	if c.closed {
		return
	}
	c.void += int(a.queued)
	if 2*c.void > int(c.items.count) {
		c.compact()
	}
	c.skipVoid()
}

// compact takes everything void out, and keeps the order of the rest.
func (c *completionQueue) compact() {
	for range c.items.count {
		if s := c.items.pop(); !s.isVoid() {
			c.items.push(s)
		}
	}
	c.void = 0
}

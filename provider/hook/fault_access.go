package hook

import (
	"slices"

	"github.com/weft-fabric/weft/verbs/driver"
)

// earlyPolls is how many polls EarlyAccess lets pass between the completion and the change.
const earlyPolls = 16

// setAccess changes the access of memory, or says so.
func (f *faults) setAccess(m driver.MemoryAccess, queue *completionQueue, tag driver.Tag, access driver.Access) error {
	c := driver.Completion{Tag: tag, Op: driver.OpMemoryAccess}
	if f.tells(WidenMemoryAccess, eventOf(&c)) {
		access = driver.RemoteAll
	}
	q := queue.CompletionQueue.(*faultyQueue)
	return q.changeAccess(c, IgnoreMemoryAccess, nil, func() error { return m.SetAccess(queue.inner, tag, access) })
}

// changeAccess makes a change of access, unless the plan has it ignored or made too late. The completion c says how a
// change that succeeds is reported.
func (q *faultyQueue) changeAccess(c driver.Completion, ignore Lie, p *faultyQueuePair, change func() error) error {
	e := eventOf(&c)
	if q.faults.tells(ignore, e) {
		q.invent(c)
		return nil
	}
	if q.faults.tells(EarlyAccess, e) {
		q.invent(c)
		q.later(earlyPolls, p, func() error {
			q.swallow = append(q.swallow, c)
			return change()
		})
		return nil
	}
	return change()
}

// invent reports a completion that the device did not make, and so did not announce either.
func (q *faultyQueue) invent(c driver.Completion) {
	q.push(entry{Completion: c})
	if q.waiter != nil {
		q.waiter.Wake()
	}
}

// swallows reports whether a completion was reported before the device made it.
func (q *faultyQueue) swallows(c *driver.Completion) bool {
	for i, s := range q.swallow {
		if s.Tag == c.Tag && s.Queue == c.Queue && s.Op == c.Op {
			q.swallow = slices.Delete(q.swallow, i, i+1)
			return true
		}
	}
	return false
}

package sim

import (
	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// control is a change that takes its time: of access, or a reset.
type control struct {
	op     driver.Op
	access driver.Access
	tag    driver.Tag
	pair   *queuePair       // OpQueueAccess, OpReset
	memory *memory          // OpMemoryAccess
	queue  *completionQueue // where it completes
}

// control makes a change take effect after its cost.
func (f *Fabric) control(cost clock.Time, c control) {
	i := f.controls.take()
	*f.controls.at(i) = c
	f.plan(f.after(cost), evControl, i, 0)
}

// stepControl is the instant at which a change takes effect, and completes. What lands from now on meets the new gate,
// and everything that has landed by now was allowed by the old one: that is the postcondition of SetAccess. It takes
// effect even if nobody can poll its completion any more.
func (f *Fabric) stepControl(i uint32) bool {
	c := *f.controls.at(i)
	*f.controls.at(i) = control{}
	f.controls.give(i)
	if c.queue.device.dead || c.pair != nil && c.pair.state == driver.Closed {
		return false
	}
	number := uint32(0)
	switch c.op {
	case driver.OpMemoryAccess:
		c.memory.access = c.access
	case driver.OpQueueAccess:
		c.pair.access = c.access
		number = c.pair.number
	case driver.OpReset:
		if c.pair.state != driver.Error {
			c.pair.becomeError(driver.Flushed) // another Reset let it connect meanwhile
		}
		c.pair.becomeNew()
		number = c.pair.number
	}
	f.trace(c.queue.node, Event{Kind: Changed, Tag: c.tag, Queue: number, Op: c.op})
	var owner *account
	if c.pair != nil {
		owner = &c.pair.account
	}
	c.queue.push(driver.Completion{Tag: c.tag, Queue: number, Op: c.op}, owner)
	return true
}

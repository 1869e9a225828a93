package sim

import (
	"fmt"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Drive makes the fabric call runner whenever there is something to do.
func (c *completionQueue) Drive(runner driver.Runner) {
	c.runner, c.turnCount = runner, 0
	c.forgetAreas()
	if runner == nil || c.closed {
		c.wantFront() // without the time that a driven loop needs to wake up
		return
	}
	c.lastTurn = c.fabric.now
	if c.items.count > 0 || c.woken.Load() {
		c.want(c.fabric.now)
	}
	c.wantNext(c.fabric.now)
}

// wantNext asks for a turn at the runner's own time, but not before earliest.
func (c *completionQueue) wantNext(earliest clock.Time) {
	if next := c.runner.Next(); next != clock.Never {
		c.want(max(next, earliest))
	}
}

// want asks for a turn at t, unless one is planned by then. A driven loop gets it when its core is free, and later if
// it has to be woken first: RDMC polls for a while after activity, then sleeps (section 4.2).
func (c *completionQueue) want(t clock.Time) {
	if c.closed {
		return
	}
	if c.runner != nil {
		t = max(t, c.busy, c.paused)
		if c.wake > 0 && t-c.lastTurn > c.spin {
			t = t.Add(c.wake)
		}
	}
	if n := len(c.turns); n > 0 && c.turns[n-1] <= t {
		return // that turn will ask for this one, if it is still needed
	}
	c.turns = append(c.turns, t)
	c.fabric.plan(t, evTurn, c.index, c.gen)
}

// wantFront asks for a turn when the next completion can be seen, so that time does not stand still before it. In the
// end there is always an event planned for a completion that cannot be seen yet.
func (c *completionQueue) wantFront() {
	if c.items.count > 0 && !c.visible() {
		c.want(c.items.front().at)
	}
}

// stepTurn is the moment for a turn, if there is still a reason. Without a runner it only makes time pass for whoever
// waits on the queue.
func (c *completionQueue) stepTurn(gen uint32) bool {
	if gen != c.gen {
		return false
	}
	c.turns = c.turns[:len(c.turns)-1]
	if c.runner != nil && c.fabric.now < c.paused {
		c.want(c.paused) // planned before the pause began
		return false
	}
	due := c.due()
	if c.runner == nil {
		c.wantFront()
		return due
	}
	defer c.wantMore() // also if the turn panics: a program that recovers gets its next turn
	if due {
		c.turn()
	}
	return due
}

// due reports whether there is a reason for a turn.
func (c *completionQueue) due() bool {
	return c.visible() || c.woken.Load() || c.touched || c.runner != nil && c.runner.Next() <= c.fabric.now
}

// turn lets the runner work. What called for the turn is cleared before, so that what happens meanwhile calls for
// another. The first error stops the fabric: to go on would only bury its cause. That of a node which went down in its
// own turn does not: it is how the loop learns of the crash.
func (c *completionQueue) turn() {
	f := c.fabric
	if f.ahead {
		c.learnAreas()
	}
	c.woken.Store(false)
	c.touched = false
	if _, err := c.runner.Turn(); err != nil && !c.device.dead && f.err == nil {
		f.err = fmt.Errorf("sim: turn of %s at %v: %w", c.node.name, f.now, err)
	}
	c.lastTurn = f.now
}

// wantMore asks for the next turn: for what the last one left over, and for the runner's own time. It is never at the
// same moment, so that time passes even for a runner that always wants more.
func (c *completionQueue) wantMore() {
	if c.closed || c.runner == nil {
		return
	}
	later := c.fabric.now + 1
	if c.items.count > 0 {
		c.want(max(c.items.front().at, later))
	}
	c.wantNext(later)
}

// touch tells the loops that look for words which peers write that there is something to look at.
func (d *Device) touch() {
	for _, c := range d.queues {
		if c.runner != nil && c.runner.Scans() {
			c.touched = true
			c.want(d.fabric.now)
		}
	}
}

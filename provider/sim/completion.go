package sim

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// stamped is a completion with the time at which the host sees it, and whose room it takes.
type stamped struct {
	driver.Completion
	at    clock.Time
	owner *account // nil: nobody's that could be closed
}

// completionQueue is where ends are reported, and the processor core of the loop that owns it: requests posted for its
// queue pairs cost its time.
type completionQueue struct {
	fabric  *Fabric
	node    *node
	device  *Device
	index   uint32        // its slot in Fabric.queues
	home    uint32        // its node's index
	wake    time.Duration // of the node's configuration
	spin    clock.Time
	place   int32 // in Device.queues, while open
	depth   int
	users   int // open queue pairs that complete here
	closed  bool
	overran bool // it had to hold more than depth
	items   ring[stamped]
	void    int // of items, those of closed owners: see account

	runner   driver.Runner // nil: not driven
	busy     clock.Time    // the core is busy posting until then
	paused   clock.Time    // the core does something else until then: see Pause
	lastTurn clock.Time    // when the runner last had a turn
	woken    atomic.Bool   // Wake was called since the last Wait or turn
	listed   bool          // it stands in Fabric.wakes, and is guarded by its lock
	touched  bool          // a peer wrote to the device's memory since the last turn

	// When turns are planned, the next one last. All but Never stand in the fabric's events, and each comes before those in
	// front of it: so a deadline far away is planned once, however many turns there are before it.
	turns []clock.Time
	gen   uint32 // of the events; it tells the queues apart that have the slot one after the other

	// Where turns and items begin: most queues need no more, and find it beside them.
	turnRoom [4]clock.Time
	itemRoom [4]stamped

	footprint driver.Footprint // the runner, if it says what it touches
	areas     [10]area         // what the runner's turns touch: see ahead.go
	areaCount int
	turnCount uint32
}

// NewCompletionQueue makes a queue for depth completions.
func (d *Device) NewCompletionQueue(depth int) (driver.CompletionQueue, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	if depth < 1 || depth > maxCompletion {
		return nil, fmt.Errorf("sim: completion queue of %s: depth %d is not in 1 … %d", d.node.name, depth, maxCompletion)
	}
	c := &completionQueue{fabric: d.fabric, node: d.node, device: d, depth: depth, home: d.node.index, wake: d.node.config.Wake,
		spin: clock.Time(d.node.config.Spin)}
	c.turns, c.items.items = c.turnRoom[:0], c.itemRoom[:]
	d.fabric.enterQueue(c)
	c.place = int32(len(d.queues))
	d.queues = append(d.queues, c)
	return c, nil
}

// Poll takes the completions that the host can see by now. It does not let time pass: Wait, Run and Step do.
func (c *completionQueue) Poll(into []driver.Completion) (int, error) {
	if err := c.usable(); err != nil {
		return 0, err
	}
	n := 0
	for n < len(into) && c.visible() {
		into[n] = c.pop()
		n++
	}
	c.wantFront()
	return n, nil
}

// usable says why the queue cannot be used, if it cannot. An overrun is for ever: a completion may be missing.
func (c *completionQueue) usable() error {
	switch {
	case !c.closed && !c.overran:
		return nil
	case c.device.dead:
		return c.device.crashed()
	case c.closed:
		return fmt.Errorf("sim: completion queue of %s is %w", c.node.name, driver.ErrClosed)
	case c.overran:
		return fmt.Errorf("sim: completion queue of %s had to hold more than its depth of %d", c.node.name, c.depth)
	}
	return nil
}

// visible reports whether there is a completion to poll.
func (c *completionQueue) visible() bool {
	return c.items.count > 0 && c.items.front().at <= c.fabric.now
}

// Close frees the queue.
func (c *completionQueue) Close() error {
	if c.device.dead {
		return c.device.crashed()
	}
	if c.closed {
		return fmt.Errorf("sim: completion queue of %s is closed already", c.node.name)
	}
	if c.users > 0 {
		return fmt.Errorf("sim: completion queue of %s is still used by %d queue pairs", c.node.name, c.users)
	}
	c.drop()
	c.device.removeQueue(c)
	return nil
}

// removeQueue takes a queue out of the open ones; the last one moves to its place.
func (d *Device) removeQueue(c *completionQueue) {
	last := len(d.queues) - 1
	d.queues[c.place] = d.queues[last]
	d.queues[c.place].place = c.place
	d.queues[last] = nil
	d.queues = d.queues[:last]
}

// drop ends the queue, by Close or by a crash. Its slot is free at once.
func (c *completionQueue) drop() {
	c.closed, c.runner, c.items, c.void, c.turns = true, nil, ring[stamped]{}, 0, nil
	clear(c.itemRoom[:])
	c.forgetAreas()
	c.gen++
	c.fabric.freeQueues = append(c.fabric.freeQueues, c.index)
}

// push queues a completion. The host sees it when it has made progress; in a queue that was closed, never.
func (c *completionQueue) push(done driver.Completion, owner *account) {
	if c.closed {
		return
	}
	f := c.fabric
	f.traceOf(Event{Kind: Completed, Node: c.home, Tag: done.Tag, Queue: done.Queue, Bytes: done.Bytes, Op: done.Op,
		Status: done.Status})
	c.overran = c.overran || int(c.items.count)-c.void == c.depth
	at := f.after(f.delay.progress)
	c.items.push(stamped{done, at, owner})
	if owner != nil {
		owner.queued++
	}
	c.want(at)
}

// charge takes the core's time for posting n requests with one doorbell, and returns when it is rung.
func (c *completionQueue) charge(n int) clock.Time {
	d := &c.fabric.delay
	c.busy = max(c.busy, c.fabric.now).Add(time.Duration(d.post + clock.Time(n-1)*d.postMore))
	return c.busy
}

// Wait lets virtual time pass until there is a completion, until has come, or Wake is called. Spinning costs nothing
// here.
func (c *completionQueue) Wait(until clock.Time, _ time.Duration) error {
	f := c.fabric
	if f.inside {
		return fmt.Errorf("sim: wait on a completion queue of %s: %w", c.node.name, ErrInside)
	}
	defer f.leave()
	for {
		if err := c.usable(); err != nil {
			return err
		}
		if c.woken.Swap(false) || c.visible() || f.now >= until {
			return f.err
		}
		if f.step(until) {
			continue
		}
		switch {
		case f.err != nil:
			return f.err
		case until == clock.Never:
			return fmt.Errorf("sim: wait on a completion queue of %s at %v: %w", c.node.name, f.now, ErrDeadlock)
		}
		f.now = max(f.now, until)
	}
}

// Wake ends a Wait, or asks for a turn. Any goroutine may call it; the fabric looks before its next event.
func (c *completionQueue) Wake() {
	if c.woken.Swap(true) {
		return
	}
	w := &c.fabric.wakes
	w.mu.Lock()
	if !c.listed { // a Wait that returns at once leaves it there
		c.listed = true
		w.queues = append(w.queues, c)
	}
	w.mu.Unlock()
	w.some.Store(true)
}

// takeWakes plans turns for the queues that were woken.
func (f *Fabric) takeWakes() {
	if !f.wakes.some.Load() {
		return
	}
	f.wakes.mu.Lock()
	defer f.wakes.mu.Unlock()
	f.wakes.some.Store(false)
	for _, c := range f.wakes.queues {
		c.listed = false
		at := f.now
		if c.runner != nil {
			at = max(at, c.lastTurn+1) // never at the moment of its last turn, so that time passes
		}
		c.want(at)
	}
	f.wakes.queues = f.wakes.queues[:0]
}

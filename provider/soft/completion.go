package soft

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// quantum is how many bytes one turn moves for a queue pair on the TCP lane, and half of what it copies on the others: long enough
// for the fastest way that Go's copy has, short enough that neither Post nor whoever revokes a permission waits for long.
const quantum = 1 << 20

// copyQuantum is how many bytes one turn copies. A message of 64 MiB that is read in such pieces is faster by a tenth than in pieces
// of one quantum; still larger ones gain little.
const copyQuantum = 2 * quantum

// CompletionQueue is where ends are reported, and the owner of the queue pairs that report there: what one goroutine
// does for all of them is done under one lock, which only the device's goroutine ever contends for. It implements
// driver.CompletionQueue and driver.SharedWaiter.
type CompletionQueue struct {
	device *Device
	depth  int

	mu     sync.Mutex // guards everything down to the next blank line, and the queue pairs that report here
	locks  uint64     // times that mu was taken on the data path
	turns  uint64     // calls by the owner: how the device's goroutine knows that it is there
	looked uint64     // the call, by number, in which Poll last looked at sockets
	users  int        // queue pairs
	owing  int        // queue pairs with requests that are not carried out yet
	gone   error      // why the queue can no longer be used; nil: it can
	done   doneQueue
	own    source       // of the completions of fences
	busy   []*QueuePair // with something unfinished, each once
	fences []fence      // changes of memory access that wait for visitors
	next   clock.Time   // when the last turn wanted another: soon, a deadline, or clock.Never
	known  clock.Time   // the same, as the owner knows it when it waits; soon: it does not

	ready readySet // the summary is the peers', the rest is guarded by mu
	sleep sleeper
	// watched says that the device's goroutine keeps an eye on the queue. Written under mu, read by who rings.
	watched atomic.Bool
	listed  bool // stands in the inbox of the device's goroutine; guarded by that
}

// soon is the moment of a next turn that need not wait.
const soon = clock.Time(0)

// Poll moves finished completions into into, after a turn for every queue pair that was rung or has work left.
func (c *CompletionQueue) Poll(into []driver.Completion) (int, error) {
	if err := c.enter(); err != nil {
		return 0, err
	}
	if c.done.count() == 0 { // else there is enough to do, and the next call looks
		c.look()
		c.looked = c.turns
	}
	c.work()
	n := c.done.pop(into)
	if p := c.sleep.poller.Load(); p != nil {
		p.polled()
	}
	if c.next < c.known { // another goroutine shares the queue, and waits: too long
		c.known = c.next
		c.sleep.wake()
	}
	c.exit()
	return n, nil
}

// Close frees the queue. Its queue pairs must be closed.
func (c *CompletionQueue) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(c.gone, errQueueClosed) {
		return fmt.Errorf("soft: close completion queue: already %w", driver.ErrClosed)
	}
	if c.users > 0 {
		return fmt.Errorf("soft: close completion queue: %d queue pairs report to it", c.users)
	}
	c.gone = errQueueClosed
	c.fences = nil
	c.sleep.wake()
	if c.watched.Load() { // the device's goroutine would keep an eye on it for ever
		c.device.nic.look(c)
	}
	c.device.forgetQueue(c)
	if p := c.sleep.poller.Load(); p != nil {
		p.close()
	}
	return nil
}

var (
	errQueueClosed = fmt.Errorf("soft: completion queue is %w", driver.ErrClosed)
	errKilled      = fmt.Errorf("soft: device was killed: %w", driver.ErrClosed)
)

// usable says why nothing can be made that reports to the queue, if so.
func (c *CompletionQueue) usable() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// enter takes the lock for the owner, unless the queue is gone.
func (c *CompletionQueue) enter() error {
	c.mu.Lock()
	c.locks++
	c.turns++
	if c.gone != nil {
		err := c.gone
		c.mu.Unlock()
		return err
	}
	return nil
}

// exit releases the lock. If something is left to do, the device's goroutine is asked to see to it that it is done
// even if the owner does not come back.
func (c *CompletionQueue) exit() {
	if c.owing > 0 && !c.watched.Load() {
		c.watched.Store(true)
		c.device.nic.look(c)
	}
	c.mu.Unlock()
}

// kill ends all work of the queue for good. When it returns, no request of its queue pairs is under way.
func (c *CompletionQueue) kill() {
	c.mu.Lock()
	if c.gone == nil {
		c.gone = errKilled
	}
	if p := c.sleep.poller.Load(); p != nil {
		p.closeWires()
	}
	c.mu.Unlock()
	c.sleep.wake()
}

// turn does the NIC's work that can be done now.
func (c *CompletionQueue) turn() {
	c.look()
	c.work()
}

// look gives the queue pairs whose sockets may have something a part in the turn.
func (c *CompletionQueue) look() {
	if p := c.sleep.poller.Load(); p != nil {
		p.look()
	}
}

// work is a turn for the queue pairs that were rung or have something unfinished, one quantum each.
func (c *CompletionQueue) work() {
	if c.ready.summary.Load() != 0 {
		c.ready.collect((*QueuePair).enlist)
	}
	c.next = clock.Never
	if len(c.fences) > 0 {
		c.turnFences()
	}
	if len(c.busy) > 0 {
		c.turnBusy()
	}
}

// turnBusy gives every busy queue pair its turn and keeps those that are not done. A turn never makes another queue
// pair of this completion queue busy: it rings, and the next turn collects.
func (c *CompletionQueue) turnBusy() {
	still := c.busy[:0]
	for _, q := range c.busy {
		next, idle := q.turn()
		if idle {
			q.busy = 0
			continue
		}
		still = append(still, q)
		q.busy = len(still)
		c.next = min(c.next, next)
	}
	clear(c.busy[len(still):])
	c.busy = still
}

// reportControl adds a completion of a control operation, beyond the depth if need be.
func (c *CompletionQueue) reportControl(from *source, tag driver.Tag, queue uint32, op driver.Op, status driver.Status) {
	c.done.extra++
	c.report(from, tag, queue, op, status)
}

// report adds a completion of a request or a receive, and returns it to be filled in further.
// The fields are stored where they stay: a copy of what was just stored piecemeal would stall the processor.
func (c *CompletionQueue) report(from *source, tag driver.Tag, queue uint32, op driver.Op,
	status driver.Status) *driver.Completion {
	if c.done.count() >= c.depth+c.done.extra {
		c.overflow(op, queue)
	}
	c.done.reserve()
	done := c.done.last()
	done.from = from
	from.queued++
	done.Tag, done.Queue, done.Op, done.Status, done.Bytes, done.Imm = tag, queue, op, status, 0, 0
	return &done.Completion
}

// overflow is apart so that report stays small.
func (c *CompletionQueue) overflow(op driver.Op, queue uint32) {
	panic(fmt.Sprintf("soft: completion queue of depth %d is full: no room for %v of queue pair %d", c.depth, op, queue))
}

// fence is a change of memory access that is reported when its visitors have left.
type fence struct {
	tag      driver.Tag
	visitors []visitor
}

// passed forgets the visitors that have left, and reports whether all have.
func (f *fence) passed() bool {
	for len(f.visitors) > 0 && f.visitors[0].left() {
		f.visitors = f.visitors[1:]
	}
	return len(f.visitors) == 0
}

// fence reports f now, or else keeps it for the next turn.
func (c *CompletionQueue) fence(f fence) {
	c.fences = append(c.fences, f)
	c.turnFences()
}

// turnFences reports fences in the order of their calls. Nobody rings when a visitor leaves, so the next turn must come
// soon.
func (c *CompletionQueue) turnFences() {
	for len(c.fences) > 0 {
		if !c.fences[0].passed() {
			c.next = soon
			return
		}
		c.reportControl(&c.own, c.fences[0].tag, 0, driver.OpMemoryAccess, driver.OK)
		c.fences = c.fences[1:]
	}
}

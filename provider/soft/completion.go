package soft

import (
	"errors"
	"fmt"
	"math/bits"
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
	turns  uint64     // calls by the owner, each of which takes mu: how the device's goroutine knows that it is there
	looked uint64     // the call, by number, in which Poll last looked at sockets
	users  int        // queue pairs
	owing  int        // queue pairs with requests that are not carried out yet
	gone   error      // why the queue can no longer be used; nil: it can
	done   doneQueue
	into   []driver.Completion // where Poll wants completions while it works; nil: in done
	filled int                 // of these
	own    source              // of the completions of fences
	busy   []*QueuePair        // with something unfinished, each once
	fences []fence             // changes of memory access that wait for visitors
	next   clock.Time          // when the last turn wanted another: soon, a deadline, or clock.Never
	known  clock.Time          // the same, as the owner knows it when it waits; soon: it does not

	ready readySet // the summary is the peers', the rest is guarded by mu
	sleep sleeper
	// watched says that the device's goroutine keeps an eye on the queue. Written under mu, read by who rings.
	watched atomic.Bool
	listed  bool // stands in the inbox of the device's goroutine; guarded by that
}

// soon is the moment of a next turn that need not wait.
const soon = clock.Time(0)

// Poll moves finished completions into into, after a turn for every queue pair that was rung or has work left.
func (c *CompletionQueue) Poll(into []driver.Completion) (n int, err error) {
	c.mu.Lock()
	if err := c.begin(); err != nil {
		return 0, err
	}
	p := c.sleep.poller.Load()
	if c.done.count() == 0 { // else there is enough to do, and the next call looks
		if p != nil {
			p.look()
		}
		c.looked = c.turns
	}
	if c.done.places > 0 {
		n = c.done.pop(into)
	}
	if c.next = clock.Never; !c.isIdle() {
		n = c.workInto(into, n)
	}
	if p != nil {
		p.polled()
	}
	if c.next < c.known { // another goroutine shares the queue, and waits: too long
		c.known = c.next
		c.sleep.wake()
	}
	if c.owing > 0 {
		c.beWatched()
	}
	c.mu.Unlock()
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

// enter takes the lock for the owner, unless the queue is gone. Who is in a hurry locks, and then calls begin.
func (c *CompletionQueue) enter() error {
	c.mu.Lock()
	return c.begin()
}

// begin is enter with the lock held. It is released if the queue is gone.
func (c *CompletionQueue) begin() error {
	if c.turns++; c.gone != nil {
		return c.turnAway()
	}
	return nil
}

func (c *CompletionQueue) turnAway() error {
	err := c.gone
	c.mu.Unlock()
	return err
}

// exit releases the lock.
func (c *CompletionQueue) exit() {
	if c.owing > 0 {
		c.beWatched()
	}
	c.mu.Unlock()
}

// beWatched asks the device's goroutine to see to it that what is left to do is done even if the owner does not come back.
func (c *CompletionQueue) beWatched() {
	if !c.watched.Load() {
		c.watched.Store(true)
		c.device.nic.look(c)
	}
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

// workInto is work while new completions go to into behind the n that are there, and are not copied. It returns how many
// are there then.
func (c *CompletionQueue) workInto(into []driver.Completion, n int) int {
	c.into, c.filled = into, n
	c.work()
	n, c.into, c.filled = c.filled, nil, 0
	return n
}

// isIdle reports whether work would do nothing.
func (c *CompletionQueue) isIdle() bool {
	return len(c.fences)+len(c.busy) == 0 && c.ready.summary.Load() == 0
}

// work is a turn for the queue pairs that were rung or have something unfinished, one quantum each. It begins with the busy,
// so that who becomes busy when it is rung has one turn and not two.
func (c *CompletionQueue) work() {
	c.next = clock.Never
	if len(c.fences) > 0 {
		c.turnFences()
	}
	if len(c.busy) > 0 {
		c.turnBusy()
	}
	if c.ready.summary.Load() != 0 {
		c.turnRung()
	}
}

// found reports whether there are completions that the owner has not seen.
func (c *CompletionQueue) found() bool { return c.done.count()+c.filled > 0 }

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

// turnRung gives every queue pair that was rung its turn.
func (c *CompletionQueue) turnRung() {
	for groups := c.ready.summary.Swap(0); groups != 0; groups &= groups - 1 {
		for leaf := bits.TrailingZeros64(groups); leaf < len(c.ready.leaves); leaf += 64 {
			word := c.ready.leaves[leaf]
			if word.Load() == 0 {
				continue
			}
			for rung := word.Swap(0); rung != 0; rung &= rung - 1 {
				if q := c.ready.members[leaf*leafBits+bits.TrailingZeros64(rung)]; q != nil {
					c.turnOne(q)
				}
			}
		}
	}
}

// turnOne gives a queue pair its turn, most of the time the only one that it needs. One that is busy has had its turn just now, and
// has another soon.
func (c *CompletionQueue) turnOne(q *QueuePair) {
	if q.busy != 0 {
		c.next = soon
		return
	}
	if next, idle := q.turn(); !idle {
		next = min(next, c.next)
		q.enlist()
		c.next = next
	}
}

// reportControl adds a completion of a control operation, beyond the depth if need be.
func (c *CompletionQueue) reportControl(from *source, tag driver.Tag, queue uint32, op driver.Op, status driver.Status) {
	if c.filled == len(c.into) {
		c.done.extra++
	}
	c.report(from, tag, queue, op, status)
}

// report adds a completion of a request or a receive, and returns it to be filled in further.
// The fields are stored where they stay: a copy of what was just stored piecemeal would stall the processor.
func (c *CompletionQueue) report(from *source, tag driver.Tag, queue uint32, op driver.Op,
	status driver.Status) *driver.Completion {
	var done *driver.Completion
	if c.filled < len(c.into) {
		done = &c.into[c.filled]
		c.filled++
	} else {
		done = c.enqueue(from, queue, op)
	}
	done.Tag, done.Queue, done.Op, done.Status, done.Bytes, done.Imm = tag, queue, op, status, 0, 0
	return done
}

// enqueue returns the place of a completion that waits to be polled.
func (c *CompletionQueue) enqueue(from *source, queue uint32, op driver.Op) *driver.Completion {
	if c.done.count() >= c.depth+c.done.extra {
		c.overflow(op, queue)
	}
	c.done.reserve()
	done := c.done.last()
	done.from = from
	from.queued++
	return &done.Completion
}

// overflow is apart so that enqueue stays small.
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

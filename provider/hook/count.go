package hook

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Count wraps a device so that everything which passes is counted.
func Count(inner driver.Device) (driver.Device, *Counter) {
	counter := &Counter{live: map[*shard]struct{}{}}
	if locks, ok := inner.(driver.LockCounter); ok {
		counter.locks, counter.locksBefore = locks, locks.Locks()
	}
	return wrap(inner, counter), counter
}

// Counter holds the counts of one wrapped device.
type Counter struct {
	transparent
	locks       driver.LockCounter // nil if the device does not count its locks
	locksBefore uint64             // at the time of wrapping

	mu      sync.Mutex
	live    map[*shard]struct{} // one for each open completion queue
	retired [cellCount]uint64   // sum of the shards of closed ones
}

// Snapshot returns the counts since the device was wrapped. Any goroutine may call it. Counts that other goroutines
// are changing meanwhile may be a few operations apart from each other.
func (c *Counter) Snapshot() Counts {
	c.mu.Lock()
	sum := c.retired
	for s := range c.live {
		s.addTo(&sum)
	}
	c.mu.Unlock()
	counts := countsOf(&sum)
	if c.locks != nil {
		counts.Locks = c.locks.Locks() - c.locksBefore
	}
	return counts
}

// completions opens a shard. It lives until its completion queue is closed.
func (c *Counter) completions(inner completionParts) completionParts {
	s := &shard{}
	c.mu.Lock()
	c.live[s] = struct{}{}
	c.mu.Unlock()
	inner.CompletionQueue = &countedQueue{inner.CompletionQueue, s, c}
	if inner.Waiter != nil {
		w := &countedWaiter{inner.Waiter, inner.sharedWaiter, s}
		if inner.Waiter = w; inner.sharedWaiter != nil {
			inner.sharedWaiter = w
		}
	}
	return inner
}

// retire keeps the counts of a completion queue that has been closed.
func (c *Counter) retire(s *shard) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.live[s]; ok {
		delete(c.live, s)
		s.addTo(&c.retired)
	}
}

func (c *Counter) queuePair(inner driver.QueuePair, _ driver.QueueConfig, own driver.CompletionQueue) driver.QueuePair {
	return &countedQueuePair{inner, own.(*countedQueue).shard}
}

func (c *Counter) shared(inner driver.SharedReceives, own driver.CompletionQueue) driver.SharedReceives {
	return &countedReceives{inner, own.(*countedQueue).shard}
}

// The cells of a shard: operations by Op, their bytes by Op, completions by Status, then single counts.
const (
	cellOperations  = 0
	cellBytes       = cellOperations + opCount
	cellCompletions = cellBytes + opCount
	cellSingles     = cellCompletions + statusCount
)

const (
	cellDoorbells = cellSingles + iota
	cellReceives
	cellReceiveDoorbells
	cellBusyPolls // found something
	cellEmptyPolls
	cellWaits
	cellWakes
	cellCount
)

// shard is the counts of one completion queue and of what reports to it. These are used by one goroutine at a time,
// so the cells are uncontended; they are atomic for Snapshot, and for Wake.
type shard struct {
	cells [cellCount]atomic.Uint64
}

func (s *shard) add(cell int, n uint64) { s.cells[cell].Add(n) }

// addTo adds the cells to a sum. Each cell is read once, so no count is ever seen to shrink.
func (s *shard) addTo(sum *[cellCount]uint64) {
	for i := range s.cells {
		sum[i] += s.cells[i].Load()
	}
}

// requests counts a list, a run of equal operations at a time: an atomic addition costs more than the loop.
func (s *shard) requests(list []driver.Request) {
	for len(list) > 0 {
		op, run, bytes := list[0].Op, 0, uint64(0)
		for run < len(list) && list[run].Op == op {
			bytes += list[run].Bytes()
			run++
		}
		s.operations(op, uint64(run), bytes)
		list = list[run:]
	}
}

// operations adds to the cells of one operation.
func (s *shard) operations(op driver.Op, n, bytes uint64) {
	i := opIndex(op)
	s.add(cellOperations+i, n)
	s.add(cellBytes+i, bytes)
}

// completions counts what a Poll found: all by status, and those that no Post announced by operation.
func (s *shard) completions(list []driver.Completion) {
	for i := range list {
		if c := &list[i]; !c.Op.IsRequest() {
			s.operations(c.Op, 1, uint64(c.Bytes))
		}
	}
	for len(list) > 0 {
		status, run := list[0].Status, 0
		for run < len(list) && list[run].Status == status {
			run++
		}
		s.add(cellCompletions+statusIndex(status), uint64(run))
		list = list[run:]
	}
}

// countedQueuePair counts what the device takes: a list that was refused in part counts in part.
type countedQueuePair struct {
	driver.QueuePair
	shard *shard
}

func (q *countedQueuePair) Post(list []driver.Request) (int, error) {
	n, err := q.QueuePair.Post(list)
	q.shard.add(cellDoorbells, 1)
	q.shard.requests(list[:n])
	return n, err
}

func (q *countedQueuePair) PostReceive(list []driver.Receive) (int, error) {
	n, err := q.QueuePair.PostReceive(list)
	q.shard.add(cellReceiveDoorbells, 1)
	q.shard.add(cellReceives, uint64(n))
	return n, err
}

// countedReceives counts shared receives, with the completion queue of the queue pairs that take them.
type countedReceives struct {
	driver.SharedReceives
	shard *shard
}

func (r *countedReceives) PostReceive(list []driver.Receive) (int, error) {
	n, err := r.SharedReceives.PostReceive(list)
	r.shard.add(cellReceiveDoorbells, 1)
	r.shard.add(cellReceives, uint64(n))
	return n, err
}

// countedQueue counts polls. One that finds nothing adds to one cell only: it is what a spinning loop does most.
type countedQueue struct {
	driver.CompletionQueue
	shard   *shard
	counter *Counter
}

func (q *countedQueue) Poll(into []driver.Completion) (int, error) {
	n, err := q.CompletionQueue.Poll(into)
	if n == 0 {
		q.shard.add(cellEmptyPolls, 1)
		return n, err
	}
	q.shard.add(cellBusyPolls, 1)
	q.shard.completions(into[:n])
	return n, err
}

func (q *countedQueue) Close() error {
	err := q.CompletionQueue.Close()
	q.counter.retire(q.shard)
	return err
}

// countedWaiter counts sleeps, and calls that end them.
type countedWaiter struct {
	driver.Waiter
	sharing sharedWaiter // nil if the one inside cannot
	shard   *shard
}

func (w *countedWaiter) Wait(until clock.Time, spin time.Duration) error {
	w.shard.add(cellWaits, 1)
	return w.Waiter.Wait(until, spin)
}

func (w *countedWaiter) WaitShared(lock sync.Locker, until clock.Time, spin time.Duration) error {
	w.shard.add(cellWaits, 1)
	return w.sharing.WaitShared(lock, until, spin)
}

func (w *countedWaiter) Wake() {
	w.shard.add(cellWakes, 1)
	w.Waiter.Wake()
}

package member

import (
	"context"
	"runtime"
	"sync"

	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// task is what a crew does with a block.
type task uint8

const (
	taskCheck task = iota
	taskKeep
	taskFetch
	taskFill // of a page: into crew.page
)

// job is a task for a block, or for a page.
type job struct {
	task   task
	slot   int32
	stream int32
	number int32 // of the block, or page
	length int32 // bytes of the block on the wire
}

// result is how a job ended.
type result struct {
	job
	err error
}

// maxWorkers is enough for the fastest links: each checks some gigabytes a second.
const maxWorkers = 5

// crew calls the owner of blocks, in goroutines of its own, and knows what was kept. Its queues are bounded: a slot is in them once.
type crew struct {
	blocks  Blocks
	streams []manifest.Layout
	pool    *pool // only its bytes
	report  func()
	few     int      // bytes that are not worth being kept before there are more
	fewKept int      // blocks that may have been kept before the loop is told, which needs to know only for their memory
	page    [][]byte // where a page is to come to: one at a time is filled

	mu      sync.Mutex
	wake    sync.Cond // there is work, or the end has come
	idle    sync.Cond // there is none, and nobody works
	urgent  fifo.Queue[job]
	keeps   fifo.Queue[job] // these can wait, until they are due
	waiting int             // bytes of these
	due     bool            // Invariant: false if there are none
	drains  bool            // no more will come: what is still being checked is kept at once
	working int
	keeping int // of these
	keepers int // Invariant: keeping is at most this, so that somebody can check
	results []result
	spare   []result // what was taken last, to be filled next
	quiet   int      // results at the end of which nobody was told yet: see finish
	eager   bool     // the loop waits for memory: it wants to hear of each block that was kept
	kept    []schedule.Set
	count   []int // of kept
	stopped bool
	done    sync.WaitGroup
}

// start starts the workers, which stop ends. When there are results, report is called.
func (c *crew) start() {
	workers := min(runtime.GOMAXPROCS(0)+1, maxWorkers)
	c.keepers = workers - 1
	c.wake.L, c.idle.L = &c.mu, &c.mu
	for range workers {
		c.done.Add(1)
		go c.runWorker()
	}
}

// newCrew makes a crew for blocks in a pool. What waits in memory without need is a small part of it.
func newCrew(g *Group, p *pool, report func()) *crew {
	return &crew{blocks: g.Blocks, streams: g.Streams, pool: p, report: report, few: min(fewBytes, len(p.slots)/32*p.wire), fewKept: min(fewKept, len(p.slots)/32)}
}

const (
	fewBytes = 512 << 10
	fewKept  = 16
)

// runWorker works until stop.
func (c *crew) runWorker() {
	defer c.done.Done()
	for j, ok := c.next(); ok; j, ok = c.next() {
		if c.finish(result{j, c.do(j)}) {
			c.report()
		}
	}
}

// put hands over a job.
func (c *crew) put(j job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.urgent.Push(j)
	c.wake.Signal()
}

// smallCheck is up to how many bytes a block is checked by whoever has it, if nobody else has anything to do: that takes some tens of
// microseconds, and it takes as long to wake somebody and to be woken.
const smallCheck = 256 << 10

// checkHere checks a block at once, if that is best, and hands over that it is to be kept.
func (c *crew) checkHere(j job) (r result, done bool) {
	if int(j.length) > smallCheck || !c.rests() {
		return r, false
	}
	r = result{j, c.do(j)}
	if r.err == nil {
		c.putKeep(j.keep())
	}
	return r, true
}

func (c *crew) rests() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.working == 0 && !c.hasWork()
}

func (c *crew) putKeep(j job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.addKeep(j); c.hasWork() {
		c.wake.Signal()
	}
}

// addKeep adds a block that is to be kept. Several are kept at a time, if memory allows: to wake somebody for one costs more than to keep it.
func (c *crew) addKeep(j job) {
	c.keeps.Push(j)
	c.waiting += int(j.length)
	isLast := c.count[j.stream]+c.keeps.Len()+c.keeping >= c.kept[j.stream].Len()
	c.due = c.due || c.eager || c.drains || c.waiting >= c.few || isLast
}

// next waits for a job. What others wait for comes first.
func (c *crew) next() (j job, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.hasWork() {
		if c.stopped {
			return job{}, false
		}
		c.wake.Wait()
	}
	if !c.urgent.Empty() {
		j = c.urgent.Pop()
	} else {
		j = c.keeps.Pop()
		c.keeping++
		c.waiting -= int(j.length)
		c.due = !c.keeps.Empty()
	}
	c.working++
	if c.hasWork() { // who ends a job looks for the next one itself, so nobody else was told of this
		c.wake.Signal()
	}
	return j, true
}

// hasWork reports whether there is a job that may be begun.
func (c *crew) hasWork() bool { return !c.urgent.Empty() || c.due && c.keeping < c.keepers }

// do calls the owner.
func (c *crew) do(j job) error {
	l, number, wire := c.streams[j.stream], int(j.number), c.pool.bytes(max(j.slot, 0), int(j.length))
	switch j.task {
	case taskCheck:
		return c.blocks.Check(l, number, wire)
	case taskKeep:
		return c.blocks.Keep(l, number, wire)
	case taskFetch:
		return c.blocks.Fetch(l, number, wire)
	default:
		return c.blocks.FillPage(l, number, c.page)
	}
}

// finish notes how a job ended, and reports whether the loop must be told.
func (c *crew) finish(r result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working--
	switch {
	case r.task == taskKeep:
		c.keeping--
		if r.err == nil {
			c.noteKept(r.stream, int(r.number))
		}
	case r.task == taskCheck && r.err == nil:
		c.addKeep(r.keep())
	}
	if c.isIdle() {
		c.idle.Broadcast()
	}
	return c.add(r)
}

// keep is the job that follows a check.
func (j job) keep() job {
	j.task = taskKeep
	return j
}

// add adds a result, and reports whether the loop must be told: unless it knows that there are some, or need not know yet.
func (c *crew) add(r result) bool {
	wasQuiet := len(c.results) == c.quiet
	c.results = append(c.results, r)
	if wasQuiet && r.task == taskKeep && r.err == nil && !c.eager && c.count[r.stream] < c.kept[r.stream].Len() && c.quiet < c.fewKept {
		c.quiet++
		return false
	}
	return wasQuiet
}

func (c *crew) noteKept(stream int32, block int) {
	if !c.kept[stream].Has(block) {
		c.kept[stream].Add(block)
		c.count[stream]++
	}
}

// take takes the results. They are valid until the next call.
func (c *crew) take() []result {
	c.mu.Lock()
	defer c.mu.Unlock()
	results := c.results
	c.results, c.spare = c.spare[:0], results
	c.quiet, c.eager = 0, false
	return results
}

// beEager has all blocks kept that wait for more, and the loop told of the next one that is. It reports whether there were some of either kind
// to which memory was left that could have been free.
func (c *crew) beEager() bool {
	c.mu.Lock()
	lazy := c.quiet > 0 || !c.keeps.Empty() && !c.due
	tell := c.quiet > 0 && len(c.results) == c.quiet
	c.eager = true
	c.hurry()
	c.mu.Unlock()
	if tell {
		c.report()
	}
	return lazy
}

// have is what was kept of a stream.
func (c *crew) have(stream int) schedule.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[stream].Clone()
}

// has reports whether a block was kept.
func (c *crew) has(stream int32, block int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[stream].Has(block)
}

// hasAll reports whether all of a stream was kept.
func (c *crew) hasAll(stream int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count[stream] == c.kept[stream].Len()
}

// hurry has all blocks kept that are to be.
func (c *crew) hurry() {
	if c.due = !c.keeps.Empty(); c.due {
		c.wake.Signal()
	}
}

func (c *crew) isIdle() bool { return c.working == 0 && c.urgent.Empty() && c.keeps.Empty() }

// drain waits until all that has come is checked and kept, and drops what was to be sent. When the context ends, it waits only for what
// has begun.
func (c *crew) drain(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drains = true
	c.dropSends()
	c.hurry()
	defer context.AfterFunc(ctx, c.drop)()
	for !c.isIdle() {
		c.idle.Wait()
	}
}

func (c *crew) dropSends() {
	for c.urgent.Remove(func(j job) bool { return j.task == taskFetch || j.task == taskFill }) {
	}
}

func (c *crew) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.urgent.Drain()
	c.keeps.Drain()
	c.waiting, c.due = 0, false
	c.idle.Broadcast()
}

// stop ends the workers, when they have done what there is.
func (c *crew) stop() {
	c.mu.Lock()
	c.stopped = true
	c.wake.Broadcast()
	c.mu.Unlock()
	c.done.Wait()
}

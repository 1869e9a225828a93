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
	page    [][]byte // where a page is to come to: one at a time is filled

	mu      sync.Mutex
	wake    sync.Cond // there is work, or the end has come
	idle    sync.Cond // there is none, and nobody works
	urgent  fifo.Queue[job]
	keeps   fifo.Queue[job] // these can wait
	working int
	keeping int // of these
	keepers int // Invariant: keeping is at most this, so that somebody can check
	results []result
	spare   []result // what was taken last, to be filled next
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

// next waits for a job. What others wait for comes first.
func (c *crew) next() (j job, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case !c.urgent.Empty():
			j = c.urgent.Pop()
		case !c.keeps.Empty() && c.keeping < c.keepers:
			j = c.keeps.Pop()
			c.keeping++
		case c.stopped:
			return job{}, false
		default:
			c.wake.Wait()
			continue
		}
		c.working++
		return j, true
	}
}

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

// finish notes how a job ended, and reports whether somebody must be told.
func (c *crew) finish(r result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working--
	switch {
	case r.task == taskKeep:
		c.keeping--
		c.wake.Signal()
		if r.err == nil {
			c.noteKept(r.stream, int(r.number))
		}
	case r.task == taskCheck && r.err == nil:
		keep := r.job
		keep.task = taskKeep
		c.keeps.Push(keep)
		c.wake.Signal()
	}
	if c.isIdle() {
		c.idle.Broadcast()
	}
	c.results = append(c.results, r)
	return len(c.results) == 1
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
	return results
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

func (c *crew) isIdle() bool { return c.working == 0 && c.urgent.Empty() && c.keeps.Empty() }

// drain waits until all that has come is checked and kept, and drops what was to be sent. When the context ends, it waits only for what
// has begun.
func (c *crew) drain(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropSends()
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

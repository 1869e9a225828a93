package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// small makes a completion queue of a depth, and says what changes a queue pair to use it.
func (h *host) small(depth int) (*completionQueue, func(*driver.QueueConfig)) {
	h.t.Helper()
	c, err := h.device.NewCompletionQueue(depth)
	must(h.t, err)
	return c.(*completionQueue), func(config *driver.QueueConfig) { config.Completions = c }
}

// tags polls everything that is there.
func (c *completionQueue) tags(t *testing.T) []driver.Tag {
	t.Helper()
	into := make([]driver.Completion, 1<<10)
	n, err := c.Poll(into)
	must(t, err)
	tags := make([]driver.Tag, n)
	for i := range tags {
		tags[i] = into[i].Tag
	}
	return tags
}

// A queue pair that is closed leaves its room to the next, polled or not.
func TestClosedQueuePairsGiveTheirRoomBack(t *testing.T) {
	f := newFabric(t, quiet())
	a := newHost(t, f, NodeConfig{Name: "a"})
	queue, small := a.small(5)
	for round := range 10 {
		q := a.pair(small)
		for tag := range driver.Tag(4) {
			q.mustReceive(t, driver.Receive{Tag: tag})
		}
		must(t, q.Reset(4))
		must(t, f.Run(f.now.Add(time.Millisecond)))
		if round%2 == 1 { // some have been polled
			var one [1]driver.Completion
			if n, err := queue.Poll(one[:]); n != 1 || err != nil || one[0].Tag != 0 || one[0].Queue != q.number {
				t.Fatalf("round %d: polled %d, %+v: %v", round, n, one[0], err)
			}
		}
		must(t, q.Close())
		if queue.items.count != 0 || queue.void != 0 {
			t.Fatalf("round %d: %d completions are left, %d of them void", round, queue.items.count, queue.void)
		}
	}
}

// Of those that share a completion queue, only the closed one's completions go, and the others keep their order.
func TestClosingTouchesNobodyElse(t *testing.T) {
	f := newFabric(t, quiet())
	a := newHost(t, f, NodeConfig{Name: "a"})
	queue, small := a.small(9)
	first, middle, last := a.pair(small), a.pair(small), a.pair(small)
	for i, q := range []*queuePair{first, last, middle, last, first, middle, last, last, last} {
		q.mustReceive(t, driver.Receive{Tag: driver.Tag(i)})
		must(t, q.Reset(99)) // flushes at once; the Reset itself takes longer
	}
	must(t, f.Run(f.now+f.delay.progress))
	must(t, middle.Close())
	if queue.void != 2 {
		t.Errorf("%d are void before anybody has polled, want those of the middle", queue.void)
	}
	last.mustReceive(t, driver.Receive{Tag: 9}, driver.Receive{Tag: 10}) // in their room
	must(t, f.Run(f.now+f.delay.progress))
	must(t, first.Close())
	if got := queue.tags(t); !slices.Equal(got, []driver.Tag{1, 3, 6, 7, 8, 9, 10}) {
		t.Errorf("polled %v", got)
	}
	if queue.void != 0 || last.account.queued != 0 {
		t.Errorf("%d void, %d of the last are left", queue.void, last.account.queued)
	}
}

// What arrived by shared receives is the pool's: it outlives the queue pair, so that the pool's owner learns which
// receives were taken, but not the pool.
func TestReceivesOutliveTheirQueuePairButNotTheirPool(t *testing.T) {
	f := newFabric(t, quiet())
	a, b := newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b"})
	queue, small := b.small(5) // four receives and a Connect
	for range 5 {
		pool, err := b.domain.NewSharedReceives(driver.SharedConfig{Depth: 4, MaxSpans: 1, Completions: queue})
		must(t, err)
		qa, qb := a.pair(), b.pair(small, func(c *driver.QueueConfig) { c.Shared = pool })
		must(t, qa.Connect(1, qb.Address()))
		must(t, qb.Connect(2, qa.Address()))
		a.want(driver.OpConnect, driver.OK)
		for tag := range driver.Tag(4) {
			_, err := pool.PostReceive([]driver.Receive{{Tag: 10 + tag}})
			must(t, err)
			qa.must(t, driver.Request{Op: driver.OpSend, Flags: driver.Quiet})
		}
		must(t, f.Run(f.now.Add(time.Millisecond)))
		must(t, qb.Close())
		if n := int(queue.items.count) - queue.void; n != 4 || queue.items.front().Tag != 10 {
			t.Fatalf("%d completions are left, the first has tag %d", n, queue.items.front().Tag)
		}
		must(t, pool.Close())
		if queue.items.count != 0 {
			t.Fatalf("%d completions outlive their pool", queue.items.count)
		}
		must(t, qa.Close())
	}
	if _, err := queue.Poll(nil); err != nil {
		t.Error(err)
	}
	settled(t, f)
}

// Closing thousands of queue pairs moves each completion a few times, not once for each queue pair.
func TestClosingManyQueuePairsIsNotQuadratic(t *testing.T) {
	f := newFabric(t, quiet())
	a := newHost(t, f, NodeConfig{Name: "a"})
	pairs := make([]*queuePair, 3000)
	for i := range pairs {
		pairs[i] = a.pair()
		pairs[i].mustReceive(t, driver.Receive{Tag: driver.Tag(i)})
		must(t, pairs[i].Reset(0))
	}
	compacted := 0
	for _, i := range f.random.Perm(len(pairs)) {
		must(t, pairs[i].Close())
		if a.queue.void == 0 {
			compacted++
		}
	}
	if a.queue.items.count != 0 || compacted > 30 {
		t.Errorf("%d completions are left, and all were moved %d times", a.queue.items.count, compacted)
	}
}

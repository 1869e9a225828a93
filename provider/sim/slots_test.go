package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// sizes is how much of everything a fabric keeps.
func sizes(f *Fabric) string {
	_, room := f.events.left()
	n := fmt.Sprint(len(f.pairs), len(f.queues), f.requests.used, f.spans.used, f.payloads.used, f.controls.used,
		f.network.flows.used, room)
	for _, node := range f.nodes {
		n += fmt.Sprint(" ", len(node.device.pairs), cap(node.device.pairs), len(node.device.queues), len(node.device.memories))
	}
	return n
}

// generation connects a queue pair that has a completion queue of its own with one that has a pool, leaves something of
// everything under way, and closes it all.
func generation(t *testing.T, a, b *host, pool driver.SharedReceives, target *queuePair) {
	qa := openAlone(t, a)
	qb := b.pair(func(c *driver.QueueConfig) { c.Shared = pool })
	must(t, qa.Connect(1, qb.Address()))
	must(t, qb.Connect(2, qa.Address()))
	must(t, a.fabric.Run(a.fabric.now+2000))
	qa.must(t,
		driver.Request{Op: driver.OpSend, Span: a.span(0, 8), More: []driver.Span{a.span(8, 8)}},
		driver.Request{Op: driver.OpWrite, Span: a.span(0, 8), Remote: b.remote(0, 8)},
		driver.Request{Op: driver.OpSend, After: driver.Arrival{Queue: target.number, Count: 1}})
	must(t, qa.SetAccess(3, 0))
	must(t, a.fabric.Run(a.fabric.now+2000)) // the Send waits for a receive
	must(t, qa.Close())
	must(t, qa.queue.Close())
	must(t, qb.Close())
	b.poll()
}

// openAlone makes a queue pair with a completion queue of its own.
func openAlone(t *testing.T, h *host) *queuePair {
	queue, err := h.device.NewCompletionQueue(64)
	must(t, err)
	return h.pair(func(c *driver.QueueConfig) { c.Completions = queue })
}

// However many queue pairs and completion queues come and go, a fabric keeps only those that something can still name.
func TestOpeningAndClosingDoesNotGrow(t *testing.T) {
	config := quiet()
	config.PeerTimeout = 10 * time.Microsecond // a Connect is remembered for so long
	f := newFabric(t, config)
	a, b := newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b"})
	pool, err := b.domain.NewSharedReceives(driver.SharedConfig{Depth: 4, MaxSpans: 1, Completions: b.queue})
	must(t, err)
	target := a.pair()
	cycles := 100_000
	if testing.Short() {
		cycles = 10_000
	}
	warm := ""
	for i := range cycles {
		generation(t, a, b, pool, target)
		if i == 1000 {
			warm = sizes(f)
		}
	}
	if end := sizes(f); end != warm {
		t.Errorf("after %d cycles: %s; after 1000: %s", cycles, end, warm)
	}
	if n := len(pool.(*sharedReceives).waiting) + len(target.chained); n != 0 {
		t.Errorf("%d closed queue pairs still wait", n)
	}
	must(t, f.Run(f.now.Add(time.Hour)))
	if open := len(f.pairs) - 1 - len(f.freePairs); open != 1 || f.pairs[target.index] != target || target.pins != 1 {
		t.Errorf("%d slots are taken, want the one of the queue pair that is open, with %d pins", open, target.pins)
	}
	settled(t, f)
}

// Nodes that crash and come back leave nothing behind either.
func TestCrashingDoesNotGrow(t *testing.T) {
	f := newFabric(t, Config{PeerTimeout: 10 * time.Microsecond, Jitter: -1})
	a := newHost(t, f, NodeConfig{Name: "a"})
	b := newHost(t, f, NodeConfig{Name: "b"})
	warm := ""
	for i := range 3000 {
		qa, qb := openAlone(t, a), b.pair()
		must(t, qa.Connect(1, qb.Address()))
		must(t, qb.Connect(2, qa.Address()))
		must(t, f.Run(f.now+2000))
		qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 60000), Remote: b.remote(0, 60000)})
		must(t, f.Run(f.now+2000))
		must(t, f.Crash("b"))
		must(t, f.Run(f.now+20_000))
		must(t, qa.Close())
		must(t, qa.queue.Close())
		d, err := f.Restart("b")
		must(t, err)
		b = outfit(t, f, d)
		if i == 100 {
			warm = sizes(f)
		}
	}
	if end := sizes(f); end != warm {
		t.Errorf("at the end: %s; after 100 cycles: %s", end, warm)
	}
}

// What was planned for a completion queue that is closed does not reach the one that has its slot now.
func TestSlotOfACompletionQueueIsUsedAgain(t *testing.T) {
	f := newFabric(t, Config{})
	a := newHost(t, f, NodeConfig{Name: "a"})
	open := func() *completionQueue {
		c, err := a.device.NewCompletionQueue(1)
		must(t, err)
		return c.(*completionQueue)
	}
	first := open()
	first.Drive(&script{next: 50, clock: f})
	must(t, first.Close())
	second := open()
	if second.index != first.index {
		t.Fatalf("slot %d was not used again but %d", first.index, second.index)
	}
	s := &script{next: 70, clock: f}
	second.Drive(s)
	must(t, f.Run(70))
	if !slices.Equal(s.turns, []clock.Time{70}) || f.Events() != 1 {
		t.Errorf("turns at %v, after %d events", s.turns, f.Events())
	}
}

// A write that outlives its queue pair lands under the old name, and counts for nobody else.
func TestSlotOfAQueuePairIsKeptWhileItIsNamed(t *testing.T) {
	var landed []Event
	observe := func(e Event) {
		if e.Kind == Landed {
			landed = append(landed, e)
		}
	}
	f, a, b, qa, _ := couple(t, Config{Jitter: -1, Observe: observe})
	d := f.delay
	qa.must(t, driver.Request{Tag: 9, Op: driver.OpWrite, Span: a.span(0, 8), Remote: b.remote(0, 8)})
	must(t, f.Run(f.now+d.post+d.doorbell+d.fetch+10)) // it is on the wire
	must(t, qa.Close())
	if next := a.pair(); next.index == qa.index || next.number == qa.number {
		t.Errorf("slot %d, number %d were given to another", next.index, next.number)
	}
	must(t, f.Run(f.now.Add(time.Second)))
	if len(landed) != 1 || landed[0].Queue != qa.number || landed[0].Tag != 9 {
		t.Errorf("landed: %+v", landed)
	}
	if last := a.pair(); last.index != qa.index {
		t.Errorf("slot %d is still not free", qa.index)
	}
	settled(t, f)
}

// Completion queues can be closed in any order, and whoever is left is found.
func TestCompletionQueuesCloseInAnyOrder(t *testing.T) {
	f := newFabric(t, Config{})
	d, err := f.NewDevice(NodeConfig{Name: "a"})
	must(t, err)
	queues := make([]*completionQueue, 50)
	for i := range queues {
		c, err := d.NewCompletionQueue(1)
		must(t, err)
		queues[i] = c.(*completionQueue)
	}
	for left, i := range f.random.Perm(len(queues)) {
		must(t, queues[i].Close())
		if len(d.queues) != len(queues)-left-1 || slices.Contains(d.queues, queues[i]) {
			t.Fatalf("%d queues are left after closing %d of %d", len(d.queues), left+1, len(queues))
		}
		for place, c := range d.queues {
			if int(c.place) != place {
				t.Fatalf("the queue at %d believes to be at %d", place, c.place)
			}
		}
	}
	must(t, d.Close())
}

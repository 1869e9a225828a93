package soft

import (
	"fmt"
	"testing"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// churn opens and closes things beside a connection that stays. The device's goroutine is not started: its steps are
// taken by hand, at times of the test's choosing.
type churn struct {
	*tracks
	now clock.Time
}

func newChurn(t *testing.T) *churn {
	c := &churn{tracks: newTracks(t), now: clock.Real.Now()}
	c.a.device.nic.close()
	c.a.device.nic.stopped, c.a.device.nic.started = false, true
	return c
}

// standIn takes the steps of the device's goroutine, twice: the first look at a queue only notes what its owner does.
func (c *churn) standIn() {
	for range 2 {
		c.now = c.now.Add(patience)
		c.a.device.nic.takeInbox(c.now)
		c.a.device.nic.workThrough(c.now)
	}
}

// sizes prints the lengths of everything that could grow: of the process, the device, its goroutine, the domain, the
// completion queue, and a queue pair that stays.
func (c *churn) sizes() string {
	d, n, h, in := c.a.device, &c.a.device.nic, c.a, c.in
	process.mu.RLock()
	defer process.mu.RUnlock()
	return fmt.Sprint(
		"devices ", len(process.devices), ", domains ", len(d.domains), ", queues ", len(d.queues), ", pairs ", len(d.pairs),
		"; inbox ", len(n.inbox), ", watching ", len(n.watching),
		"; children ", h.domain.children, ", lives ", len(h.domain.lives), ", regions ", len(h.domain.keys.regions),
		", indexes ", len(*h.domain.keys.tenants.Load()),
		"; busy ", len(h.cq.busy), ", fences ", len(h.cq.fences), ", users ", h.cq.users, ", owing ", h.cq.owing,
		", done ", h.cq.done.count(), ", members ", len(h.cq.ready.members),
		"; users ", len(in.pool.users), ", chained ", len(in.life.Load().chain.waiting))
}

// pair is host.pair for a queue pair that the cycle closes itself.
func (c *churn) pair(cq driver.CompletionQueue) *QueuePair {
	q, err := c.a.domain.NewQueuePair(driver.QueueConfig{Completions: cq, SendDepth: 4, ReceiveDepth: 4, MaxSpans: 1})
	ok(c.a.t, err)
	return q.(*QueuePair)
}

func (c *churn) queue() *CompletionQueue {
	q, err := c.a.device.NewCompletionQueue(16)
	ok(c.a.t, err)
	return q.(*CompletionQueue)
}

func (c *churn) close(all ...interface{ Close() error }) {
	c.a.t.Helper()
	for _, one := range all {
		ok(c.a.t, one.Close())
	}
}

// connect makes two queue pairs Ready, one of cq and one of the host's completion queue, and drops the completions.
func (c *churn) connect(cq *CompletionQueue) (q, peer *QueuePair) {
	q, peer = c.pair(cq), c.pair(c.a.cq)
	ok(c.a.t, q.Connect(0, peer.Address()))
	ok(c.a.t, peer.Connect(0, q.Address()))
	cq.Poll(c.into)
	c.a.cq.Poll(c.into)
	if q.State() != driver.Ready || peer.State() != driver.Ready {
		c.a.t.Fatalf("states are %v and %v, want Ready", q.State(), peer.State())
	}
	return q, peer
}

// afterIn is a request that waits for an arrival that never comes, on the queue pair that stays.
func (c *churn) afterIn() driver.Request {
	return driver.Request{Op: driver.OpWrite, After: driver.Arrival{Queue: c.in.Number(), Count: 1}}
}

// The cycles. Each opens something and closes it, in whatever state it is by then.

func (c *churn) memory() {
	m, err := c.a.domain.Alloc(64, 0)
	ok(c.a.t, err)
	ok(c.a.t, m.(*Memory).SetAccess(c.a.cq, 0, driver.RemoteRead))
	c.a.cq.Poll(c.into)
	c.close(m)
}

func (c *churn) device() {
	d, err := New(Config{})
	ok(c.a.t, err)
	domain, err := d.NewDomain()
	ok(c.a.t, err)
	c.close(domain, d)
}

func (c *churn) killedDevice() {
	d, err := New(Config{})
	ok(c.a.t, err)
	d.Kill()
	c.close(d)
}

func (c *churn) sharedReceives() {
	s, err := c.a.domain.NewSharedReceives(driver.SharedConfig{Depth: 4, MaxSpans: 1, Completions: c.a.cq})
	ok(c.a.t, err)
	receive(c.a.t, s, driver.Receive{})
	c.close(s)
}

// connectingPair is never polled for.
func (c *churn) connectingPair() {
	q := c.pair(c.a.cq)
	ok(c.a.t, q.Connect(0, c.feed.Address()))
	c.close(q)
}

func (c *churn) resetPair() {
	q, peer := c.connect(c.a.cq)
	receive(c.a.t, q, driver.Receive{})
	ok(c.a.t, q.Reset(0))
	c.close(q, peer)
	c.a.cq.Poll(c.into)
}

func (c *churn) chainedPair() {
	q, peer := c.connect(c.a.cq)
	post(c.a.t, q, c.afterIn())
	c.a.cq.Poll(c.into)
	c.close(q, peer)
}

func (c *churn) chainedPairThatIsReset() {
	q, peer := c.connect(c.a.cq)
	post(c.a.t, q, c.afterIn())
	c.a.cq.Poll(c.into)
	ok(c.a.t, q.Reset(0))
	c.a.cq.Poll(c.into)
	c.close(q, peer)
}

func (c *churn) watchedQueue() {
	cq := c.queue()
	q, peer := c.connect(cq)
	post(c.a.t, q, c.afterIn())
	c.standIn()
	c.close(q, peer, cq)
}

// TestNothingGrows goes through each cycle thousands of times. What grows by one each time is seen.
func TestNothingGrows(t *testing.T) {
	const cycles = 3000
	for name, cycle := range map[string]func(*churn){
		"memory":                     (*churn).memory,
		"device":                     (*churn).device,
		"killed device":              (*churn).killedDevice,
		"shared receives":            (*churn).sharedReceives,
		"connecting pair":            (*churn).connectingPair,
		"reset pair":                 (*churn).resetPair,
		"chained pair":               (*churn).chainedPair,
		"chained pair that is reset": (*churn).chainedPairThatIsReset,
		"watched completion queue":   (*churn).watchedQueue,
	} {
		t.Run(name, func(t *testing.T) {
			c := newChurn(t)
			turn := func() { cycle(c); c.standIn() }
			turn()
			before := c.sizes()
			for range cycles {
				turn()
			}
			if after := c.sizes(); after != before {
				t.Errorf("after one cycle:\n%s\nafter %d:\n%s", before, 1+cycles, after)
			}
		})
	}
}

package loop

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fakeDevice has a clock that stands still unless somebody waits, and completions only for changes of memory access.
type fakeDevice struct {
	now   clock.Time
	queue *fakeQueue
	pair  fakePair
}

type fakeQueue struct {
	device *fakeDevice
	ready  []verbs.Completion
	woken  atomic.Bool
	calls  chan struct{} // holds one
	broken error         // what WaitShared ends with
	waits  []wait
	onWait func()
}

// wait is one call of Wait.
type wait struct {
	until clock.Time
	spin  time.Duration
}

func (d *fakeDevice) Now() clock.Time    { return d.now }
func (d *fakeDevice) Clock() clock.Clock { return d }
func (d *fakeDevice) Close() error       { return nil }
func (d *fakeDevice) Limits() verbs.Limits {
	return verbs.Limits{Provider: "fake", MaxCompletion: 1000, MaxDepth: 100, MaxSpans: 1}
}
func (d *fakeDevice) NewDomain() (driver.Domain, error) {
	return fakeDomain{d}, nil
}
func (d *fakeDevice) NewCompletionQueue(int) (driver.CompletionQueue, error) {
	d.queue = &fakeQueue{device: d, calls: make(chan struct{}, 1)}
	return d.queue, nil
}

func (q *fakeQueue) Close() error { return nil }
func (q *fakeQueue) Poll(into []verbs.Completion) (int, error) {
	n := copy(into, q.ready)
	q.ready = q.ready[n:]
	return n, nil
}
func (q *fakeQueue) Wake() {
	q.woken.Store(true)
	select {
	case q.calls <- struct{}{}:
	default:
	}
}
func (q *fakeQueue) Wait(until clock.Time, spin time.Duration) error {
	q.waits = append(q.waits, wait{until, spin})
	if q.onWait != nil {
		q.onWait()
	}
	if !q.woken.Swap(false) && until != clock.Never {
		q.device.now = max(q.device.now, until)
	}
	return nil
}

// WaitShared blocks until Wake if there is no deadline. Everything but the calls is guarded by the lock.
func (q *fakeQueue) WaitShared(lock sync.Locker, until clock.Time, spin time.Duration) error {
	if len(q.ready) > 0 || until != clock.Never {
		return q.Wait(until, spin)
	}
	q.waits = append(q.waits, wait{until, spin})
	lock.Unlock()
	<-q.calls
	lock.Lock()
	return q.broken
}

type fakeDomain struct{ device *fakeDevice }

func (fakeDomain) Close() error                                         { return nil }
func (fakeDomain) Register([]byte, verbs.Access) (driver.Memory, error) { return fakeMemory{}, nil }
func (d fakeDomain) NewQueuePair(driver.QueueConfig) (driver.QueuePair, error) {
	return &d.device.pair, nil
}

type fakeMemory struct{}

func (fakeMemory) Region() driver.Region { return driver.Region{} }
func (fakeMemory) Close() error          { return nil }
func (fakeMemory) SetAccess(queue driver.CompletionQueue, tag verbs.Tag, _ verbs.Access) error {
	q := queue.(*fakeQueue)
	q.ready = append(q.ready, verbs.Completion{Tag: tag, Op: verbs.OpMemoryAccess})
	return nil
}

// rig is a loop on the fake, and memory whose changes of access make completions.
type rig struct {
	*Loop
	fake   *fakeQueue
	domain *verbs.Domain
	memory *verbs.Memory
}

func newRig(t *testing.T, config Config) *rig {
	t.Helper()
	fake := &fakeDevice{now: 1000}
	device, err := verbs.Open(fake)
	check(t, err)
	domain, err := device.NewDomain()
	check(t, err)
	config.Completions, err = device.NewCompletionQueue(500)
	check(t, err)
	memory, err := domain.Alloc(8, 0)
	check(t, err)
	l, err := New(config)
	check(t, err)
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{l, memory, config.Completions, domain, device} {
			check(t, c.Close())
		}
	})
	return &rig{l, fake.queue, domain, memory}
}

// complete makes a completion with tag.
func (r *rig) complete(t *testing.T, tag verbs.Tag) {
	t.Helper()
	check(t, r.memory.SetAccess(r.queue, tag, 0))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// recorder is a machine that remembers what it was stepped with.
type recorder struct {
	seen []verbs.Completion
	then func()
}

func (r *recorder) Step(c *verbs.Completion) {
	r.seen = append(r.seen, *c)
	if r.then != nil {
		r.then()
	}
}

// watcher is a recorder that scans.
type watcher struct {
	recorder
	loop  *Loop
	scans []clock.Time
}

func (w *watcher) Scan() bool {
	w.scans = append(w.scans, w.loop.Now())
	return false
}

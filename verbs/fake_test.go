package verbs

import (
	"testing"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/verbs/driver"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fakeDevice completes nothing by itself: tests say what a provider reports, in what order. It has no optional
// capability.
type fakeDevice struct {
	limits driver.Limits
	queue  *fakeQueue
	pair   *fakePair
	pairs  uint32
}

type fakeDomain struct{ device *fakeDevice }

type fakeMemory struct{ bytes []byte }

type fakeQueue struct{ ready []Completion }

type fakePair struct {
	number   uint32
	queue    *fakeQueue
	state    State
	requests []driver.Request // posted, not yet completed
	receives []driver.Receive
	controls []Tag
	bells    int   // calls of Post
	failing  error // of Post and PostReceive, after they took some
	takes    int   // how many they take before they fail
	written  int   // bytes, by WriteNow
	isBusy   bool  // WriteNow does nothing
}

func (p *fakePair) WriteNow(from []byte, _ RemoteSpan) bool {
	if !p.isBusy {
		p.written += len(from)
	}
	return !p.isBusy
}

func newFakeDevice() *fakeDevice {
	return &fakeDevice{limits: driver.Limits{Provider: "fake", MaxMessage: 1 << 20, MaxInline: 32, MaxSpans: 3,
		MaxDepth: 1000, MaxQueuePairs: 10, MaxCompletion: 10000}}
}

func (d *fakeDevice) Limits() driver.Limits             { return d.limits }
func (d *fakeDevice) NewDomain() (driver.Domain, error) { return &fakeDomain{d}, nil }
func (d *fakeDevice) Close() error                      { return nil }
func (d *fakeDevice) NewCompletionQueue(int) (driver.CompletionQueue, error) {
	d.queue = &fakeQueue{}
	return d.queue, nil
}

func (d *fakeDomain) Register(b []byte, _ Access) (driver.Memory, error) { return &fakeMemory{b}, nil }
func (d *fakeDomain) Close() error                                       { return nil }
func (d *fakeDomain) NewQueuePair(c driver.QueueConfig) (driver.QueuePair, error) {
	d.device.pairs++
	d.device.pair = &fakePair{number: d.device.pairs, queue: c.Completions.(*fakeQueue)}
	return d.device.pair, nil
}

func (m *fakeMemory) Close() error { return nil }
func (m *fakeMemory) Region() driver.Region {
	return driver.Region{Bytes: m.bytes, Address: 4096, Length: uint64(len(m.bytes)), LocalKey: 7, RemoteKey: 8}
}

func (q *fakeQueue) Close() error { return nil }
func (q *fakeQueue) Poll(into []Completion) (int, error) {
	n := copy(into, q.ready)
	q.ready = q.ready[n:]
	return n, nil
}

func (p *fakePair) Number() uint32   { return p.number }
func (p *fakePair) Address() Address { return "fake" }
func (p *fakePair) State() State     { return p.state }
func (p *fakePair) Close() error     { return nil }
func (p *fakePair) Post(list []driver.Request) (int, error) {
	p.bells++
	n := p.accepted(len(list))
	for _, r := range list[:n] {
		r.More = append([]Span(nil), r.More...)
		p.requests = append(p.requests, r)
	}
	return n, p.failing
}
func (p *fakePair) PostReceive(list []driver.Receive) (int, error) {
	n := p.accepted(len(list))
	p.receives = append(p.receives, list[:n]...)
	return n, p.failing
}
func (p *fakePair) accepted(n int) int {
	if p.failing != nil {
		return p.takes
	}
	return n
}
func (p *fakePair) Connect(tag Tag, _ Address) error  { return p.control(tag, Ready) }
func (p *fakePair) SetAccess(tag Tag, _ Access) error { return p.control(tag, p.state) }
func (p *fakePair) Reset(tag Tag) error               { return p.control(tag, New) }
func (p *fakePair) control(tag Tag, state State) error {
	p.controls = append(p.controls, tag)
	p.state = state
	return nil
}

// finish reports the posted request at index, as a provider would.
func (p *fakePair) finish(index int, status Status) {
	r := p.requests[index]
	p.queue.ready = append(p.queue.ready, Completion{Tag: r.Tag, Op: r.Op, Status: status, Queue: p.number})
}

// carryOut completes everything posted, in order and with success, as an honest provider does.
func (p *fakePair) carryOut() {
	for i, r := range p.requests {
		if r.Flags&Quiet == 0 {
			p.finish(i, OK)
		}
	}
	p.requests = p.requests[:0]
}

// rig is one connected queue pair on the fake.
type rig struct {
	device *Device
	domain *Domain
	queue  *CompletionQueue
	pair   *QueuePair
	memory *Memory
	fake   *fakePair
}

func newRig(t *testing.T, config QueueConfig) *rig {
	t.Helper()
	provider := newFakeDevice()
	r := &rig{}
	r.device = must(Open(provider))(t)
	r.domain = must(r.device.NewDomain())(t)
	r.queue = must(r.device.NewCompletionQueue(4096))(t)
	r.memory = must(r.domain.Alloc(4096, RemoteAll))(t)
	config.Completions = r.queue
	r.pair = must(r.domain.NewQueuePair(config))(t)
	r.fake = provider.pair
	r.connect(t)
	t.Cleanup(func() {
		for _, closer := range []interface{ Close() error }{r.pair, r.memory, r.queue, r.domain, r.device} {
			if err := closer.Close(); err != nil {
				t.Errorf("close %v: %v", closer, err)
			}
		}
	})
	return r
}

func (r *rig) connect(t *testing.T) {
	t.Helper()
	check(t, r.pair.Connect(0, "peer"))
	r.fake.queue.ready = append(r.fake.queue.ready, Completion{Tag: r.fake.controls[len(r.fake.controls)-1], Op: OpConnect})
	if got := r.poll(t); len(got) != 1 || got[0].Op != OpConnect {
		t.Fatalf("connecting ended as %+v", got)
	}
}

func (r *rig) poll(t *testing.T) []Completion {
	t.Helper()
	into := make([]Completion, 4096)
	n, err := r.queue.Poll(into)
	check(t, err)
	return into[:n]
}

func (r *rig) write(tag Tag, flags Flags) error {
	return r.pair.Write(tag, r.memory.Span(0, 8), r.memory.Remote(8, 8), flags)
}

// must turns a result and an error into the result, or fails the test.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		check(t, err)
		return value
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package sim

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/verbs/driver"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The provider is what package verbs will assert it to be.
var (
	_ driver.Device          = (*Device)(nil)
	_ driver.Clocked         = (*Device)(nil)
	_ driver.Domain          = (*Domain)(nil)
	_ driver.Allocator       = (*Domain)(nil)
	_ driver.Phantoms        = (*Domain)(nil)
	_ driver.SharedReceiver  = (*Domain)(nil)
	_ driver.Memory          = (*memory)(nil)
	_ driver.MemoryAccess    = (*memory)(nil)
	_ driver.MemoryAccess    = phantomMemory{}
	_ driver.CompletionQueue = (*completionQueue)(nil)
	_ driver.Waiter          = (*completionQueue)(nil)
	_ driver.Driven          = (*completionQueue)(nil)
	_ driver.Windows         = (*queuePair)(nil)
)

const (
	testSize  = 1 << 16
	testDepth = 64
)

// quiet is a fabric whose times can be computed by hand.
func quiet() Config { return Config{Jitter: -1} }

// host is a node with one of everything.
type host struct {
	t      testing.TB
	fabric *Fabric
	device *Device
	domain *Domain
	queue  *completionQueue
	memory *memory
	got    []driver.Completion // what take has not handed out yet
}

func newFabric(t testing.TB, c Config) *Fabric {
	t.Helper()
	f, err := New(c)
	must(t, err)
	return f
}

func newHost(t testing.TB, f *Fabric, c NodeConfig) *host {
	t.Helper()
	d, err := f.NewDevice(c)
	must(t, err)
	return outfit(t, f, d)
}

func outfit(t testing.TB, f *Fabric, d *Device) *host {
	t.Helper()
	domain, err := d.NewDomain()
	must(t, err)
	queue, err := d.NewCompletionQueue(1 << 16)
	must(t, err)
	h := &host{t: t, fabric: f, device: d, domain: domain.(*Domain), queue: queue.(*completionQueue)}
	m, err := h.domain.Alloc(testSize, driver.RemoteAll)
	must(t, err)
	h.memory = m.(*memory)
	return h
}

func (h *host) pair(change ...func(*driver.QueueConfig)) *queuePair {
	h.t.Helper()
	c := driver.QueueConfig{Completions: h.queue, SendDepth: testDepth, ReceiveDepth: testDepth, MaxSpans: 4, MaxInline: 256,
		Access: driver.RemoteAll, ReceiverWait: time.Millisecond}
	for _, f := range change {
		f(&c)
	}
	q, err := h.domain.NewQueuePair(c)
	must(h.t, err)
	return q.(*queuePair)
}

// join connects two queue pairs and takes the completions of that.
func join(a, b *host, qa, qb *queuePair) {
	a.t.Helper()
	must(a.t, qa.Connect(1, qb.Address()))
	must(a.t, qb.Connect(2, qa.Address()))
	a.want(driver.OpConnect, driver.OK)
	b.want(driver.OpConnect, driver.OK)
}

// couple is two connected hosts.
func couple(t testing.TB, c Config) (f *Fabric, a, b *host, qa, qb *queuePair) {
	t.Helper()
	f = newFabric(t, c)
	a, b = newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b"})
	qa, qb = a.pair(), b.pair()
	join(a, b, qa, qb)
	return f, a, b, qa, qb
}

// take returns the next completion, letting time pass for it.
func (h *host) take() driver.Completion {
	h.t.Helper()
	if len(h.got) == 0 {
		must(h.t, h.queue.Wait(clock.Never, 0))
		h.got = h.poll()
	}
	if len(h.got) == 0 {
		h.t.Fatalf("wait on %s returned at %v without a completion", h.device.Name(), h.fabric.now)
	}
	c := h.got[0]
	h.got = h.got[1:]
	return c
}

// poll takes what is there, without letting time pass.
func (h *host) poll() []driver.Completion {
	h.t.Helper()
	into := make([]driver.Completion, 1<<10)
	n, err := h.queue.Poll(into)
	must(h.t, err)
	return into[:n]
}

// want takes the next completion and checks what it is.
func (h *host) want(op driver.Op, status driver.Status) driver.Completion {
	h.t.Helper()
	c := h.take()
	if c.Op != op || c.Status != status {
		h.t.Fatalf("%s got %v %v with tag %d at %v, want %v %v", h.device.Name(), c.Op, c.Status, c.Tag, h.fabric.now,
			op, status)
	}
	return c
}

// nothing checks that no completion comes, for a long time.
func (h *host) nothing() {
	h.t.Helper()
	must(h.t, h.fabric.Run(h.fabric.now.Add(10*time.Second)))
	if more := h.poll(); len(h.got)+len(more) > 0 {
		h.t.Fatalf("%s got %+v %+v, want nothing", h.device.Name(), h.got, more)
	}
}

func (h *host) span(offset, n int) driver.Span {
	r := h.memory.Region()
	return driver.Span{Address: r.Address + uint64(offset), Length: uint32(n), Key: r.LocalKey}
}

func (h *host) remote(offset, n int) driver.RemoteSpan {
	r := h.memory.Region()
	return driver.RemoteSpan{Address: r.Address + uint64(offset), Length: uint64(n), Key: r.RemoteKey}
}

func (h *host) bytes() []byte { return h.memory.region.Bytes }

func (h *host) word(offset int) uint64 { return binary.NativeEndian.Uint64(h.bytes()[offset:]) }

func (h *host) setWord(offset int, v uint64) { binary.NativeEndian.PutUint64(h.bytes()[offset:], v) }

func (q *queuePair) must(t testing.TB, list ...driver.Request) {
	t.Helper()
	n, err := q.Post(list)
	must(t, err)
	if n != len(list) {
		t.Fatalf("post took %d of %d", n, len(list))
	}
}

func (q *queuePair) mustReceive(t testing.TB, list ...driver.Receive) {
	t.Helper()
	_, err := q.PostReceive(list)
	must(t, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// live is how many items of a slab are taken.
func (s *slab[T]) live() int { return int(s.used) - len(s.free) }

// settled checks that no request, span list or payload is left over once nothing is under way.
func settled(t testing.TB, f *Fabric) {
	t.Helper()
	must(t, f.Run(f.now.Add(time.Hour)))
	if n := fmt.Sprint(f.requests.live(), f.spans.live(), f.payloads.live(), f.controls.live()); n != "0 0 0 0" {
		t.Errorf("live requests, span lists, payloads, controls at the end: %s", n)
	}
}

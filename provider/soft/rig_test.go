package soft

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// tolerance bounds how long a test waits for something that must come. It is never waited for when all is well.
const tolerance = 20 * time.Second

// host is a device with one domain and one completion queue, and what one goroutine needs to use them.
type host struct {
	t      testing.TB
	device *Device
	domain *Domain
	cq     *CompletionQueue
	kept   []driver.Completion // polled, not yet asked for
	shut   []func() error      // newest last
}

func newHost(t testing.TB) *host { return newHostWith(t, Config{Name: t.Name()}) }

func newHostWith(t testing.TB, config Config) *host {
	t.Helper()
	d, err := New(config)
	ok(t, err)
	h := &host{t: t, device: d}
	domain, err := d.NewDomain()
	ok(t, err)
	h.domain = domain.(*Domain)
	cq, err := d.NewCompletionQueue(1 << 16)
	ok(t, err)
	h.cq = cq.(*CompletionQueue)
	h.shut = append(h.shut, d.Close, h.domain.Close, h.cq.Close)
	t.Cleanup(h.close)
	return h
}

// sibling returns a host that shares device and domain, but has a completion queue of its own.
func (h *host) sibling() *host {
	h.t.Helper()
	cq, err := h.device.NewCompletionQueue(1 << 16)
	ok(h.t, err)
	s := &host{t: h.t, device: h.device, domain: h.domain, cq: cq.(*CompletionQueue), shut: []func() error{cq.Close}}
	h.t.Cleanup(s.close)
	return s
}

// close closes everything, newest first, unless a test did so itself.
func (h *host) close() {
	for i := len(h.shut) - 1; i >= 0; i-- {
		ok(h.t, h.shut[i]())
	}
	h.shut = nil
}

func (h *host) memory(size int, access driver.Access) *Memory {
	h.t.Helper()
	m, err := h.domain.Alloc(size, access)
	ok(h.t, err)
	mem := m.(*Memory)
	h.shut = append(h.shut, func() error {
		if mem.closed {
			return nil
		}
		return mem.Close()
	})
	return mem
}

// pair makes a queue pair with generous defaults, which edit may change.
func (h *host) pair(edit ...func(*driver.QueueConfig)) *QueuePair {
	h.t.Helper()
	config := driver.QueueConfig{Completions: h.cq, SendDepth: 64, ReceiveDepth: 64, MaxSpans: 4, MaxInline: 64,
		Access: driver.RemoteAll, ReceiverWait: tolerance}
	for _, e := range edit {
		e(&config)
	}
	p, err := h.domain.NewQueuePair(config)
	ok(h.t, err)
	q := p.(*QueuePair)
	h.shut = append(h.shut, func() error {
		if q.closed.Load() {
			return nil
		}
		return q.Close()
	})
	return q
}

// next returns the next completion of the host. Tests in one goroutine may name other hosts to be polled meanwhile.
func (h *host) next(others ...*host) driver.Completion {
	h.t.Helper()
	limit := clock.Real.Now().Add(tolerance)
	for len(h.kept) == 0 {
		if clock.Real.Now() > limit {
			h.t.Fatal("no completion")
		}
		h.poll()
		for _, o := range others {
			o.poll()
		}
		if len(h.kept) == 0 {
			ok(h.t, h.cq.Wait(clock.Real.Now().Add(time.Millisecond), 0))
		}
	}
	c := h.kept[0]
	h.kept = h.kept[1:]
	return c
}

func (h *host) poll() {
	h.t.Helper()
	var into [64]driver.Completion
	n, err := h.cq.Poll(into[:])
	ok(h.t, err)
	h.kept = append(h.kept, into[:n]...)
}

// expect checks the next completion's tag, operation and status.
func (h *host) expect(tag driver.Tag, op driver.Op, status driver.Status, others ...*host) driver.Completion {
	h.t.Helper()
	c := h.next(others...)
	if c.Tag != tag || c.Op != op || c.Status != status {
		h.t.Fatalf("got tag %d %v %v, want tag %d %v %v", c.Tag, c.Op, c.Status, tag, op, status)
	}
	return c
}

// silent checks that nothing is there to poll.
func (h *host) silent() {
	h.t.Helper()
	if h.poll(); len(h.kept) > 0 {
		h.t.Fatalf("unexpected completion %+v", h.kept[0])
	}
}

const connectTag = driver.Tag(1 << 40)

// join connects two queue pairs of two hosts, or of one.
func join(ha *host, a *QueuePair, hb *host, b *QueuePair) {
	ha.t.Helper()
	ok(ha.t, a.Connect(connectTag, b.Address()))
	ok(hb.t, b.Connect(connectTag, a.Address()))
	hb.expect(connectTag, driver.OpConnect, driver.OK, ha)
	ha.expect(connectTag, driver.OpConnect, driver.OK, hb)
}

// link is two hosts with one connection and some memory each.
type link struct {
	a, b       *host
	qa, qb     *QueuePair
	mema, memb *Memory
}

func newLink(t testing.TB, edit ...func(*driver.QueueConfig)) *link {
	t.Helper()
	l := &link{a: newHost(t), b: newHost(t)}
	l.mema, l.memb = l.a.memory(4<<20, driver.RemoteAll), l.b.memory(4<<20, driver.RemoteAll)
	l.qa, l.qb = l.a.pair(edit...), l.b.pair(edit...)
	join(l.a, l.qa, l.b, l.qb)
	return l
}

func span(m *Memory, offset, n int) driver.Span {
	r := m.Region()
	return driver.Span{Address: r.Address + uint64(offset), Length: uint32(n), Key: r.LocalKey}
}

func remote(m *Memory, offset, n int) driver.RemoteSpan {
	r := m.Region()
	return driver.RemoteSpan{Address: r.Address + uint64(offset), Length: uint64(n), Key: r.RemoteKey}
}

// post posts requests that must be taken.
func post(t testing.TB, q *QueuePair, list ...driver.Request) {
	t.Helper()
	n, err := q.Post(list)
	ok(t, err)
	if n != len(list) {
		t.Fatalf("took %d of %d requests", n, len(list))
	}
}

func receive(t testing.TB, q driver.SharedReceives, list ...driver.Receive) {
	t.Helper()
	n, err := q.PostReceive(list)
	ok(t, err)
	if n != len(list) {
		t.Fatalf("took %d of %d receives", n, len(list))
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

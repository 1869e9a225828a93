package soft

import (
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// sees reports whether a host has mapped memory of a neighbour.
func (h *host) sees(m *Memory) bool {
	h.device.neighbours.mu.Lock()
	point := h.device.neighbours.known[m.domain.device.identity]
	h.device.neighbours.mu.Unlock()
	if point == nil || point.neighbour == nil {
		return false
	}
	point.mu.Lock()
	defer point.mu.Unlock()
	return point.views[viewKey{0, m.region.remoteKey}] != nil
}

// showing has something done to memory of access 0 at b, which a must not see before and must see after it, unasked.
func showing(l *link, m *Memory, do func()) {
	l.a.t.Helper()
	join(l.a, l.a.pair(), l.b, l.b.pair()) // what was shown before this has come
	if l.a.sees(m) {
		l.a.t.Error("memory was shown that does not concern the neighbour")
	}
	do()
	until(l.a.t, "memory is shown that a message may land in", func() bool { return l.a.sees(m) })
}

// Memory that no key opens is shown to neighbours when a receive names it, and then without being asked.
func TestMemoryIsShownWithReceives(t *testing.T) {
	l := newNeighbours(t)
	first, second := l.b.memory(4096, 0), l.b.memory(4096, 0)
	both := driver.Receive{Tag: 7, Span: span(first, 0, 4), More: []driver.Span{span(second, 0, 4)}}
	showing(l, first, func() { receive(t, l.qb, both) })
	until(t, "the second span is shown", func() bool { return l.a.sees(second) })
	post(t, l.qa, driver.Request{Tag: 8, Op: driver.OpSend, Span: span(l.mema, 0, 8)})
	l.a.expect(8, driver.OpSend, driver.OK)
	l.b.expect(7, driver.OpReceive, driver.OK)
}

// A receive that is there before the connection is shown with it: of a queue pair's own, or shared.
func TestMemoryIsShownWithConnections(t *testing.T) {
	l := newNeighbours(t)
	own, common := l.b.memory(4096, 0), l.b.memory(4096, 0)
	q, pool := l.b.pair(), l.b.shared(4)
	receive(t, q, driver.Receive{Span: span(own, 0, 8)})
	receive(t, pool, driver.Receive{Span: span(common, 0, 8)})
	showing(l, own, func() { join(l.a, l.a.pair(), l.b, q) })
	user := l.b.pair(func(c *driver.QueueConfig) { c.Shared = pool })
	showing(l, common, func() { join(l.a, l.a.pair(), l.b, user) })
}

// Memory that is opened later is shown then.
func TestMemoryIsShownWhenOpened(t *testing.T) {
	l := newNeighbours(t)
	m := l.b.memory(4096, 0)
	showing(l, m, func() { ok(t, m.SetAccess(l.b.cq, 3, driver.RemoteWrite)) })
	l.b.expect(3, driver.OpMemoryAccess, driver.OK)
}

// A neighbour does not remember domains that are closed.
func TestClosedDomainsAreForgotten(t *testing.T) {
	l := newNeighbours(t)
	domain, err := l.a.device.NewDomain()
	ok(t, err)
	h := &host{t: t, device: l.a.device, domain: domain.(*Domain), cq: l.a.cq}
	q := h.pair()
	join(l.a, q, l.b, l.b.pair())
	n := q.life.Load().tied().neighbour
	ok(t, q.Close())
	ok(t, domain.Close())
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.domains) != 1 {
		t.Errorf("%d domains are remembered, want 1", len(n.domains))
	}
}

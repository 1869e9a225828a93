package soft

import (
	"slices"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

func (h *host) shared(depth int) *SharedReceives {
	h.t.Helper()
	s, err := h.domain.NewSharedReceives(driver.SharedConfig{Depth: depth, MaxSpans: 2, Completions: h.cq})
	ok(h.t, err)
	h.shut = append(h.shut, s.Close)
	return s.(*SharedReceives)
}

// TestSharedReceivesFromManyPeers sends from several goroutines into one small pool: every message arrives once, in
// order for each sender, in the receive that its completion names.
func TestSharedReceivesFromManyPeers(t *testing.T) {
	const peers, messages, depth = 5, 400, 8
	hub := newHost(t)
	mem := hub.memory(16*depth, 0)
	pool := hub.shared(depth)
	senderOf := map[uint32]byte{} // by the hub's queue pair
	var senders sync.WaitGroup
	for p := range byte(peers) {
		h := newHost(t)
		q, own := h.pair(), h.memory(16, 0)
		end := hub.pair(func(c *driver.QueueConfig) { c.Shared = pool })
		senderOf[end.Number()] = p
		join(h, q, hub, end)
		senders.Go(func() {
			for i := range messages {
				b := own.Region().Bytes
				b[0], b[1], b[2] = p, byte(i), byte(i>>8)
				post(t, q, driver.Request{Op: driver.OpSend, Span: span(own, 0, 3)})
				h.expect(0, driver.OpSend, driver.OK)
			}
		})
	}
	give := func(tag driver.Tag) {
		receive(t, pool, driver.Receive{Tag: tag, Span: span(mem, 16*int(tag), 1), More: []driver.Span{span(mem, 16*int(tag)+1, 2)}})
	}
	for tag := range driver.Tag(depth) {
		give(tag)
	}
	var seen [peers]int
	for range peers * messages {
		c := hub.next()
		b := mem.Region().Bytes[16*c.Tag:]
		p, i := b[0], int(b[1])|int(b[2])<<8
		if c.Op != driver.OpReceive || c.Status != driver.OK || senderOf[c.Queue] != p || seen[p] != i {
			t.Fatalf("got %+v from %d with message %d, want message %d", c, p, i, seen[p])
		}
		seen[p]++
		give(c.Tag)
	}
	senders.Wait()
	hub.silent()
}

// TestSharedReceivesOutliveTheirTakers: a queue pair that fails gives back nothing that others may still use.
func TestSharedReceivesOutliveTheirTakers(t *testing.T) {
	a, hub := newHost(t), newHost(t)
	mem, big := a.memory(2*copyQuantum, 0), hub.memory(2*copyQuantum, 0)
	pool := hub.shared(2)
	withPool := func(c *driver.QueueConfig) { c.Shared = pool }
	q1, q2, end1, end2 := a.pair(), a.pair(), hub.pair(withPool), hub.pair(withPool)
	join(a, q1, hub, end1)
	join(a, q2, hub, end2)
	for tag := range driver.Tag(2) {
		receive(t, pool, driver.Receive{Tag: tag, Span: span(big, 0, 2*copyQuantum)})
	}
	post(t, q1, driver.Request{Tag: 7, Op: driver.OpSend, Span: span(mem, 0, 2*copyQuantum)}) // takes receive 0, in part
	ok(t, q1.Close())
	hub.expect(0, driver.OpReceive, driver.Flushed)
	post(t, q2, driver.Request{Tag: 8, Op: driver.OpSend, Span: span(mem, 0, 8)})
	a.expect(8, driver.OpSend, driver.OK)
	if c := hub.expect(1, driver.OpReceive, driver.OK); c.Queue != end2.Number() {
		t.Errorf("arrived at queue pair %d, want %d", c.Queue, end2.Number())
	}
	if got := len(pool.pool.vacant); got != 2 {
		t.Errorf("%d slots are free again, want 2", got)
	}
}

// TestSharedReceivesAreHeardOf: what a queue pair that is closed has taken from the pool still completes, each receive
// once, whether its message was complete or not. Its requests and connections are not heard of any more.
func TestSharedReceivesAreHeardOf(t *testing.T) {
	a, hub := newHost(t), newHost(t)
	mem, big := a.memory(2*copyQuantum, 0), hub.memory(2*copyQuantum, 0)
	pool := hub.shared(3)
	q, end := a.pair(), hub.pair(func(c *driver.QueueConfig) { c.Shared = pool })
	join(a, q, hub, end)
	for tag := range driver.Tag(3) {
		receive(t, pool, driver.Receive{Tag: tag, Span: span(big, 0, 2*copyQuantum)})
	}
	post(t, end, driver.Request{Tag: 9, Op: driver.OpWrite})
	post(t, q,
		driver.Request{Op: driver.OpSend, Span: span(mem, 0, 8)},
		driver.Request{Op: driver.OpSend, Span: span(mem, 0, 2*copyQuantum)}) // in part
	ok(t, end.Close())
	hub.expect(0, driver.OpReceive, driver.OK)
	hub.expect(1, driver.OpReceive, driver.Flushed)
	hub.silent()
	if got := len(pool.pool.vacant); got != 2 {
		t.Errorf("%d slots are free again, want 2", got)
	}
}

// TestClosedPoolsLeaveNothing fills a completion queue with receives that nobody polls for, over and over. Each pool has
// the whole depth for itself once the one before it is closed.
func TestClosedPoolsLeaveNothing(t *testing.T) {
	const depth = 16
	a, hub := newHost(t), newHost(t)
	small, err := hub.device.NewCompletionQueue(depth)
	ok(t, err)
	hub.cq = small.(*CompletionQueue)
	hub.shut = append(hub.shut, small.Close)
	for range 3 {
		s, err := hub.domain.NewSharedReceives(driver.SharedConfig{Depth: depth, MaxSpans: 1, Completions: small})
		ok(t, err)
		q, end := a.pair(), hub.pair(func(c *driver.QueueConfig) { c.Shared = s })
		join(a, q, hub, end)
		receive(t, s, make([]driver.Receive, depth)...)
		post(t, q, slices.Repeat([]driver.Request{{Op: driver.OpSend}}, depth)...)
		ok(t, end.Close())
		if got := hub.cq.done.count(); got != depth {
			t.Fatalf("%d completions, want %d", got, depth)
		}
		ok(t, s.Close())
		ok(t, q.Close())
	}
	hub.silent()
}

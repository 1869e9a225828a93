package soft

import (
	"maps"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

func TestChainsStartInOrder(t *testing.T) {
	a, relay, c := newHost(t), newHost(t), newHost(t)
	qa, in, out, qc := a.pair(), relay.pair(), relay.pair(), c.pair()
	join(a, qa, relay, in)
	join(relay, out, c, qc)
	for i := range driver.Tag(3) {
		receive(t, in, driver.Receive{Tag: 10 + i})
		receive(t, qc, driver.Receive{Tag: i})
	}
	post(t, out,
		driver.Request{Tag: 20, Op: driver.OpSend, After: driver.Arrival{Queue: in.Number(), Count: 2}},
		driver.Request{Tag: 21, Op: driver.OpSend, After: driver.Arrival{Queue: in.Number(), Count: 1}},
		driver.Request{Tag: 22, Op: driver.OpSend})
	post(t, qa, driver.Request{Op: driver.OpSend})
	relay.expect(10, driver.OpReceive, driver.OK)
	relay.silent()
	post(t, qa, driver.Request{Op: driver.OpSend})
	got := map[driver.Tag]bool{}
	for range 4 {
		got[relay.next().Tag] = true
	}
	if !got[11] || !got[20] || !got[21] || !got[22] {
		t.Errorf("completed %v", got)
	}
}

// TestChainBreaks: a chained request whose arrival cannot come is flushed, and its queue pair fails.
func TestChainBreaks(t *testing.T) {
	for name, leave := range map[string]func(*link){
		"reset":       func(l *link) { ok(l.a.t, l.qa.Reset(9)) },
		"closed":      func(l *link) { ok(l.a.t, l.qa.Close()) },
		"peer closed": func(l *link) { ok(l.b.t, l.qb.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLink(t)
			out := l.a.pair()
			join(l.a, out, l.b, l.b.pair())
			post(t, out, driver.Request{Tag: 1, Op: driver.OpWrite, After: driver.Arrival{Queue: l.qa.Number(), Count: 1}})
			l.a.silent()
			leave(l)
			for {
				if c := l.a.next(); c.Tag != 9 {
					if c.Tag != 1 || c.Status != driver.Flushed || out.State() != driver.Error {
						t.Errorf("got %+v in state %v", c, out.State())
					}
					return
				}
			}
		})
	}
}

// TestChainToNobody: a request chained to a queue pair that is not there is taken, and flushed when its turn comes. What
// is posted in front of it is carried out, what is behind it is flushed and not lost.
func TestChainToNobody(t *testing.T) {
	for name, number := range map[string]func(*host) uint32{
		"unknown": func(*host) uint32 { return 1 << 30 },
		"zero":    func(*host) uint32 { return 0 },
		"closed": func(h *host) uint32 {
			q := h.pair()
			ok(h.t, q.Close())
			return q.Number()
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLink(t)
			after := driver.Arrival{Queue: number(l.a), Count: 1}
			post(t, l.qb, driver.Request{Tag: 9, Op: driver.OpSend})
			post(t, l.qa,
				driver.Request{Tag: 1, Op: driver.OpWrite},
				driver.Request{Tag: 2, Op: driver.OpWrite, Flags: driver.Quiet, After: after},
				driver.Request{Tag: 3, Op: driver.OpWrite})
			l.a.expect(1, driver.OpWrite, driver.OK)
			l.a.expect(2, driver.OpWrite, driver.Flushed)
			l.a.expect(3, driver.OpWrite, driver.Flushed)
			l.b.expect(9, driver.OpSend, driver.RetryExceeded)
			if l.qa.State() != driver.Error || l.qb.State() != driver.Error {
				t.Errorf("states are %v and %v, want Error", l.qa.State(), l.qb.State())
			}
		})
	}
}

// TestChainWaitsForAConnection: a queue pair that is not connected yet merely has not received yet.
func TestChainWaitsForAConnection(t *testing.T) {
	l := newLink(t)
	in, feed := l.a.pair(), l.b.pair()
	post(t, l.qa, driver.Request{Tag: 1, Op: driver.OpWrite, After: driver.Arrival{Queue: in.Number(), Count: 1}})
	l.a.silent()
	ok(t, in.Connect(2, feed.Address()))
	l.a.silent()
	ok(t, feed.Connect(3, in.Address()))
	l.a.expect(2, driver.OpConnect, driver.OK)
	l.b.expect(3, driver.OpConnect, driver.OK)
	receive(t, in, driver.Receive{Tag: 4})
	l.a.silent()
	post(t, feed, driver.Request{Tag: 5, Op: driver.OpSend})
	got := map[driver.Tag]driver.Status{}
	for range 2 {
		c := l.a.next()
		got[c.Tag] = c.Status
	}
	if want := map[driver.Tag]driver.Status{1: driver.OK, 4: driver.OK}; !maps.Equal(got, want) {
		t.Errorf("completed %v, want %v", got, want)
	}
}

// TestPeersStartNoChains: the message that a chained request waits for is carried by a peer's goroutine, which must not
// carry the chained request too. With the device's own goroutine stopped, the request starts when its owner polls.
func TestPeersStartNoChains(t *testing.T) {
	k := newTracks(t)
	k.a.device.nic.close()
	k.mema.Region().Bytes[0] = 1
	post(t, k.qa, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(k.mema, 0, 8), Remote: remote(k.memb, 0, 8),
		After: driver.Arrival{Queue: k.in.Number(), Count: 1}})
	receive(t, k.in, driver.Receive{Tag: 2})
	k.a.silent()
	post(t, k.feed, driver.Request{Tag: 3, Op: driver.OpSend})
	k.b.expect(3, driver.OpSend, driver.OK)
	if loadWord(k.memb.Region().Bytes) != 0 {
		t.Error("the peer's goroutine has carried a chained request out")
	}
	got := map[driver.Tag]bool{k.a.next().Tag: true, k.a.next().Tag: true}
	if !got[1] || !got[2] || loadWord(k.memb.Region().Bytes) == 0 {
		t.Errorf("completed %v, the target's word is %d", got, loadWord(k.memb.Region().Bytes))
	}
}

// TestFailedArrivalStartsNoChain: a message that did not fit was not received. What waits for it is flushed.
func TestFailedArrivalStartsNoChain(t *testing.T) {
	for count, want := range map[uint64]driver.Status{1: driver.OK, 2: driver.Flushed} {
		k := newTracks(t)
		post(t, k.qa, driver.Request{Tag: 1, Op: driver.OpWrite, After: driver.Arrival{Queue: k.in.Number(), Count: count}})
		receive(t, k.in, driver.Receive{Tag: 2, Span: span(k.mema, 0, 8)}, driver.Receive{Tag: 3})
		post(t, k.feed,
			driver.Request{Tag: 4, Op: driver.OpSend, Span: span(k.memb, 0, 8)},
			driver.Request{Tag: 5, Op: driver.OpSend, Span: span(k.memb, 0, 8)})
		got := map[driver.Tag]driver.Status{}
		for range 3 {
			c := k.a.next()
			got[c.Tag] = c.Status
		}
		if got[1] != want || got[2] != driver.OK || got[3] != driver.LocalLength {
			t.Errorf("chained to arrival %d: completed %v, want %v", count, got, want)
		}
	}
}

// TestFailedArrivalCallsChains: the owner may find a message that failed before its sender has broken this end. Then it is
// the owner who tells the requests that wait for arrivals, though they are of another completion queue.
func TestFailedArrivalCallsChains(t *testing.T) {
	k := newTracks(t)
	k.a.device.nic.close() // it would answer the call first
	relay := k.a.sibling()
	out := relay.pair()
	join(relay, out, k.b, k.b.pair())
	post(t, out, driver.Request{Tag: 1, Op: driver.OpWrite, After: driver.Arrival{Queue: k.in.Number(), Count: 1}})
	relay.silent()
	receive(t, k.in, driver.Receive{Tag: 2})
	arriveBroken(k.in)
	relay.silent() // it was called for the arrival, and waits on
	k.a.expect(2, driver.OpReceive, driver.LocalLength)
	if !relay.cq.called() {
		t.Error("nobody called the owner of the chained request")
	}
	relay.expect(1, driver.OpWrite, driver.Flushed)
}

// arriveBroken does what the peer's requester does when a message is too long, up to where it breaks the end.
func arriveBroken(q *QueuePair) {
	l := q.life.Load()
	n, _ := q.pool.take(q.number, &l.gate, l.gate.look())
	l.spoiled.Store(l.arrived.Load() + 1)
	l.arrive(driver.OpSend, 0, n, 0, driver.LocalLength)
	l.announce()
}

// TestChainCountsWhoIsInside breaks a life while somebody is inside its gate: only when he has left is it known whether
// the arrival that a request waits for has come.
func TestChainCountsWhoIsInside(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		k := newLink(t)
		l := k.qa.life.Load()
		l.reach()
		w := waiting{after: l, request: driver.Request{After: driver.Arrival{Queue: k.qa.Number(), Count: 1}}}
		mark := l.gate.enter(k.qb.requester.left)
		l.breakTo(phaseFailed)
		if v := w.chainState(); v != again {
			t.Errorf("broken, with somebody inside: %v, want again", v)
		}
		want := verdict(driver.Flushed)
		if arrives {
			l.arrived.Add(1)
			want = arrived
		}
		if !l.gate.leave(mark) {
			t.Fatal("nobody evicts")
		}
		k.qb.requester.left = mark + 1
		if v := w.chainState(); v != want {
			t.Errorf("broken, and an arrival came (%t): %v, want %v", arrives, v, want)
		}
		if arrives {
			l.arrived.Store(0) // it was not real
		}
		k.b.close()
		k.a.close()
	}
}

// TestChainsKeepNothing looks behind the ends of what is reused: nothing there may keep a closed queue pair alive.
func TestChainsKeepNothing(t *testing.T) {
	k := newLink(t)
	relay, c := k.a.sibling(), k.b.sibling()
	out := relay.pair()
	join(relay, out, c, c.pair())
	post(t, out, driver.Request{Tag: 1, Op: driver.OpWrite, After: driver.Arrival{Queue: k.qa.Number(), Count: 1}})
	relay.silent()
	receive(t, k.qa, driver.Receive{Tag: 2})
	post(t, k.qb, driver.Request{Tag: 3, Op: driver.OpSend})
	if got := relay.next(); got.Status != driver.OK {
		t.Fatalf("the chained request ended as %v", got.Status)
	}
	l := k.qa.life.Load()
	for _, b := range l.chain.waiting[:cap(l.chain.waiting)] {
		if b != nil {
			t.Error("the chain keeps a bell that it has rung")
		}
	}
	for _, w := range out.requester.backlog.items {
		if w.after != nil {
			t.Error("the backlog keeps what a request waited for")
		}
	}
	for _, h := range []*host{c, relay, k.b, k.a} {
		h.close()
	}
}

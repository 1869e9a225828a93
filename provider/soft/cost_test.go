package soft

import (
	"runtime"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// tracks is a link with a second connection, for operations that wait for an arrival there.
type tracks struct {
	*link
	in, feed *QueuePair
	arrivals uint64 // at in
	list     []driver.Request
	into     []driver.Completion
}

func newTracks(t *testing.T) *tracks { return newTracksOn(t, InProcess) }

func newTracksOn(t *testing.T, lanes Lanes) *tracks {
	l := newLinkOn(t, Config{Lanes: lanes})
	k := &tracks{link: l, in: l.a.pair(), feed: l.b.pair(), list: make([]driver.Request, 1)}
	k.into = make([]driver.Completion, 16)
	join(l.a, k.in, l.b, k.feed)
	return k
}

// do posts without a slice of its own.
func (k *tracks) do(q *QueuePair, r driver.Request) {
	k.list[0] = r
	if _, err := q.Post(k.list); err != nil {
		k.a.t.Fatal(err)
	}
}

// done polls until n completions have come, all of them good.
func (k *tracks) done(h *host, n int) {
	for n > 0 {
		got, _ := h.cq.Poll(k.into)
		for _, c := range k.into[:got] {
			if c.Status != driver.OK {
				k.a.t.Fatalf("got %+v", c)
			}
		}
		n -= got
	}
}

// simple returns an operation that nobody but the requester sees.
func (k *tracks) simple(op driver.Op, n int) func() {
	return func() {
		k.do(k.qa, driver.Request{Op: op, Span: span(k.mema, 0, n), Remote: remote(k.memb, 0, n)})
		k.done(k.a, 1)
	}
}

// chained returns a request that waits for a message on the second connection.
func (k *tracks) chained(none []driver.Receive) func() {
	return func() {
		k.arrivals++
		k.do(k.qa, driver.Request{Op: driver.OpWrite, After: driver.Arrival{Queue: k.in.Number(), Count: k.arrivals}})
		k.in.PostReceive(none)
		k.do(k.feed, driver.Request{Op: driver.OpSend})
		k.done(k.a, 2)
		k.done(k.b, 1)
	}
}

// TestNoAllocation runs every operation, and every way a request can wait, after a warm-up, on the lanes of memory.
func TestNoAllocation(t *testing.T) {
	for _, lanes := range []Lanes{InProcess, SharedMemory} {
		t.Run(lanes.String(), func(t *testing.T) { testNoAllocation(t, newTracksOn(t, lanes)) })
	}
}

func testNoAllocation(t *testing.T, k *tracks) {
	receive := []driver.Receive{{Span: span(k.memb, 0, 64), More: []driver.Span{span(k.memb, 64, 64)}}}
	message := driver.Request{Op: driver.OpSendImm, Flags: driver.Inline, Span: span(k.mema, 0, 8),
		More: []driver.Span{span(k.mema, 8, 8)}}
	for name, run := range map[string]func(){
		"write":      k.simple(driver.OpWrite, 8),
		"long write": k.simple(driver.OpWrite, 3<<20),
		"read":       k.simple(driver.OpRead, 100),
		"add":        k.simple(driver.OpFetchAdd, 8),
		"swap":       k.simple(driver.OpCompareSwap, 8),
		"chain":      k.chained(make([]driver.Receive, 1)),
		"send": func() {
			k.qb.PostReceive(receive)
			k.do(k.qa, message)
			k.done(k.a, 1)
			k.done(k.b, 1)
		},
		"waiting send": func() {
			k.do(k.qa, message)
			k.qb.PostReceive(receive)
			k.done(k.a, 1)
			k.done(k.b, 1)
		},
	} {
		for range 200 {
			run()
		}
		if n := testing.AllocsPerRun(200, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestTenThousandQueuePairs measures what a connected, idle queue pair costs, in two completion queues.
func TestTenThousandQueuePairs(t *testing.T) {
	const pairs, most = 10_000, 4 << 10
	a, b := newHost(t), newHost(t)
	before := heapInUse()
	ends := make([][2]*QueuePair, pairs/2)
	for i := range ends {
		ends[i] = [2]*QueuePair{a.pair(), b.pair()}
		join(a, ends[i][0], b, ends[i][1])
	}
	each := (heapInUse() - before) / pairs
	t.Logf("%d bytes for each queue pair", each)
	if each > most {
		t.Errorf("%d bytes for each queue pair, most is %d", each, most)
	}
	last := ends[len(ends)-1]
	receive(t, last[1], driver.Receive{Tag: 5})
	post(t, last[0], driver.Request{Tag: 6, Op: driver.OpSend})
	a.expect(6, driver.OpSend, driver.OK)
	b.expect(5, driver.OpReceive, driver.OK)
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestLocksAreCounted: one for each call of the owner, none for the peer.
func TestLocksAreCounted(t *testing.T) {
	l := newLink(t)
	r := driver.Request{Op: driver.OpWrite, Span: span(l.mema, 0, 8), Remote: remote(l.memb, 0, 8)}
	post(t, l.qa, r)
	l.a.expect(0, driver.OpWrite, driver.OK)
	a, b := l.a.device.Locks(), l.b.device.Locks()
	for range 10 {
		post(t, l.qa, r)
		l.a.poll()
	}
	if got := l.a.device.Locks() - a; got != 20 {
		t.Errorf("10 writes took %d locks, want 20", got)
	}
	if got := l.b.device.Locks() - b; got != 0 {
		t.Errorf("the target took %d locks, want 0", got)
	}
}

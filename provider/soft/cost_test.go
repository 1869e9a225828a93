package soft

import (
	"runtime"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// TestNoAllocation runs every operation, and every way a request can wait, after a warm-up.
func TestNoAllocation(t *testing.T) {
	l := newLink(t)
	in := l.a.pair()
	feed := l.b.pair()
	join(l.a, in, l.b, feed)
	var into [16]driver.Completion
	wait := func(h *host, want int) {
		for got := 0; got < want; {
			n, _ := h.cq.Poll(into[:])
			for _, c := range into[:n] {
				if c.Status != driver.OK {
					t.Fatalf("got %+v", c)
				}
			}
			got += n
		}
	}
	recv := []driver.Receive{{Span: span(l.memb, 0, 64), More: []driver.Span{span(l.memb, 64, 64)}}}
	count := uint32(0)
	list := make([]driver.Request, 1)
	do := func(q *QueuePair, r driver.Request) {
		list[0] = r
		if _, err := q.Post(list); err != nil {
			t.Fatal(err)
		}
	}
	more := []driver.Span{span(l.mema, 8, 8)}
	simple := func(op driver.Op, n int) func() {
		return func() {
			do(l.qa, driver.Request{Op: op, Span: span(l.mema, 0, n), Remote: remote(l.memb, 0, n)})
			wait(l.a, 1)
		}
	}
	for name, run := range map[string]func(){
		"write":      simple(driver.OpWrite, 8),
		"long write": simple(driver.OpWrite, 3<<20),
		"read":       simple(driver.OpRead, 100),
		"add":        simple(driver.OpFetchAdd, 8),
		"swap":       simple(driver.OpCompareSwap, 8),
		"send": func() {
			l.qb.PostReceive(recv)
			do(l.qa, driver.Request{Op: driver.OpSendImm, Span: span(l.mema, 0, 8), More: more})
			wait(l.a, 1)
			wait(l.b, 1)
		},
		"waiting send": func() {
			do(l.qa, driver.Request{Op: driver.OpSend, Flags: driver.Inline, Span: span(l.mema, 0, 8), More: more})
			l.qb.PostReceive(recv)
			wait(l.a, 1)
			wait(l.b, 1)
		},
		"chain": func() {
			count++
			do(l.qa, driver.Request{Op: driver.OpWrite, After: driver.Arrival{Queue: in.Number(), Count: count}})
			in.PostReceive([]driver.Receive{{}})
			do(feed, driver.Request{Op: driver.OpSend})
			wait(l.a, 2)
			wait(l.b, 1)
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

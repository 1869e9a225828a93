package soft

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// newWireLink is a link on the TCP lane.
func newWireLink(t testing.TB, edit ...func(*driver.QueueConfig)) *link {
	t.Helper()
	return newLinkOn(t, Config{Name: t.Name(), Lanes: TCP}, edit...)
}

func newLinkOn(t testing.TB, config Config, edit ...func(*driver.QueueConfig)) *link {
	t.Helper()
	l := &link{a: newHostWith(t, config), b: newHostWith(t, config)}
	l.mema, l.memb = l.a.memory(4<<20, driver.RemoteAll), l.b.memory(4<<20, driver.RemoteAll)
	l.qa, l.qb = l.a.pair(edit...), l.b.pair(edit...)
	join(l.a, l.qa, l.b, l.qb)
	return l
}

func TestWireWrites(t *testing.T) {
	l := newWireLink(t)
	for _, n := range []int{0, 1, 3, 8, 15, 100, 256, 257, 4096, 5000, 1 << 20, 1<<20 + 5, 3<<20 + 1} {
		for _, at := range []int{0, 3} {
			src, dst := l.mema.Region().Bytes, l.memb.Region().Bytes
			for i := range n {
				src[i] = byte(i*7 + n)
			}
			post(t, l.qa, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(l.mema, 0, n), Remote: remote(l.memb, at, n)})
			l.a.expect(1, driver.OpWrite, driver.OK, l.b)
			for i := range n {
				if dst[at+i] != byte(i*7+n) {
					t.Fatalf("%d bytes at %d: byte %d is %d", n, at, i, dst[at+i])
				}
			}
		}
	}
}

// carryAll sends every operation, short and long, over a connection.
func carryAll(t *testing.T, l *link) {
	t.Helper()
	src, dst := l.mema.Region().Bytes, l.memb.Region().Bytes
	for i, n := range []int{8, 100, 5000, 1<<20 + 5, 3 << 20} {
		for j := range n {
			src[j] = byte(j + i)
		}
		post(t, l.qa, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(l.mema, 0, n), Remote: remote(l.memb, 0, n)})
		l.a.expect(1, driver.OpWrite, driver.OK, l.b)
		clear(src[:n])
		post(t, l.qa, driver.Request{Tag: 2, Op: driver.OpRead, Span: span(l.mema, 0, n), Remote: remote(l.memb, 0, n)})
		l.a.expect(2, driver.OpRead, driver.OK, l.b)
		receive(t, l.qb, driver.Receive{Tag: 3, Span: span(l.memb, 0, n)})
		clear(dst[:n])
		post(t, l.qa, driver.Request{Tag: 4, Op: driver.OpSend, Span: span(l.mema, 0, n)})
		l.a.expect(4, driver.OpSend, driver.OK, l.b)
		l.b.expect(3, driver.OpReceive, driver.OK)
		for j := range n {
			if dst[j] != byte(j+i) {
				t.Fatalf("%d bytes went there, back and there again: byte %d is %d", n, j, dst[j])
			}
		}
	}
	post(t, l.qa, driver.Request{Tag: 5, Op: driver.OpFetchAdd, Span: span(l.mema, 0, 8), Remote: remote(l.memb, 0, 8), Swap: 1})
	l.a.expect(5, driver.OpFetchAdd, driver.OK, l.b)
}

// TestWireNoAllocation runs every operation, and a Send that waits for its receive, after a warm-up.
func TestWireNoAllocation(t *testing.T) {
	l := newWireLink(t)
	list, none := make([]driver.Request, 1), []driver.Receive{{Span: span(l.memb, 0, 64), More: []driver.Span{span(l.memb, 64, 64)}}}
	into := make([]driver.Completion, 16)
	await := func(h *host, n int) {
		for n > 0 {
			got, _ := h.cq.Poll(into)
			for _, c := range into[:got] {
				if c.Status != driver.OK {
					t.Fatalf("got %+v", c)
				}
			}
			if n -= got; h == l.a {
				if got, _ := l.b.cq.Poll(nil); got != 0 {
					t.Fatal("polled into nothing")
				}
			} else if got, _ := l.a.cq.Poll(nil); got != 0 {
				t.Fatal("polled into nothing")
			}
		}
	}
	simple := func(op driver.Op, n int) func() {
		return func() {
			list[0] = driver.Request{Op: op, Span: span(l.mema, 0, n), Remote: remote(l.memb, 0, n)}
			_, _ = l.qa.Post(list)
			await(l.a, 1)
		}
	}
	message := driver.Request{Op: driver.OpSendImm, Flags: driver.Inline, Span: span(l.mema, 0, 8), More: []driver.Span{span(l.mema, 8, 8)}}
	for name, run := range map[string]func(){
		"write":      simple(driver.OpWrite, 8),
		"long write": simple(driver.OpWrite, 3<<20),
		"read":       simple(driver.OpRead, 100),
		"long read":  simple(driver.OpRead, 3<<20),
		"add":        simple(driver.OpFetchAdd, 8),
		"swap":       simple(driver.OpCompareSwap, 8),
		"send": func() {
			_, _ = l.qb.PostReceive(none)
			list[0] = message
			_, _ = l.qa.Post(list)
			await(l.b, 1)
			await(l.a, 1)
		},
		"waiting send": func() {
			list[0] = message
			_, _ = l.qa.Post(list)
			for range 100 {
				_, _ = l.b.cq.Poll(nil)
			}
			_, _ = l.qb.PostReceive(none)
			await(l.b, 1)
			await(l.a, 1)
		},
		"wait": func() {
			list[0] = driver.Request{Op: driver.OpFetchAdd, Span: span(l.mema, 0, 8), Remote: remote(l.memb, 0, 8)}
			_, _ = l.qa.Post(list)
			_, _ = l.b.cq.Poll(nil)
			_ = l.a.cq.Wait(clock.Real.Now().Add(time.Second), 0)
			await(l.a, 1)
		},
	} {
		for range 100 {
			run()
		}
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

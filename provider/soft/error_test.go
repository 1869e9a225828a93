package soft

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// checkBroken checks that both ends are in Error, and that what was outstanding at b, its receive 50, was flushed.
func checkBroken(t *testing.T, l *link) {
	t.Helper()
	l.b.expect(50, driver.OpReceive, driver.Flushed)
	l.a.silent()
	l.b.silent()
	if l.qa.State() != driver.Error || l.qb.State() != driver.Error {
		t.Errorf("states are %v and %v, want Error", l.qa.State(), l.qb.State())
	}
}

func TestFailedRequestBreaksBothEnds(t *testing.T) {
	const huge = 1 << 63
	for _, c := range []struct {
		name string
		want driver.Status
		edit func(*link, *driver.Request)
	}{
		{"unknown key", driver.RemoteAccess, func(l *link, r *driver.Request) { r.Remote.Key ^= 1 }},
		{"key 0", driver.RemoteAccess, func(l *link, r *driver.Request) { r.Remote.Key = 0 }},
		{"before the memory", driver.RemoteAccess, func(l *link, r *driver.Request) { r.Remote.Address -= 8 }},
		{"across the end", driver.RemoteAccess, func(l *link, r *driver.Request) { r.Remote.Address += 4<<20 - 4 }},
		{"far away", driver.RemoteAccess, func(l *link, r *driver.Request) { r.Remote.Address += huge }},
		{"memory without access", driver.RemoteAccess, func(l *link, r *driver.Request) {
			r.Remote = remote(l.b.memory(8, driver.RemoteRead|driver.RemoteAtomic), 0, 8)
		}},
		{"closed memory", driver.RemoteAccess, func(l *link, r *driver.Request) {
			m := l.b.memory(8, driver.RemoteAll)
			r.Remote = remote(m, 0, 8)
			ok(l.b.t, m.Close())
		}},
		{"memory of another domain", driver.RemoteAccess, func(l *link, r *driver.Request) {
			r.Remote = remote(newHost(l.b.t).memory(8, driver.RemoteAll), 0, 8)
		}},
		{"memory of the requester", driver.RemoteAccess, func(l *link, r *driver.Request) {
			r.Remote = remote(l.mema, 0, 8)
		}},
		{"queue pair without access", driver.RemoteInvalid, func(l *link, r *driver.Request) {
			ok(l.b.t, l.qb.SetAccess(9, driver.RemoteRead|driver.RemoteAtomic))
			l.b.expect(9, driver.OpQueueAccess, driver.OK)
		}},
		{"unknown local key", driver.LocalProtection, func(l *link, r *driver.Request) { r.Span.Key ^= 1 << 21 }},
		{"local key 0", driver.LocalProtection, func(l *link, r *driver.Request) { r.Span.Key = 0 }},
		{"local key out of range", driver.LocalProtection, func(l *link, r *driver.Request) { r.Span.Key |= 1<<20 - 1 }},
		{"local across the end", driver.LocalProtection, func(l *link, r *driver.Request) { r.Span.Address += 4<<20 - 4 }},
		{"second local span", driver.LocalProtection, func(l *link, r *driver.Request) {
			r.More = []driver.Span{{Address: 1, Length: 1, Key: 77}}
		}},
		{"closed local memory", driver.LocalProtection, func(l *link, r *driver.Request) {
			m := l.a.memory(8, 0)
			r.Span = span(m, 0, 8)
			ok(l.a.t, m.Close())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLink(t)
			receive(t, l.qb, driver.Receive{Tag: 50, Span: span(l.memb, 0, 8)})
			bad := driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(l.mema, 0, 8), Remote: remote(l.memb, 0, 8)}
			c.edit(l, &bad)
			good := driver.Request{Tag: 2, Op: driver.OpRead, Flags: driver.Quiet}
			post(t, l.qa, bad, good)
			l.a.expect(1, driver.OpWrite, c.want)
			l.a.expect(2, driver.OpRead, driver.Flushed)
			checkBroken(t, l)
			post(t, l.qa, good)
			l.a.expect(2, driver.OpRead, driver.Flushed)
			receive(t, l.qb, driver.Receive{Tag: 51})
			l.b.expect(51, driver.OpReceive, driver.Flushed)
		})
	}
}

func TestEmptyOperationsNeedNoKey(t *testing.T) {
	l := newLink(t)
	nowhere := driver.RemoteSpan{Address: 12345, Key: 678}
	for i, op := range []driver.Op{driver.OpWrite, driver.OpRead} {
		post(t, l.qa, driver.Request{Tag: driver.Tag(i), Op: op, Span: driver.Span{Address: 1, Key: 2}, Remote: nowhere})
		l.a.expect(driver.Tag(i), op, driver.OK)
	}
	receive(t, l.qb, driver.Receive{Tag: 9, Span: driver.Span{Address: 3, Key: 4}})
	post(t, l.qa, driver.Request{Tag: 8, Op: driver.OpSend})
	l.a.expect(8, driver.OpSend, driver.OK)
	l.b.expect(9, driver.OpReceive, driver.OK)
}

func TestMessageLongerThanReceive(t *testing.T) {
	l := newLink(t)
	receive(t, l.qb, driver.Receive{Tag: 49, Span: span(l.memb, 0, 7)}, driver.Receive{Tag: 50})
	post(t, l.qa, driver.Request{Tag: 1, Op: driver.OpSend, Span: span(l.mema, 0, 8)})
	l.a.expect(1, driver.OpSend, driver.RemoteInvalid)
	if c := l.b.expect(49, driver.OpReceive, driver.LocalLength); c.Bytes != 0 {
		t.Errorf("a failed receive reports %d bytes", c.Bytes)
	}
	checkBroken(t, l)
}

func TestReceiveIntoClosedMemory(t *testing.T) {
	l := newLink(t)
	m := l.b.memory(8, 0)
	receive(t, l.qb, driver.Receive{Tag: 49, Span: span(m, 0, 8)}, driver.Receive{Tag: 50})
	ok(t, m.Close())
	post(t, l.qa, driver.Request{Tag: 1, Op: driver.OpSend, Span: span(l.mema, 0, 8)})
	l.a.expect(1, driver.OpSend, driver.RemoteInvalid)
	l.b.expect(49, driver.OpReceive, driver.LocalProtection)
	checkBroken(t, l)
}

func TestReceiverNotReady(t *testing.T) {
	for _, wait := range []time.Duration{0, 2 * time.Millisecond} {
		l := newLink(t, func(c *driver.QueueConfig) { c.ReceiverWait = wait })
		begun := clock.Real.Now()
		post(t, l.qa,
			driver.Request{Tag: 1, Op: driver.OpSend, Span: span(l.mema, 0, 8)},
			driver.Request{Tag: 2, Op: driver.OpWrite})
		l.a.expect(1, driver.OpSend, driver.ReceiverNotReady)
		l.a.expect(2, driver.OpWrite, driver.Flushed)
		if took := clock.Real.Now().Sub(begun); took < wait {
			t.Errorf("gave up after %v, before %v", took, wait)
		}
	}
}

// TestPeerGone has the peer vanish in three ways while a Send waits for a receive that never comes.
func TestPeerGone(t *testing.T) {
	for name, vanish := range map[string]func(*link){
		"closed": func(l *link) { ok(l.b.t, l.qb.Close()) },
		"killed": func(l *link) { l.b.device.Kill() },
		"reset": func(l *link) {
			ok(l.b.t, l.qb.Reset(7))
			l.b.expect(7, driver.OpReset, driver.OK)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLink(t)
			receive(t, l.qa, driver.Receive{Tag: 5})
			post(t, l.qa,
				driver.Request{Tag: 1, Op: driver.OpSend},
				driver.Request{Tag: 2, Op: driver.OpSend},
				driver.Request{Tag: 3, Op: driver.OpWrite, Flags: driver.Quiet})
			vanish(l)
			l.a.expect(1, driver.OpSend, driver.RetryExceeded)
			l.a.expect(2, driver.OpSend, driver.Flushed)
			l.a.expect(3, driver.OpWrite, driver.Flushed)
			l.a.expect(5, driver.OpReceive, driver.Flushed)
			if l.qa.State() != driver.Error {
				t.Errorf("state is %v, want Error", l.qa.State())
			}
		})
	}
}

func TestKilledDeviceRefusesEverything(t *testing.T) {
	l := newLink(t)
	l.a.device.Kill()
	_, postErr := l.qa.Post([]driver.Request{{Op: driver.OpWrite}})
	_, receiveErr := l.qa.PostReceive([]driver.Receive{{}})
	_, pollErr := l.a.cq.Poll(nil)
	_, domainErr := l.a.device.NewDomain()
	_, pairErr := l.a.domain.NewQueuePair(driver.QueueConfig{Completions: l.a.cq})
	for i, err := range []error{postErr, receiveErr, pollErr, domainErr, pairErr,
		l.a.cq.Wait(clock.Never, 0), l.qa.Reset(0), l.qa.SetAccess(0, 0), l.mema.SetAccess(l.a.cq, 0, 0)} {
		if !errors.Is(err, driver.ErrClosed) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	l.b.poll()
	if l.qb.State() != driver.Error {
		t.Errorf("peer is %v, want Error", l.qb.State())
	}
}

func TestWrongStatesAreNamed(t *testing.T) {
	h := newHost(t)
	q := h.pair()
	if _, err := q.Post([]driver.Request{{Op: driver.OpWrite}}); err == nil || !strings.Contains(err.Error(), "is New") {
		t.Errorf("Post in New: %v", err)
	}
	ok(t, q.Connect(1, h.pair().Address()))
	if err := q.Connect(1, h.pair().Address()); err == nil || !strings.Contains(err.Error(), "is Connecting") {
		t.Errorf("second Connect: %v", err)
	}
	ok(t, q.Close())
	if err := q.Reset(1); !errors.Is(err, driver.ErrClosed) || q.State() != driver.Closed {
		t.Errorf("Reset of a closed queue pair: %v, state %v", err, q.State())
	}
	if err := q.Close(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}

// TestNothingReportsToAClosedQueue: nobody could poll for it. What was refused leaves nothing behind.
func TestNothingReportsToAClosedQueue(t *testing.T) {
	h := newHost(t)
	queue, err := h.device.NewCompletionQueue(4)
	ok(t, err)
	ok(t, queue.Close())
	_, pairErr := h.domain.NewQueuePair(driver.QueueConfig{Completions: queue, MaxSpans: 1})
	_, sharedErr := h.domain.NewSharedReceives(driver.SharedConfig{Completions: queue, Depth: 1, MaxSpans: 1})
	if !errors.Is(pairErr, driver.ErrClosed) || !errors.Is(sharedErr, driver.ErrClosed) {
		t.Errorf("new queue pair: %v, new shared receives: %v", pairErr, sharedErr)
	}
	if h.domain.children != 0 || len(h.device.pairs) != 0 {
		t.Errorf("%d children and %d queue pairs, want none", h.domain.children, len(h.device.pairs))
	}
}

func TestBadSizesAreNamed(t *testing.T) {
	if _, err := newHost(t).domain.Alloc(maxAlloc+1, 0); !errors.Is(err, driver.ErrLimit) {
		t.Errorf("Alloc of %d bytes: %v", maxAlloc+1, err)
	}
	if _, err := New(Config{PeerTimeout: -1}); err == nil {
		t.Error("a negative timeout went well")
	}
}

func smallPool(h *host) *pool {
	p, err := newPool(h.device, 3, 2, false)
	ok(h.t, err)
	return p
}

// TestTooMuchPanics: package verbs posts no more than was agreed. If it did, one request would take another's place.
func TestTooMuchPanics(t *testing.T) {
	h := newHost(t)
	for name, post := range map[string]func(){
		"requests": func() {
			var b backlog
			for range 4 {
				b.push(&driver.Request{Op: driver.OpSend}, 3)
			}
		},
		"receives": func() { smallPool(h).postAll(make([]driver.Receive, 4)) },
		"spans":    func() { smallPool(h).postAll([]driver.Receive{{More: make([]driver.Span, 2)}}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if text, _ := recover().(string); !strings.HasPrefix(text, "soft: ") {
					t.Errorf("panicked with %q", text)
				}
			}()
			post()
		})
	}
}

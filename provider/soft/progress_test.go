package soft

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// until waits for what another goroutine does. It gives up, so that a test can fail.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for limit := clock.Real.Now().Add(tolerance); !done(); runtime.Gosched() {
		if clock.Real.Now() > limit {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// TestPostReturnsAfterAQuantum: the rest of a long message is Poll's, queue pairs in turn.
func TestPostReturnsAfterAQuantum(t *testing.T) {
	l := newLink(t)
	other := l.a.pair()
	join(l.a, other, l.b, l.b.pair())
	long := driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(l.mema, 0, 4<<20), Remote: remote(l.memb, 0, 4<<20)}
	l.a.cq.mu.Lock() // keeps the device's goroutine out
	for _, q := range []*QueuePair{l.qa, other} {
		q.requester.budget = copyQuantum
		q.accept([]driver.Request{long})
	}
	for turn := uint64(1); turn < 4<<20/copyQuantum; turn++ {
		if got := l.qa.requester.moved; got != turn*copyQuantum || other.requester.moved != got {
			t.Fatalf("turn %d: moved %d and %d bytes", turn, got, other.requester.moved)
		}
		l.a.cq.turn()
	}
	l.a.cq.mu.Unlock()
	l.a.expect(1, driver.OpWrite, driver.OK)
	l.a.expect(1, driver.OpWrite, driver.OK)
}

// untilWaiting waits until the device's goroutine has nothing left to do for the host but to wait for a call.
func untilWaiting(h *host) {
	h.t.Helper()
	until(h.t, "the device's goroutine waits", func() bool {
		h.cq.mu.Lock()
		defer h.cq.mu.Unlock()
		return h.cq.next != soon
	})
}

// inside runs f while the device's goroutine keeps out.
func (h *host) inside(f func()) {
	h.cq.mu.Lock()
	defer h.cq.mu.Unlock()
	f()
}

// owes reports whether requests of the host wait to be carried out.
func (h *host) owes() (any bool) {
	h.inside(func() { any = h.cq.owing > 0 })
	return any
}

// TestPosterNeverPolls leaves three kinds of work to the device's goroutine.
func TestPosterNeverPolls(t *testing.T) {
	t.Run("long write", func(t *testing.T) {
		l := newLink(t)
		l.mema.Region().Bytes[4<<20-1] = 9
		post(t, l.qa, driver.Request{Op: driver.OpWrite, Span: span(l.mema, 0, 4<<20), Remote: remote(l.memb, 0, 4<<20)})
		until(t, "the last word is written", func() bool { return loadWord(l.memb.Region().Bytes[4<<20-8:]) != 0 })
		l.a.expect(0, driver.OpWrite, driver.OK)
	})
	t.Run("late receive", func(t *testing.T) {
		l := newLink(t)
		for tag := range driver.Tag(5) {
			post(t, l.qa, driver.Request{Op: driver.OpSend})
			untilWaiting(l.a)
			receive(t, l.qb, driver.Receive{Tag: tag})
			l.b.expect(tag, driver.OpReceive, driver.OK)
		}
	})
	t.Run("chain", func(t *testing.T) {
		a, first, c := newHost(t), newHost(t), newHost(t)
		relay := first.sibling() // arrivals are reported elsewhere than the requests that wait for them
		qa, in, out, qc := a.pair(), first.pair(), relay.pair(), c.pair()
		join(a, qa, first, in)
		join(relay, out, c, qc)
		for i := range uint64(5) {
			receive(t, in, driver.Receive{})
			receive(t, qc, driver.Receive{Tag: driver.Tag(i)})
			post(t, out, driver.Request{Op: driver.OpSend, After: driver.Arrival{Queue: in.Number(), Count: i + 1}})
			untilWaiting(relay)
			c.silent()
			post(t, qa, driver.Request{Op: driver.OpSend})
			c.expect(driver.Tag(i), driver.OpReceive, driver.OK)
		}
	})
}

func TestWaitEndsInTime(t *testing.T) {
	h := newHost(t)
	for _, spin := range []time.Duration{0, time.Millisecond, time.Hour} {
		end := clock.Real.Now().Add(2 * time.Millisecond)
		ok(t, h.cq.Wait(end, spin))
		if now := clock.Real.Now(); now < end {
			t.Errorf("spin %v: returned %v early", spin, end.Sub(now))
		}
	}
}

func TestWakeIsSticky(t *testing.T) {
	h := newHost(t)
	for _, spin := range []time.Duration{0, time.Hour} {
		h.cq.Wake()
		ok(t, h.cq.Wait(clock.Never, spin))
		var waker sync.WaitGroup
		if spin == 0 {
			waker.Go(func() {
				until(t, "the waiter sleeps", func() bool { return h.cq.sleep.armed.Load() != 0 })
				h.cq.Wake()
			})
		} else {
			waker.Go(h.cq.Wake)
		}
		ok(t, h.cq.Wait(clock.Never, spin))
		waker.Wait()
	}
}

// TestWaitSpinsBeforeItSleeps counts sleeps: none while there is time to spin, at least one afterwards.
func TestWaitSpinsBeforeItSleeps(t *testing.T) {
	h := newHost(t)
	ok(t, h.cq.Wait(clock.Real.Now().Add(2*time.Millisecond), time.Hour))
	if h.cq.sleep.rests != 0 {
		t.Errorf("slept %d times instead of spinning", h.cq.sleep.rests)
	}
	var waker sync.WaitGroup
	waker.Go(func() {
		until(t, "the waiter sleeps", func() bool { return h.cq.sleep.armed.Load() != 0 })
		h.cq.Wake()
	})
	ok(t, h.cq.Wait(clock.Never, time.Microsecond))
	waker.Wait()
}

// TestNoSleepOverACall: a call that comes between the last look and the sleep is heard.
func TestNoSleepOverACall(t *testing.T) {
	l := newLink(t)
	l.a.cq.Wake()
	l.a.cq.doze(clock.Never)
	receive(t, l.qb, driver.Receive{Tag: 1})
	post(t, l.qa, driver.Request{Op: driver.OpSend})
	l.b.cq.doze(clock.Never)
	l.b.expect(1, driver.OpReceive, driver.OK)
}

// TestStandInWakesTheOwner: an owner that spins does not see what the device's goroutine completes in its place.
func TestStandInWakesTheOwner(t *testing.T) {
	l := newLink(t)
	post(t, l.qa, driver.Request{Tag: 1, Op: driver.OpSend})
	receive(t, l.qb, driver.Receive{})
	until(t, "the owner is called", func() bool {
		standIn := watch{queue: l.a.cq, turns: l.a.cq.turns}
		standIn.work(clock.Real.Now())
		return l.a.cq.sleep.called.Load()
	})
	l.a.expect(1, driver.OpSend, driver.OK)
}

// TestLastWordIsNotSplit: whatever the last visit of a message leaves to the next holds a whole aligned word.
func TestLastWordIsNotSplit(t *testing.T) {
	for left := range uint64(200) {
		for budget := range uint64(100) {
			v := visit{q: &QueuePair{}, total: left}
			v.q.requester.budget = budget
			n := v.share()
			if rest := left - n; n > left || rest != 0 && rest < 2*wordSize-1 || rest != 0 && n != budget {
				t.Fatalf("of %d bytes with budget %d, %d are moved and %d left", left, budget, n, rest)
			}
		}
	}
}

// TestWaiterHearsArrivals plays ping-pong between a sleeper, or a spinner, and a sleeper.
func TestWaiterHearsArrivals(t *testing.T) {
	for _, spin := range []time.Duration{0, time.Hour} {
		l := newLink(t)
		const rounds = 200
		side := func(h *host, q *QueuePair, first bool) {
			for range rounds {
				receive(t, q, driver.Receive{Tag: 1})
				if first {
					post(t, q, driver.Request{Op: driver.OpSend, Flags: driver.Quiet})
				}
				for h.poll(); len(h.kept) == 0; h.poll() {
					ok(t, h.cq.Wait(clock.Never, spin))
				}
				h.expect(1, driver.OpReceive, driver.OK)
				if !first {
					post(t, q, driver.Request{Op: driver.OpSend, Flags: driver.Quiet})
				}
			}
		}
		var peer sync.WaitGroup
		peer.Go(func() { side(l.b, l.qb, false) })
		side(l.a, l.qa, true)
		peer.Wait()
	}
}

// TestKillWakesWaiters: a peer that sleeps learns at once, and so does the device's own sleeper.
func TestKillWakesWaiters(t *testing.T) {
	l := newLink(t)
	post(t, l.qa, driver.Request{Tag: 1, Op: driver.OpSend})
	var sleepers sync.WaitGroup
	sleepers.Go(func() { l.a.expect(1, driver.OpSend, driver.RetryExceeded) })
	sleepers.Go(func() {
		for l.b.cq.Wait(clock.Never, 0) == nil {
		}
	})
	until(t, "the dead device's owner sleeps", func() bool { return l.b.cq.sleep.armed.Load() != 0 })
	l.b.device.Kill()
	sleepers.Wait()
}

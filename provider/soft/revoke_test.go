package soft

import (
	"bytes"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// streamWrites writes rising bytes over the first size bytes of the peer's memory until it is refused, and returns with what.
func streamWrites(l *link, size int) (refused driver.Status) {
	src := l.mema.Region().Bytes[:size]
	for round := 1; ; round++ {
		for i := range src {
			src[i] = byte(round)
		}
		post(l.a.t, l.qa, driver.Request{Op: driver.OpWrite, Span: span(l.mema, 0, size), Remote: remote(l.memb, 0, size)})
		if c := l.a.next(); c.Status != driver.OK {
			return c.Status
		}
	}
}

// TestNothingLandsAfterRevocation is the postcondition of SetAccess and of Memory.Close: stream writes, revoke, take a
// snapshot at the completion; nothing changes afterwards.
func TestNothingLandsAfterRevocation(t *testing.T) {
	for name, c := range map[string]struct {
		want   driver.Status
		revoke func(*link)
	}{
		"queue pair": {driver.RemoteInvalid, func(l *link) {
			ok(l.b.t, l.qb.SetAccess(1, driver.RemoteRead))
			l.b.expect(1, driver.OpQueueAccess, driver.OK)
		}},
		"memory": {driver.RemoteAccess, func(l *link) {
			ok(l.b.t, l.memb.SetAccess(l.b.cq, 1, driver.RemoteRead))
			l.b.expect(1, driver.OpMemoryAccess, driver.OK)
		}},
		"reset": {driver.RetryExceeded, func(l *link) {
			ok(l.b.t, l.qb.Reset(1))
			l.b.expect(1, driver.OpReset, driver.OK)
		}},
		"close": {driver.RetryExceeded, func(l *link) { ok(l.b.t, l.qb.Close()) }},
	} {
		t.Run(name, func(t *testing.T) {
			for round := range 30 {
				l := newLink(t)
				size := []int{8, 4096, 200_000}[round%3]
				dst := l.memb.Region().Bytes[:size]
				var streamer sync.WaitGroup
				var refused driver.Status
				streamer.Go(func() { refused = streamWrites(l, size) })
				for loadWord(dst) == 0 { // until writes are under way
				}
				c.revoke(l)
				snapshot := bytes.Clone(dst)
				streamer.Wait()
				if !bytes.Equal(dst, snapshot) {
					t.Fatalf("round %d: %d bytes changed after revocation", round, size)
				}
				if refused != c.want && refused != driver.Flushed {
					t.Fatalf("round %d: refused with %v, want %v", round, refused, c.want)
				}
				l.b.close()
				l.a.close()
			}
		})
	}
}

// TestMemoryClosesUnderStream unmaps memory at either end while it is in use. A mistake is a fault.
func TestMemoryClosesUnderStream(t *testing.T) {
	for round := range 40 {
		l := newLink(t)
		victim, want := l.memb, driver.RemoteAccess
		if round%2 == 1 {
			victim, want = l.mema, driver.LocalProtection
		}
		list := make([]driver.Request, 20)
		for i := range list {
			list[i] = driver.Request{Op: driver.OpWrite, Flags: driver.Quiet, Span: span(l.mema, 0, 300_000),
				Remote: remote(l.memb, 0, 300_000)}
		}
		begun := make(chan struct{})
		var streamer sync.WaitGroup
		streamer.Go(func() {
			for first := true; l.qa.State() == driver.Ready; first = false {
				post(t, l.qa, list...)
				if first {
					close(begun)
				}
				for l.a.poll(); len(l.a.kept) == 0 && l.a.owes(); {
					l.a.poll()
				}
			}
		})
		<-begun
		ok(t, victim.Close())
		streamer.Wait()
		if c := l.a.next(); c.Status != want {
			t.Fatalf("round %d: ended with %v, want %v", round, c.Status, want)
		}
		l.b.close()
		l.a.close()
	}
}

// TestAccessChangesWaitForVisitors stands inside the gate by hand, to see each change wait for it.
func TestAccessChangesWaitForVisitors(t *testing.T) {
	l := newLink(t)
	gate := &l.qb.life.Load().gate
	left := l.qa.requester.left
	mark := gate.enter(left)
	ok(t, l.qb.SetAccess(1, 0))
	ok(t, l.memb.SetAccess(l.b.cq, 2, 0))
	ok(t, l.memb.SetAccess(l.b.cq, 3, driver.RemoteRead))
	l.b.silent()
	receive(t, l.qb, driver.Receive{Tag: 4})
	ok(t, l.qb.Reset(5))
	l.b.silent()
	if l.qb.Reset(6) == nil {
		t.Error("two Resets at once went well")
	}
	if !gate.leave(mark) {
		t.Fatal("leave failed")
	}
	got := map[driver.Tag]driver.Op{}
	for range 5 {
		c := l.b.next()
		got[c.Tag] = c.Op
		if c.Tag == 5 && (got[1] == 0 || got[4] == 0) {
			t.Error("Reset completed before what was outstanding")
		}
	}
	want := map[driver.Tag]driver.Op{1: driver.OpQueueAccess, 2: driver.OpMemoryAccess, 3: driver.OpMemoryAccess,
		4: driver.OpReceive, 5: driver.OpReset}
	for tag, op := range want {
		if got[tag] != op {
			t.Errorf("tag %d completed as %v, want %v", tag, got[tag], op)
		}
	}
	// A visitor that comes later is not waited for.
	gate = &l.qb.life.Load().gate
	if seen := gate.look(); !gate.passed(seen) || gate.leave(mark) {
		t.Error("the gate of the new life is not fresh")
	}
}

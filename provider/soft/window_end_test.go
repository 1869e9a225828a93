package soft

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// The postcondition: stream writes, end what is lent, take a snapshot; nothing changes afterwards.
func TestNothingLandsThroughAWindowThatEnded(t *testing.T) {
	for name, end := range map[string]func(l *lending){
		"close":  func(l *lending) { ok(l.b.t, l.w.Close()) },
		"revoke": func(l *lending) { l.endBy(revoke(2, l.w)) },
		"next": func(l *lending) {
			next, _ := bind(3, l.w, span(l.m, 0, 8), driver.RemoteAll)
			l.endBy(revoke(2, l.w), next)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryLane(t, func(t *testing.T, lanes Lanes) {
				rounds := 30
				if lanes == TCP {
					rounds = 9
				}
				for round := range rounds {
					testNothingLands(t, newLending(t, lanes), []int{8, 4096, 200_000}[round%3], end)
				}
			})
		})
	}
}

// endBy takes back what is lent. If the peer was refused in between, the connection has ended, and with it what was lent: but
// only Close says when.
func (l *lending) endBy(list ...driver.Request) {
	post(l.b.t, l.qb, list...)
	if c := l.b.next(); c.Status != driver.OK {
		ok(l.b.t, l.w.Close())
	}
}

func testNothingLands(t *testing.T, l *lending, size int, end func(l *lending)) {
	dst, src := l.m.Region().Bytes[:size], l.mema.Region().Bytes[:size]
	lent := l.lend(0, size, driver.RemoteWrite)
	var streamer sync.WaitGroup
	streamer.Go(func() {
		for round := 1; ; round++ {
			for i := range src {
				src[i] = byte(round)
			}
			post(t, l.qa, driver.Request{Op: driver.OpWrite, Span: span(l.mema, 0, size), Remote: lent})
			if c := l.a.next(); c.Status != driver.OK {
				if c.Status != driver.RemoteAccess {
					t.Errorf("ended with %v", c.Status)
				}
				return
			}
		}
	})
	for loadWord(dst) == 0 { // until writes are under way
		l.b.poll()
	}
	end(l)
	snapshot := bytes.Clone(dst)
	for l.qb.State() != driver.Error {
		l.b.poll()
	}
	streamer.Wait()
	if !bytes.Equal(dst, snapshot) {
		t.Fatalf("%d bytes changed after the end", size)
	}
	l.b.close()
	l.a.close()
}

// Stand inside the gate by hand, to see a Revoke, and what is behind it, and a Close wait for it.
func TestRevokeWaitsForItsVisitor(t *testing.T) {
	for _, lanes := range []Lanes{InProcess, SharedMemory} {
		t.Run(lanes.String(), func(t *testing.T) {
			l := newLending(t, lanes)
			l.lend(0, 64, driver.RemoteAll)
			gate := &l.qb.life.Load().gate
			mark := gate.enter(l.qa.requester.left)
			t.Cleanup(func() { gate.leave(mark) })
			next, lent := bind(2, l.w, span(l.m, 64, 64), driver.RemoteAll)
			post(t, l.qb, revoke(1, l.w), next)
			for range 100 {
				l.b.silent()
			}
			if l.w.loan.key.Load() != 0 {
				t.Error("something is lent while the one before is being taken back")
			}
			gate.leave(mark)
			l.qa.requester.left = mark + 1
			l.b.expect(1, driver.OpRevoke, driver.OK)
			l.b.expect(2, driver.OpBind, driver.OK)
			l.use(l.qa, driver.OpWrite, lent, driver.OK)

			mark = gate.enter(l.qa.requester.left)
			post(t, l.qb, revoke(3, l.w))
			closed := make(chan error, 1)
			go func() { closed <- l.w.Close() }()
			for range 1000 {
				if len(closed) > 0 || !gate.holds(mark) {
					t.Fatal("it was closed with somebody inside")
				}
			}
			gate.leave(mark)
			l.qa.requester.left = mark + 1
			ok(t, <-closed)
			l.b.expect(3, driver.OpRevoke, driver.OK)
		})
	}
}

// A window that is closed before its Bind has had its turn lends nothing when that comes.
func TestBindOfAClosedWindow(t *testing.T) {
	onEveryLane(t, func(t *testing.T, lanes Lanes) {
		l := newLending(t, lanes)
		r, lent := bind(2, l.w, span(l.m, 0, 64), driver.RemoteAll)
		r.After = driver.Arrival{Queue: l.qb.Number(), Count: 1}
		post(t, l.qb, r, revoke(3, l.w))
		ok(t, l.w.Close())
		if err := l.w.Close(); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("a second Close says %v", err)
		}
		receive(t, l.qb, driver.Receive{Tag: 4})
		post(t, l.qa, driver.Request{Tag: 5, Op: driver.OpSend})
		l.a.expect(5, driver.OpSend, driver.OK, l.b)
		got := map[driver.Tag]bool{}
		for range 3 {
			c := l.b.next(l.a)
			got[c.Tag] = c.Status == driver.OK
		}
		if !got[2] || !got[3] || !got[4] {
			t.Errorf("these have ended well: %v", got)
		}
		l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
	})
}

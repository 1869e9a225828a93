package soft

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// lending is a link whose end b lends pieces of memory that grants nothing by itself.
type lending struct {
	*link
	m *Memory
	w *Window
}

func newLending(t testing.TB, lanes Lanes, edit ...func(*driver.QueueConfig)) *lending {
	t.Helper()
	l := newLinkOn(t, Config{Name: t.Name(), Lanes: lanes}, edit...)
	return &lending{l, l.b.memory(4<<20, 0), l.b.window(l.qb)}
}

func (h *host) window(q *QueuePair) *Window {
	h.t.Helper()
	w, err := q.NewWindow()
	ok(h.t, err)
	return w.(*Window)
}

// bind makes the request, and what the peer names the piece by.
func bind(tag driver.Tag, w *Window, piece driver.Span, access driver.Access) (driver.Request, driver.RemoteSpan) {
	lent := driver.RemoteSpan{Address: piece.Address, Length: uint64(piece.Length), Key: w.NextKey()}
	return driver.Request{Tag: tag, Op: driver.OpBind, Span: piece, Remote: lent, Compare: uint64(w.Number()), Swap: uint64(access)}, lent
}

func revoke(tag driver.Tag, w *Window) driver.Request {
	return driver.Request{Tag: tag, Op: driver.OpRevoke, Compare: uint64(w.Number())}
}

// lend lends a piece of the memory.
func (l *lending) lend(offset, n int, access driver.Access) driver.RemoteSpan {
	l.b.t.Helper()
	r, lent := bind(1, l.w, span(l.m, offset, n), access)
	post(l.b.t, l.qb, r)
	if c := l.b.expect(1, driver.OpBind, driver.OK, l.a); c.Bytes != 0 {
		l.b.t.Fatalf("a Bind is reported with %d bytes", c.Bytes)
	}
	return lent
}

func (l *lending) takeBack() {
	l.b.t.Helper()
	post(l.b.t, l.qb, revoke(2, l.w))
	l.b.expect(2, driver.OpRevoke, driver.OK, l.a)
}

// use does something to what is lent, and expects that to end so.
func (l *lending) use(q *QueuePair, op driver.Op, at driver.RemoteSpan, want driver.Status) {
	l.a.t.Helper()
	post(l.a.t, q, driver.Request{Tag: 3, Op: op, Span: span(l.mema, 0, int(at.Length)), Remote: at, Swap: 5})
	l.a.expect(3, op, want, l.b)
}

func onEveryLane(t *testing.T, f func(t *testing.T, lanes Lanes)) {
	t.Helper()
	for _, lanes := range []Lanes{InProcess, SharedMemory, TCP} {
		t.Run(lanes.String(), func(t *testing.T) { f(t, lanes) })
	}
}

// What is lent can be used at once, for each operation, though the memory grants nothing; and again after each Bind.
func TestWindowLends(t *testing.T) {
	onEveryLane(t, func(t *testing.T, lanes Lanes) {
		l := newLending(t, lanes)
		there, here := l.m.Region().Bytes, l.mema.Region().Bytes
		for round := range 20 {
			offset, n := 8*round, []int{8, 100, 3 << 20}[round%3]
			copy(here, "to what is lent")
			lent := l.lend(offset, n, driver.RemoteAll)
			l.use(l.qa, driver.OpWrite, lent, driver.OK)
			if !bytes.Equal(there[offset:][:n], here[:n]) {
				t.Fatal("it was not written")
			}
			copy(there[offset:], "and back")
			l.use(l.qa, driver.OpRead, lent, driver.OK)
			if !bytes.Equal(there[offset:][:n], here[:n]) {
				t.Fatal("it was not read")
			}
			before := binary.NativeEndian.Uint64(there[offset:])
			l.use(l.qa, driver.OpFetchAdd, lent.Sub(0, 8), driver.OK)
			if got := binary.NativeEndian.Uint64(there[offset:]); got != before+5 {
				t.Fatalf("%d was not added", got-before)
			}
			l.use(l.qa, driver.OpWrite, lent.Sub(uint64(n), 0), driver.OK)
			l.takeBack()
		}
	})
}

// Each of these is refused, and puts both ends in Error.
func TestWindowRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		access driver.Access
		use    func(l *lending, lent driver.RemoteSpan)
	}{
		"a Read of what may be written": {driver.RemoteWrite, func(l *lending, lent driver.RemoteSpan) {
			l.use(l.qa, driver.OpRead, lent, driver.RemoteAccess)
		}},
		"a Write of what may be read": {driver.RemoteRead, func(l *lending, lent driver.RemoteSpan) {
			l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
		}},
		"an atomic where that is not lent": {driver.RemoteRead | driver.RemoteWrite, func(l *lending, lent driver.RemoteSpan) {
			l.use(l.qa, driver.OpFetchAdd, lent.Sub(0, 8), driver.RemoteAccess)
		}},
		"the byte before": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			lent.Address--
			l.use(l.qa, driver.OpWrite, lent.Sub(0, 8), driver.RemoteAccess)
		}},
		"the byte behind": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			lent.Address++
			l.use(l.qa, driver.OpRead, lent, driver.RemoteAccess)
		}},
		"an address that wraps": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			lent.Address, lent.Length = ^uint64(0)-3, 8
			l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
		}},
		"a key that is nearly right": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			lent.Key ^= 1 << 40
			l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
		}},
		"a key of another window": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			lent.Key = l.b.window(l.qb).NextKey()
			l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
		}},
		"a key of no window": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			lent.Key |= indexOfKey
			l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
		}},
		"what was taken back": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			l.use(l.qa, driver.OpWrite, lent, driver.OK)
			l.takeBack()
			l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
		}},
		"the key of the last time": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			l.takeBack()
			l.lend(0, 64, driver.RemoteAll)
			l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
		}},
		"a window that is closed": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			ok(l.b.t, l.w.Close())
			l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
		}},
		"memory that is closed": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			l.use(l.qa, driver.OpWrite, lent, driver.OK)
			ok(l.b.t, l.m.Close())
			l.use(l.qa, driver.OpRead, lent, driver.RemoteAccess)
		}},
		"the memory's own key": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			lent.Key = l.m.Region().RemoteKey
			l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
		}},
		"what the queue pair does not allow": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			ok(l.b.t, l.qb.SetAccess(4, driver.RemoteRead))
			l.b.expect(4, driver.OpQueueAccess, driver.OK)
			l.use(l.qa, driver.OpRead, lent, driver.OK)
			l.use(l.qa, driver.OpWrite, lent, driver.RemoteInvalid)
		}},
		"what was lent before a Reset": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			reconnect(l.link)
			l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
		}},
		"what its own end lends": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
			w := l.a.window(l.qa)
			r, own := bind(5, w, span(l.mema, 0, 64), driver.RemoteAll)
			post(l.a.t, l.qa, r)
			l.a.expect(5, driver.OpBind, driver.OK)
			l.use(l.qa, driver.OpWrite, own, driver.RemoteAccess)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryLane(t, func(t *testing.T, lanes Lanes) {
				l := newLending(t, lanes)
				before := l.m.region
				c.use(l, l.lend(0, 64, c.access))
				if state := l.qa.State(); state != driver.Error {
					t.Errorf("the requester's end is %v", state)
				}
				for l.qb.State() != driver.Error {
					l.b.poll()
				}
				if !l.m.closed && before.bytes[64] != 0 {
					t.Error("a byte was written all the same")
				}
			})
		})
	}
}

// A key is of no use through another queue pair: not one of the same two ends, nor a third party's. Nor is it spoiled by the
// attempt.
func TestWindowIsForItsPeerAlone(t *testing.T) {
	onEveryLane(t, func(t *testing.T, lanes Lanes) {
		l := newLending(t, lanes)
		lent := l.lend(0, 64, driver.RemoteAll)
		other, peer := l.a.pair(), l.b.pair()
		join(l.a, other, l.b, peer)
		l.b.window(peer)
		l.use(other, driver.OpWrite, lent, driver.RemoteAccess)
		stranger := newHostWith(t, Config{Lanes: lanes})
		source, third, its := stranger.memory(64, 0), stranger.pair(), l.b.pair()
		join(stranger, third, l.b, its)
		post(t, third, driver.Request{Tag: 6, Op: driver.OpRead, Span: span(source, 0, 64), Remote: lent})
		stranger.expect(6, driver.OpRead, driver.RemoteAccess, l.b)
		l.use(l.qa, driver.OpWrite, lent, driver.OK)
	})
}

// A Bind of what is not there fails like any request with a bad span, in its turn.
func TestBadBind(t *testing.T) {
	for name, piece := range map[string]func(l *lending) driver.Span{
		"outside": func(l *lending) driver.Span {
			s := span(l.m, 4<<20-8, 8)
			s.Length++
			return s
		},
		"another domain's": func(l *lending) driver.Span {
			s := span(l.m, 0, 8)
			s.Key ^= 7
			return s
		},
		"closed": func(l *lending) driver.Span {
			s := span(l.m, 0, 8)
			ok(l.b.t, l.m.Close())
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryLane(t, func(t *testing.T, lanes Lanes) {
				l := newLending(t, lanes)
				bad, _ := bind(7, l.w, piece(l), driver.RemoteAll)
				post(t, l.qb, driver.Request{Tag: 6, Op: driver.OpWrite, Span: span(l.memb, 0, 64), Remote: remote(l.mema, 0, 64)}, bad,
					driver.Request{Tag: 8, Op: driver.OpWrite, Span: span(l.memb, 0, 8), Remote: remote(l.mema, 0, 8)})
				l.b.expect(6, driver.OpWrite, driver.OK, l.a)
				l.b.expect(7, driver.OpBind, driver.LocalProtection, l.a)
				l.b.expect(8, driver.OpWrite, driver.Flushed)
				for l.qa.State() != driver.Error {
					l.a.poll()
				}
			})
		})
	}
}

// Bind and Revoke are requests like others: what is posted behind a Bind finds the peer let in, all complete in their order,
// and no Quiet one is reported. On a wire some are sent again, for want of a receive, between those that are not sent at all.
func TestBindsInOrder(t *testing.T) {
	onEveryLane(t, func(t *testing.T, lanes Lanes) {
		const messages = 12
		l := newLending(t, lanes, func(c *driver.QueueConfig) { c.SendDepth = 4 * messages })
		second := l.b.window(l.qb)
		var list []driver.Request
		var lent [messages]driver.RemoteSpan
		text := l.memb.Region().Bytes
		for i := range messages {
			w := []*Window{l.w, second}[i%2]
			if i >= 2 {
				list = append(list, revoke(driver.Tag(100+i), w))
			}
			var r driver.Request
			r, lent[i] = bind(driver.Tag(200+i), w, span(l.m, 64*i, 64), driver.RemoteRead)
			binary.LittleEndian.PutUint64(text[8*i:], lent[i].Key)
			message := driver.Request{Tag: driver.Tag(300 + i), Op: driver.OpSend, Span: span(l.memb, 8*i, 8)}
			if i%3 == 1 {
				r.Flags = driver.Quiet
			}
			if i%4 == 3 {
				message.Op, message.Remote = driver.OpRead, remote(l.mema, 0, 8)
				message.Span = span(l.memb, 4096, 8)
			}
			list = append(list, r, message)
		}
		post(t, l.qb, list...)
		for range 50 {
			l.a.poll()
			l.b.poll()
		}
		for i := range messages {
			if i%4 != 3 {
				receive(t, l.qa, driver.Receive{Tag: driver.Tag(i), Span: span(l.mema, 8*i, 8)})
				l.a.expect(driver.Tag(i), driver.OpReceive, driver.OK, l.b)
			}
		}
		for _, r := range list {
			if r.Flags == 0 {
				l.b.expect(r.Tag, r.Op, driver.OK, l.a)
			}
		}
		l.b.silent()
		for i := messages - 2; i < messages; i++ {
			l.use(l.qa, driver.OpRead, lent[i], driver.OK)
		}
		l.use(l.qa, driver.OpRead, lent[0], driver.RemoteAccess)
	})
}

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

// A queue pair has so many windows and no more. Numbers are not given twice, keys neither, and each window has its own loan.
func TestManyWindows(t *testing.T) {
	onEveryLane(t, func(t *testing.T, lanes Lanes) {
		l := newLending(t, lanes)
		all := []*Window{l.w}
		keys, numbers := map[uint64]bool{}, map[uint32]bool{}
		for len(all) < maxWindows {
			all = append(all, l.b.window(l.qb))
		}
		if _, err := l.qb.NewWindow(); !errors.Is(err, driver.ErrLimit) {
			t.Errorf("one window more: %v", err)
		}
		var lent []driver.RemoteSpan
		for i, w := range all {
			numbers[w.Number()], keys[w.NextKey()] = true, true
			r, at := bind(1, w, span(l.m, 8*i, 8), driver.RemoteWrite)
			post(t, l.qb, r)
			l.b.expect(1, driver.OpBind, driver.OK)
			lent = append(lent, at)
		}
		for i, at := range lent {
			binary.NativeEndian.PutUint64(l.mema.Region().Bytes, uint64(i+1))
			l.use(l.qa, driver.OpWrite, at, driver.OK)
		}
		for i := range all {
			if got := binary.NativeEndian.Uint64(l.m.Region().Bytes[8*i:]); got != uint64(i+1) {
				t.Fatalf("window %d lent the place of %d", i, got-1)
			}
		}
		for _, w := range all[:100] {
			ok(t, w.Close())
			w = l.b.window(l.qb)
			numbers[w.Number()], keys[w.NextKey()] = true, true
		}
		if want := maxWindows + 100; len(numbers) != want || len(keys) != want {
			t.Errorf("%d numbers and %d keys, want %d", len(numbers), len(keys), want)
		}
		ok(t, l.qb.Close())
		if err := all[200].Close(); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closing a window after its queue pair: %v", err)
		}
	})
}

// Lending, using and taking back allocates nothing, and takes no lock but those of Post and Poll.
func TestLendingCostsLittle(t *testing.T) {
	onEveryLane(t, func(t *testing.T, lanes Lanes) {
		l := newLending(t, lanes)
		list, into := make([]driver.Request, 2), make([]driver.Completion, 16)
		await := func(h *host, n int) {
			for n > 0 {
				got, _ := h.cq.Poll(into)
				if n -= got; lanes == TCP && got == 0 {
					_, _ = l.b.cq.Poll(nil)
				}
			}
		}
		run := func() {
			var lent driver.RemoteSpan
			list[0], lent = bind(1, l.w, span(l.m, 0, 64), driver.RemoteRead)
			_, _ = l.qb.Post(list[:1])
			await(l.b, 1)
			list[0] = driver.Request{Op: driver.OpRead, Span: span(l.mema, 0, 64), Remote: lent}
			_, _ = l.qa.Post(list[:1])
			await(l.a, 1)
			list[0] = revoke(2, l.w)
			_, _ = l.qb.Post(list[:1])
			await(l.b, 1)
		}
		for range 100 {
			run()
		}
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%v allocations", n)
		}
		a, b := l.a.device.Locks(), l.b.device.Locks()
		run()
		if a, b = l.a.device.Locks()-a, l.b.device.Locks()-b; lanes != TCP && (a != 2 || b != 4) {
			t.Errorf("%d and %d locks, want 2 and 4", a, b)
		}
	})
}

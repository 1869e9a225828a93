package soft

import (
	"bytes"
	"encoding/binary"
	"errors"
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

// No bit of a key tells anything to who does not take it apart, and it says which loan it is of.
func TestKeysOfWindows(t *testing.T) {
	l := newLending(t, InProcess)
	ones, zeros := uint64(0), uint64(0)
	for range 100 {
		key := l.w.NextKey()
		ones, zeros = ones|key, zeros|^key
		if !isLent(key) || loanOf(key) != l.w.index {
			t.Fatalf("%#x is taken for the key of loan %d", key, loanOf(key))
		}
	}
	if ones&zeros != ^uint64(0) {
		t.Errorf("of 100 keys, bits %#x are always the same", ^(ones & zeros))
	}
	for _, random := range []uint64{0, 1, ^uint64(0), 1 << 63, lowOfKey} {
		for _, index := range []uint32{0, 1, maxWindows - 1, lentBit - 1} {
			if key := lentKey(random, index); !isLent(key) || loanOf(key) != index || key == 0 {
				t.Errorf("%#x made of %#x and %d", key, random, index)
			}
		}
	}
	for range 100 {
		if key := l.b.memory(8, 0).region.remoteKey; isLent(key) {
			t.Errorf("a memory has the key %#x", key)
		}
	}
}

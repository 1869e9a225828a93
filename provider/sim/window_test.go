package sim

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// window makes a window.
func (q *queuePair) window(t testing.TB) *window {
	t.Helper()
	w, err := q.NewWindow()
	must(t, err)
	return w.(*window)
}

// bind is the request that lends a piece, as package verbs makes it.
func (w *window) bind(piece driver.Span, access driver.Access) driver.Request {
	return driver.Request{Op: driver.OpBind, Span: piece, Compare: uint64(w.number), Swap: uint64(access),
		Remote: driver.RemoteSpan{Address: piece.Address, Length: uint64(piece.Length), Key: w.NextKey()}}
}

// revoke is the request that takes it back.
func (w *window) revoke() driver.Request {
	return driver.Request{Op: driver.OpRevoke, Compare: uint64(w.number)}
}

// lending is two hosts, of which b has lent 100 bytes of memory that grants nothing by itself to a.
func lending(t testing.TB, c Config) (a, b *host, qa, qb *queuePair, w *window, lent driver.RemoteSpan) {
	t.Helper()
	_, a, b, qa, qb = couple(t, c)
	b.memory.access = 0
	w = qb.window(t)
	bind := w.bind(b.span(8, 100), driver.RemoteAll)
	qb.must(t, bind)
	b.want(driver.OpBind, driver.OK)
	return a, b, qa, qb, w, bind.Remote
}

func TestLentMemoryIsReached(t *testing.T) {
	a, b, qa, _, _, lent := lending(t, Config{})
	a.setWord(0, 7)
	qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 8), Remote: lent},
		driver.Request{Op: driver.OpFetchAdd, Span: a.span(8, 8), Remote: lent, Swap: 1},
		driver.Request{Op: driver.OpRead, Flags: driver.Fence, Span: a.span(16, 8), Remote: lent})
	a.want(driver.OpWrite, driver.OK)
	a.want(driver.OpFetchAdd, driver.OK)
	a.want(driver.OpRead, driver.OK)
	if b.word(8) != 8 || a.word(8) != 7 || a.word(16) != 8 {
		t.Errorf("the words are %d, %d and %d", b.word(8), a.word(8), a.word(16))
	}
	settled(t, a.fabric)
}

// A NIC's engine is busy with a Bind as long as with a small message, and nothing travels.
func TestALocalRequestCostsAsMuchAsAMessage(t *testing.T) {
	f, _, b, _, qb := couple(t, quiet())
	w := qb.window(t)
	d := f.delay
	start := f.now
	qb.must(t, w.bind(b.span(0, 60000), driver.RemoteRead), w.revoke(), w.bind(b.span(0, 1), driver.RemoteRead))
	for range 3 {
		if c := b.take(); c.Status != driver.OK || c.Bytes != 0 {
			t.Fatalf("got %+v", c)
		}
	}
	posted := start + d.post + 2*d.postMore
	if want := posted + d.doorbell + 2*d.gap + d.progress; f.now != want {
		t.Errorf("the third was over at %v, want %v", f.now, want)
	}
}

// When a Revoke completes, nothing that the window let in can land any more, and no bytes can leave.
func TestRevokedWindowsAreShut(t *testing.T) {
	f, a, b, qa, qb := couple(t, Config{Seed: 5})
	b.memory.access = 0
	w := qb.window(t)
	bind := w.bind(b.span(0, testSize), driver.RemoteWrite)
	qb.must(t, bind)
	b.want(driver.OpBind, driver.OK)
	for i := range a.bytes() {
		a.bytes()[i] = 1
	}
	for i := range testDepth {
		to := bind.Remote.Sub(uint64(1000*i), 1000)
		qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 1000), Remote: to})
	}
	must(t, f.Run(f.now.Add(6*time.Microsecond)))
	qb.must(t, w.revoke())
	b.want(driver.OpRevoke, driver.OK)
	seen := bytes.Clone(b.bytes())
	if seen[0] == 0 || seen[63*1000] != 0 {
		t.Fatal("the revocation did not fall into the stream")
	}
	settled(t, f)
	if !bytes.Equal(seen, b.bytes()) {
		t.Error("something landed after the revocation")
	}
}

// A Read that has passed the gate, and whose bytes have not left when the window is closed, is refused too.
func TestReadsOfAClosedWindowBringNothing(t *testing.T) {
	f, a, b, qa, qb := couple(t, quiet())
	w := qb.window(t)
	bind := w.bind(b.span(0, 60000), driver.RemoteRead)
	b.bytes()[0] = 1
	qb.must(t, bind)
	b.want(driver.OpBind, driver.OK)
	qa.must(t, driver.Request{Op: driver.OpRead, Span: a.span(0, 60000), Remote: bind.Remote})
	f.At(f.now+3000, func() { must(t, w.Close()) })
	a.want(driver.OpRead, driver.RemoteAccess)
	if a.bytes()[0] != 0 {
		t.Error("bytes came back")
	}
	settled(t, f)
}

// Memory that is closed after the Bind was posted, before its turn, cannot be lent.
func TestBindOfMemoryThatIsGone(t *testing.T) {
	f, a, b, qa, qb := couple(t, Config{})
	m, err := b.domain.Alloc(8, 0)
	must(t, err)
	qa.mustReceive(t, driver.Receive{})
	qb.must(t, driver.Request{Op: driver.OpWrite, Span: b.span(0, 60000), Remote: a.remote(0, 60000)},
		qb.window(t).bind(spanOf(m, 0, 8), driver.RemoteRead), driver.Request{Op: driver.OpSend})
	f.At(f.now+2000, func() { must(t, m.Close()) })
	b.want(driver.OpWrite, driver.OK)
	b.want(driver.OpBind, driver.LocalProtection)
	b.want(driver.OpSend, driver.Flushed)
	a.want(driver.OpReceive, driver.Flushed)
	settled(t, f)
}

// What stands in the queue for a window that is closed by then ends well, and lends nothing.
func TestRequestsOfAClosedWindow(t *testing.T) {
	_, a, b, qa, qb := couple(t, Config{})
	w := qb.window(t)
	bind := w.bind(b.span(0, 8), driver.RemoteAll)
	qb.must(t, bind, w.revoke(), bind)
	must(t, w.Close())
	for _, op := range []driver.Op{driver.OpBind, driver.OpRevoke, driver.OpBind} {
		b.want(op, driver.OK)
	}
	qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 8), Remote: bind.Remote})
	a.want(driver.OpWrite, driver.RemoteAccess)
	settled(t, b.fabric)
}

// A connection that is no more has taken everything back: what its window lent does not open the next one.
func TestTheNextPeerFindsNothingLent(t *testing.T) {
	a, b, qa, qb, w, lent := lending(t, Config{})
	must(t, qb.Reset(1))
	must(t, qa.Reset(1))
	a.want(driver.OpReset, driver.OK)
	b.want(driver.OpReset, driver.OK)
	join(a, b, qa, qb)
	qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 8), Remote: lent})
	a.want(driver.OpWrite, driver.RemoteAccess)
	must(t, w.Close())
	if err := w.Close(); err == nil {
		t.Error("a second Close is well")
	}
	settled(t, a.fabric)
}

func TestWindowsOfACrashedNode(t *testing.T) {
	a, _, _, qb, w, _ := lending(t, Config{})
	must(t, a.fabric.Crash("b"))
	if err := w.Close(); !errors.Is(err, ErrCrashed) {
		t.Errorf("close: %v", err)
	}
	if _, err := qb.NewWindow(); !errors.Is(err, ErrCrashed) {
		t.Errorf("new window: %v", err)
	}
	settled(t, a.fabric)
}

func TestWindowsAreLimited(t *testing.T) {
	_, _, _, _, qb := couple(t, Config{})
	for range maxWindows {
		qb.window(t)
	}
	if _, err := qb.NewWindow(); !errors.Is(err, driver.ErrLimit) {
		t.Errorf("one more: %v", err)
	}
	must(t, qb.windows.open[5].Close())
	if w := qb.window(t); w.number != maxWindows+1 {
		t.Errorf("a number was given twice: %d", w.number)
	}
}

func TestLendingAllocatesNothing(t *testing.T) {
	a, b, qa, qb, w, _ := lending(t, Config{})
	bind := w.bind(b.span(0, 8), driver.RemoteAll)
	list, back := []driver.Request{w.revoke(), bind}, []driver.Request{w.revoke()}
	use := []driver.Request{{Op: driver.OpWrite, Span: a.span(0, 8), Remote: bind.Remote}}
	var got [4]driver.Completion
	post := func(h *host, q *queuePair, list []driver.Request) {
		_, err := q.Post(list)
		must(t, err)
		must(t, h.fabric.Run(h.fabric.now.Add(10*time.Microsecond)))
		if n, _ := h.queue.Poll(got[:]); n != len(list) || got[n-1].Status != driver.OK {
			t.Fatalf("%d completions: %+v", n, got)
		}
	}
	round := func() {
		post(b, qb, list)
		post(a, qa, use)
		post(b, qb, back)
	}
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations from post to completion", n)
	}
}

package sim

import (
	"bytes"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

func TestWriteLandsAndCompletes(t *testing.T) {
	f, a, b, qa, _ := couple(t, quiet())
	copy(a.bytes(), "hello")
	qa.must(t, driver.Request{Tag: 7, Op: driver.OpWrite, Span: a.span(0, 5), Remote: b.remote(100, 5)})
	c := a.want(driver.OpWrite, driver.OK)
	if c.Tag != 7 || c.Bytes != 5 || c.Queue != qa.number || string(b.bytes()[100:105]) != "hello" {
		t.Errorf("got %+v, memory %q", c, b.bytes()[100:105])
	}
	settled(t, f)
}

func TestReadBringsBytesBack(t *testing.T) {
	for _, n := range []int{1, 512, 513, testSize} {
		f, a, b, qa, _ := couple(t, Config{})
		for i := range b.bytes() {
			b.bytes()[i] = byte(i * 7)
		}
		qa.must(t, driver.Request{Op: driver.OpRead, Span: a.span(0, n), Remote: b.remote(0, n)})
		a.want(driver.OpRead, driver.OK)
		if !bytes.Equal(a.bytes()[:n], b.bytes()[:n]) {
			t.Errorf("%d bytes differ", n)
		}
		settled(t, f)
	}
}

func TestSendTakesReceivesInOrder(t *testing.T) {
	f, a, b, qa, qb := couple(t, Config{})
	for i := range 3 {
		more := []driver.Span{b.span(i*100+50, 50)}
		qb.mustReceive(t, driver.Receive{Tag: driver.Tag(10 + i), Span: b.span(i*100, 50), More: more})
	}
	for i := range 60 {
		a.bytes()[i] = byte(i)
	}
	qa.must(t,
		driver.Request{Tag: 1, Op: driver.OpSend, Span: a.span(0, 20), More: []driver.Span{{}, a.span(20, 40)}},
		driver.Request{Tag: 2, Op: driver.OpSendImm, Imm: 99, Span: a.span(1, 5), Flags: driver.Inline | driver.Quiet},
		driver.Request{Tag: 3, Op: driver.OpWriteImm, Imm: 98, Span: a.span(9, 1), Remote: b.remote(1000, 1)},
	)
	if c := b.want(driver.OpReceive, driver.OK); c.Tag != 10 || c.Bytes != 60 || !bytes.Equal(b.bytes()[:60], a.bytes()[:60]) {
		t.Errorf("first: %+v", c)
	}
	if c := b.want(driver.OpReceiveImm, driver.OK); c.Tag != 11 || c.Bytes != 5 || c.Imm != 99 || b.bytes()[100] != 1 {
		t.Errorf("second: %+v", c)
	}
	c := b.want(driver.OpReceiveWriteImm, driver.OK)
	if c.Tag != 12 || c.Imm != 98 || b.bytes()[1000] != 9 || b.bytes()[200] != 0 {
		t.Errorf("third: %+v", c)
	}
	a.want(driver.OpSend, driver.OK)
	a.want(driver.OpWriteImm, driver.OK)
	a.nothing()
	settled(t, f)
}

func TestAtomics(t *testing.T) {
	_, a, b, qa, _ := couple(t, Config{})
	b.setWord(64, 5)
	at := b.remote(64, 8)
	qa.must(t,
		driver.Request{Op: driver.OpFetchAdd, Span: a.span(0, 8), Remote: at, Swap: 3},
		driver.Request{Op: driver.OpCompareSwap, Span: a.span(8, 8), Remote: at, Compare: 8, Swap: 100},
		driver.Request{Op: driver.OpCompareSwap, Span: a.span(16, 8), Remote: at, Compare: 8, Swap: 200},
	)
	a.want(driver.OpFetchAdd, driver.OK)
	a.want(driver.OpCompareSwap, driver.OK)
	a.want(driver.OpCompareSwap, driver.OK)
	if a.word(0) != 5 || a.word(8) != 8 || a.word(16) != 100 || b.word(64) != 100 {
		t.Errorf("old values %d %d %d, word %d", a.word(0), a.word(8), a.word(16), b.word(64))
	}
}

// Inline bytes are those of the moment of posting, others those of the moment of sending.
func TestInlineTakesTheBytesAtOnce(t *testing.T) {
	_, a, b, qa, _ := couple(t, Config{})
	a.bytes()[0] = 1
	qa.must(t,
		driver.Request{Op: driver.OpWrite, Flags: driver.Inline, Span: a.span(0, 1), Remote: b.remote(0, 1)},
		driver.Request{Op: driver.OpWrite, Span: a.span(0, 1), Remote: b.remote(1, 1)})
	a.bytes()[0] = 2
	a.want(driver.OpWrite, driver.OK)
	a.want(driver.OpWrite, driver.OK)
	if b.bytes()[0] != 1 || b.bytes()[1] != 2 {
		t.Errorf("landed %v, want [1 2]", b.bytes()[:2])
	}
}

func TestZeroLengthNeedsNoKey(t *testing.T) {
	_, a, _, qa, qb := couple(t, Config{})
	bad := driver.RemoteSpan{Address: 1, Key: 1}
	qb.mustReceive(t, driver.Receive{}, driver.Receive{})
	qa.must(t,
		driver.Request{Op: driver.OpWrite, Span: driver.Span{Key: 77, Address: 3}, Remote: bad},
		driver.Request{Op: driver.OpRead, Remote: bad},
		driver.Request{Op: driver.OpWriteImm, Remote: bad},
		driver.Request{Op: driver.OpSend})
	for _, op := range []driver.Op{driver.OpWrite, driver.OpRead, driver.OpWriteImm, driver.OpSend} {
		a.want(op, driver.OK)
	}
}

// Without a fence a Write may overtake the effect of a Read before it, or not; with one it may not.
func TestFence(t *testing.T) {
	read := func(n int, flags driver.Flags) uint64 {
		f, a, b, qa, _ := couple(t, quiet())
		a.setWord(0, 42)
		qa.must(t,
			driver.Request{Op: driver.OpRead, Span: a.span(8, n), Remote: b.remote(0, n)},
			driver.Request{Op: driver.OpWrite, Flags: flags, Span: a.span(0, 8), Remote: b.remote(0, 8)})
		a.want(driver.OpRead, driver.OK)
		a.want(driver.OpWrite, driver.OK)
		if b.word(0) != 42 {
			t.Errorf("the write did not land")
		}
		settled(t, f)
		return a.word(8)
	}
	if got := read(8, 0); got != 0 {
		t.Errorf("a short read is over before the write lands, but saw %d", got)
	}
	if got := read(32768, 0); got != 42 {
		t.Errorf("a long read is overtaken by the write, but saw %d", got)
	}
	if got := read(32768, driver.Fence); got != 0 {
		t.Errorf("a fenced write waits, but the read saw %d", got)
	}
}

// Requests complete in posting order even if a later one has its answer first.
func TestCompletionsKeepPostingOrder(t *testing.T) {
	_, a, b, qa, _ := couple(t, Config{})
	qa.must(t,
		driver.Request{Tag: 1, Op: driver.OpRead, Span: a.span(0, 60000), Remote: b.remote(0, 60000)},
		driver.Request{Tag: 2, Op: driver.OpWrite, Span: a.span(0, 1), Remote: b.remote(0, 1)},
		driver.Request{Tag: 3, Op: driver.OpFetchAdd, Span: a.span(0, 8), Remote: b.remote(0, 8)})
	for want := driver.Tag(1); want <= 3; want++ {
		if c := a.take(); c.Tag != want || c.Status != driver.OK {
			t.Fatalf("got %+v, want tag %d", c, want)
		}
	}
}

func TestReceiverNotReady(t *testing.T) {
	f, a, b, qa, qb := couple(t, quiet())
	// In time: what waits lands when a receive comes, and the write behind it does not overtake it.
	f.At(f.now.Add(500*time.Microsecond), func() {
		if b.bytes()[9] != 0 {
			t.Error("a write overtook the send that waits")
		}
		qb.mustReceive(t, driver.Receive{Tag: 5, Span: b.span(0, 8)})
	})
	a.bytes()[0] = 1
	qa.must(t, driver.Request{Tag: 1, Op: driver.OpSend, Span: a.span(0, 8)},
		driver.Request{Tag: 2, Op: driver.OpWrite, Span: a.span(0, 1), Remote: b.remote(9, 1)})
	b.want(driver.OpReceive, driver.OK)
	a.want(driver.OpSend, driver.OK)
	a.want(driver.OpWrite, driver.OK)

	// Too late: the sender learns, and both ends are in Error.
	start := f.now
	qa.must(t, driver.Request{Tag: 3, Op: driver.OpSend, Span: a.span(0, 8)}, driver.Request{Tag: 4, Op: driver.OpSend})
	a.want(driver.OpSend, driver.ReceiverNotReady)
	a.want(driver.OpSend, driver.Flushed)
	if waited := f.now.Sub(start); waited < time.Millisecond || waited > time.Millisecond+10*time.Microsecond {
		t.Errorf("gave up after %v", waited)
	}
	if qa.State() != driver.Error || qb.State() != driver.Error {
		t.Errorf("states %v and %v", qa.State(), qb.State())
	}
	settled(t, f)
}

// Each message that comes to wait for a receive may wait for all of its time.
func TestEachMessageWaitsItsOwnTime(t *testing.T) {
	f, a, b, qa, qb := couple(t, quiet())
	for _, after := range []time.Duration{900 * time.Microsecond, 1500 * time.Microsecond} {
		f.At(f.now.Add(after), func() { qb.mustReceive(t, driver.Receive{Span: b.span(0, 8)}) })
	}
	qa.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)}, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)})
	a.want(driver.OpSend, driver.OK)
	a.want(driver.OpSend, driver.OK)
}

// A receive that is not all in the domain's memory takes nothing.
func TestReceiveOutsideItsMemory(t *testing.T) {
	f, a, b, qa, qb := couple(t, Config{})
	a.bytes()[0] = 1
	qb.mustReceive(t, driver.Receive{Span: b.span(0, 4), More: []driver.Span{b.span(testSize-2, 4)}})
	qa.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)})
	b.want(driver.OpReceive, driver.LocalProtection)
	a.want(driver.OpSend, driver.RemoteInvalid)
	if b.bytes()[0] != 0 {
		t.Error("the first half was written")
	}
	settled(t, f)
}

func TestReceiveTooShort(t *testing.T) {
	f, a, b, qa, qb := couple(t, Config{})
	qb.mustReceive(t, driver.Receive{Tag: 1, Span: b.span(0, 4)}, driver.Receive{Tag: 2, Span: b.span(0, 4)})
	qa.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 5)})
	b.want(driver.OpReceive, driver.LocalLength)
	b.want(driver.OpReceive, driver.Flushed)
	a.want(driver.OpSend, driver.RemoteInvalid)
	settled(t, f)
}

func TestSharedReceives(t *testing.T) {
	f := newFabric(t, Config{})
	a, b := newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b"})
	s, err := b.domain.NewSharedReceives(driver.SharedConfig{Depth: 4, MaxSpans: 1, Completions: b.queue})
	must(t, err)
	shared := func(c *driver.QueueConfig) { c.Shared = s }
	qa1, qa2, qb1, qb2 := a.pair(), a.pair(), b.pair(shared), b.pair(shared)
	join(a, b, qa1, qb1)
	join(a, b, qa2, qb2)
	// Both lack a receive; each post serves one, and its end reports which queue pair it was.
	qa2.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)})
	must(t, f.Run(f.now.Add(time.Microsecond)))
	qa1.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)})
	must(t, f.Run(f.now.Add(10*time.Microsecond)))
	for _, want := range []*queuePair{qb2, qb1} {
		_, err := s.PostReceive([]driver.Receive{{Span: b.span(0, 8)}})
		must(t, err)
		if c := b.want(driver.OpReceive, driver.OK); c.Queue != want.number {
			t.Errorf("queue pair %d took the receive, want %d", c.Queue, want.number)
		}
	}
	a.want(driver.OpSend, driver.OK)
	a.want(driver.OpSend, driver.OK)
	// Left over receives are not flushed with a queue pair, and do not lengthen the others' patience.
	qa1.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)})
	a.want(driver.OpSend, driver.ReceiverNotReady)
	must(t, qb1.Close())
	must(t, qb2.Close())
	must(t, s.Close())
	settled(t, f)
}

// What stands behind a request that fails as it leaves is flushed, and so does not land; but what the peer has asked for
// it gets.
func TestFlushedRequestsDoNotLand(t *testing.T) {
	f, a, b, qa, qb := couple(t, quiet())
	alloc := func(h *host, size int) driver.Region {
		m, err := h.domain.Alloc(size, driver.RemoteAll)
		must(t, err)
		return m.Region()
	}
	near, far := alloc(a, 1<<20), alloc(b, 1<<20)
	doomed, err := a.domain.Alloc(1<<16, 0)
	must(t, err)
	gone := doomed.Region()
	a.setWord(0, 7)
	qa.must(t,
		driver.Request{Tag: 1, Op: driver.OpRead, Span: driver.Span{Address: near.Address, Length: 1 << 20, Key: near.LocalKey},
			Remote: driver.RemoteSpan{Address: far.Address, Length: 1 << 20, Key: far.RemoteKey}},
		driver.Request{Tag: 2, Op: driver.OpWrite, Span: driver.Span{Address: gone.Address, Length: 1 << 16, Key: gone.LocalKey},
			Remote: b.remote(0, 1<<16)},
		driver.Request{Tag: 3, Op: driver.OpWrite, Span: a.span(0, 8), Remote: b.remote(0, 8)},
		driver.Request{Tag: 4, Op: driver.OpFetchAdd, Span: a.span(8, 8), Remote: b.remote(8, 8), Swap: 1})
	qb.must(t, driver.Request{Tag: 5, Op: driver.OpRead, Span: b.span(16, 8), Remote: a.remote(0, 8)})
	must(t, f.Run(f.now+3000))
	if !qa.moving || f.requests.at(qa.out.tail).stage != answering {
		t.Fatal("the peer's Read does not stand behind the requests")
	}
	must(t, doomed.Close())
	b.want(driver.OpRead, driver.OK)
	a.want(driver.OpRead, driver.OK)
	a.want(driver.OpWrite, driver.LocalProtection)
	a.want(driver.OpWrite, driver.Flushed)
	a.want(driver.OpFetchAdd, driver.Flushed)
	must(t, f.Run(f.now.Add(time.Second)))
	if b.word(0) != 0 || b.word(8) != 0 || b.word(16) != 7 {
		t.Errorf("b has %d, %d and %d", b.word(0), b.word(8), b.word(16))
	}
	settled(t, f)
}

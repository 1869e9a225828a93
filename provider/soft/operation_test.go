package soft

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/weft-fabric/weft/verbs/driver"
)

// fill writes reproducible noise.
func fill(b []byte) {
	r := rand.New(rand.NewPCG(1, uint64(len(b))))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

func TestWriteAndReadMoveExactlyTheirBytes(t *testing.T) {
	for _, size := range []int{0, 1, 7, 8, 9, 15, 16, 17, 255, 4096, copyQuantum - 1, copyQuantum, copyQuantum + 1,
		copyQuantum + 15, copyQuantum + 16, copyQuantum + 17, copyQuantum + quantum/2 + 5} {
		for _, shift := range []int{0, 3} {
			l := newLink(t)
			src, dst := l.mema.Region().Bytes, l.memb.Region().Bytes
			fill(src[:size])
			post(t, l.qa, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(l.mema, 0, size),
				Remote: remote(l.memb, 64+shift, size)})
			if c := l.a.expect(1, driver.OpWrite, driver.OK); c.Bytes != uint32(size) || c.Queue != l.qa.Number() {
				t.Fatalf("write of %d bytes completed as %+v", size, c)
			}
			checkOnly(t, dst, 64+shift, src[:size])
			post(t, l.qa, driver.Request{Tag: 2, Op: driver.OpRead, Span: span(l.mema, 3<<20, size%quantum),
				Remote: remote(l.memb, 64+shift, size%quantum)})
			l.a.expect(2, driver.OpRead, driver.OK)
			if !bytes.Equal(src[3<<20:][:size%quantum], src[:size%quantum]) {
				t.Fatalf("read of %d bytes differs", size%quantum)
			}
			l.b.silent()
			l.b.close()
			l.a.close()
		}
	}
}

// checkOnly checks that want stands at an offset and that the bytes around it are untouched.
func checkOnly(t testing.TB, b []byte, at int, want []byte) {
	t.Helper()
	if !bytes.Equal(b[at:at+len(want)], want) {
		t.Fatalf("%d bytes at %d differ", len(want), at)
	}
	for _, i := range []int{at - 1, at + len(want)} {
		if b[i] != 0 {
			t.Fatalf("byte %d beside %d bytes at %d was touched", i, len(want), at)
		}
	}
}

// TestPiecesJoinAndSplit gathers and scatters through spans of all lengths, empty ones included.
func TestPiecesJoinAndSplit(t *testing.T) {
	l := newLink(t)
	src, dst := l.mema.Region().Bytes, l.memb.Region().Bytes
	fill(src[:1024])
	rapid.Check(t, func(t *rapid.T) {
		clear(dst[:4096])
		lengths := rapid.SliceOfN(rapid.IntRange(0, 20), 1, 4).Draw(t, "lengths")
		shift := rapid.IntRange(0, 15).Draw(t, "shift")
		var want []byte
		var spans []driver.Span
		for i, n := range lengths {
			spans = append(spans, span(l.mema, 100*i, n))
			want = append(want, src[100*i:][:n]...)
		}
		op := rapid.SampledFrom([]driver.Op{driver.OpWrite, driver.OpSend}).Draw(t, "op")
		if op == driver.OpSend {
			receive(l.b.t, l.qb, driver.Receive{Span: span(l.memb, 64+shift, 5),
				More: []driver.Span{span(l.memb, 64+shift+5, 0), span(l.memb, 64+shift+5, 100)}})
		}
		post(l.a.t, l.qa, driver.Request{Op: op, Span: spans[0], More: spans[1:], Remote: remote(l.memb, 64+shift, 0)})
		l.a.expect(0, op, driver.OK)
		if op == driver.OpSend {
			l.b.expect(0, driver.OpReceive, driver.OK)
		}
		if checkOnly(l.a.t, dst, 64+shift, want); len(want) == 0 {
			return
		}
		clear(src[2048:4096])
		post(l.a.t, l.qa, driver.Request{Op: driver.OpRead, Span: span(l.mema, 2048, 1),
			More: []driver.Span{span(l.mema, 2049, len(want)-1)}, Remote: remote(l.memb, 64+shift, 0)})
		l.a.expect(0, driver.OpRead, driver.OK)
		checkOnly(l.a.t, src, 2048, want)
	})
}

// TestInlineBytesAreTakenAtPost has messages wait whose memory is used again at once, up to the longest there can be.
func TestInlineBytesAreTakenAtPost(t *testing.T) {
	const rounds = 3
	for _, size := range []int{4, 64, maxInline} {
		l := newLink(t, func(c *driver.QueueConfig) { c.MaxInline = maxInline })
		src, want := l.mema.Region().Bytes, make([]byte, rounds*size)
		fill(want)
		for i := range rounds {
			copy(src, want[i*size:][:size])
			post(t, l.qa, driver.Request{Tag: driver.Tag(i), Op: driver.OpSend, Flags: driver.Inline,
				Span: span(l.mema, 0, 3), More: []driver.Span{span(l.mema, 3, size-3)}})
			clear(src[:size])
		}
		for i := range rounds {
			receive(t, l.qb, driver.Receive{Span: span(l.memb, 1000*(i+1), 500)})
			l.a.expect(driver.Tag(i), driver.OpSend, driver.OK)
			l.b.expect(0, driver.OpReceive, driver.OK)
			checkOnly(t, l.memb.Region().Bytes, 1000*(i+1), want[i*size:][:size])
		}
	}
}

func TestMessagesCarryImmediate(t *testing.T) {
	l := newLink(t)
	fill(l.mema.Region().Bytes[:100])
	for i := range 4 {
		receive(t, l.qb, driver.Receive{Tag: driver.Tag(10 + i), Span: span(l.memb, 1000, 100)})
	}
	post(t, l.qa,
		driver.Request{Tag: 1, Op: driver.OpSend, Imm: 5, Span: span(l.mema, 0, 100)},
		driver.Request{Tag: 2, Op: driver.OpSendImm, Imm: 6, Span: span(l.mema, 0, 10)},
		driver.Request{Tag: 3, Op: driver.OpWriteImm, Imm: 7, Span: span(l.mema, 0, 50), Remote: remote(l.memb, 2000, 50)},
		driver.Request{Tag: 4, Op: driver.OpWriteImm, Imm: 8})
	for i, op := range []driver.Op{driver.OpSend, driver.OpSendImm, driver.OpWriteImm, driver.OpWriteImm} {
		l.a.expect(driver.Tag(1+i), op, driver.OK)
	}
	for _, want := range []driver.Completion{
		{Tag: 10, Op: driver.OpReceive, Bytes: 100},
		{Tag: 11, Op: driver.OpReceiveImm, Bytes: 10, Imm: 6},
		{Tag: 12, Op: driver.OpReceiveWriteImm, Bytes: 50, Imm: 7},
		{Tag: 13, Op: driver.OpReceiveWriteImm, Imm: 8},
	} {
		want.Queue = l.qb.Number()
		if got := l.b.next(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	checkOnly(t, l.memb.Region().Bytes, 2000, l.mema.Region().Bytes[:50])
}

// TestLongSendFillsOneReceive sends more than a quantum, which takes several visits.
func TestLongSendFillsOneReceive(t *testing.T) {
	l := newLink(t)
	const size = 3*quantum + 11
	fill(l.mema.Region().Bytes[:size])
	receive(t, l.qb, driver.Receive{Tag: 1, Span: span(l.memb, 8, quantum/2),
		More: []driver.Span{span(l.memb, 8+quantum/2, size-quantum/2)}})
	post(t, l.qa, driver.Request{Tag: 2, Op: driver.OpSend, Span: span(l.mema, 0, size)})
	l.b.silent()
	l.a.expect(2, driver.OpSend, driver.OK)
	if c := l.b.expect(1, driver.OpReceive, driver.OK); c.Bytes != size {
		t.Errorf("received %d bytes, want %d", c.Bytes, size)
	}
	checkOnly(t, l.memb.Region().Bytes, 8, l.mema.Region().Bytes[:size])
}

// TestLongReadFillsTwoSpans reads more than a quantum, which takes several visits.
func TestLongReadFillsTwoSpans(t *testing.T) {
	l := newLink(t)
	const size, first = 3*quantum + 11, quantum/2 + 3
	fill(l.memb.Region().Bytes[:size])
	post(t, l.qa, driver.Request{Tag: 1, Op: driver.OpRead, Span: span(l.mema, 8, first),
		More: []driver.Span{span(l.mema, 8+first, size-first)}, Remote: remote(l.memb, 0, size)})
	l.a.expect(1, driver.OpRead, driver.OK)
	checkOnly(t, l.mema.Region().Bytes, 8, l.memb.Region().Bytes[:size])
}

func TestAtomicsReturnTheOldValue(t *testing.T) {
	l := newLink(t)
	at := word(l.memb.Region().Bytes[16:])
	old := l.mema.Region().Bytes[8:]
	steps := []struct {
		op            driver.Op
		compare, swap uint64
		old, now      uint64
	}{
		{driver.OpFetchAdd, 0, 5, 0, 5},
		{driver.OpFetchAdd, 0, 1<<64 - 1, 5, 4},
		{driver.OpCompareSwap, 4, 9, 4, 9},
		{driver.OpCompareSwap, 4, 7, 9, 9},
	}
	for i, s := range steps {
		post(t, l.qa, driver.Request{Tag: driver.Tag(i), Op: s.op, Compare: s.compare, Swap: s.swap,
			Span: span(l.mema, 8, 8), Remote: remote(l.memb, 16, 8)})
		l.a.expect(driver.Tag(i), s.op, driver.OK)
		if got := binary.NativeEndian.Uint64(old); got != s.old || atomic.LoadUint64(at) != s.now {
			t.Errorf("step %d: old %d, now %d, want %d and %d", i, got, *at, s.old, s.now)
		}
	}
}

// TestAtomicsAddUp has many requesters, and the CPU itself, count in one word.
func TestAtomicsAddUp(t *testing.T) {
	target := newHost(t)
	counter := target.memory(8, driver.RemoteAtomic)
	const workers, times = 6, 500
	var all sync.WaitGroup
	for range workers {
		h := newHost(t)
		q, mem := h.pair(), h.memory(8, 0)
		join(h, q, target, target.pair())
		all.Go(func() {
			for range times {
				post(t, q, driver.Request{Op: driver.OpFetchAdd, Swap: 1, Span: span(mem, 0, 8),
					Remote: remote(counter, 0, 8)})
				h.expect(0, driver.OpFetchAdd, driver.OK)
			}
		})
	}
	for range times {
		atomic.AddUint64(word(counter.Region().Bytes), 1)
	}
	all.Wait()
	if got := atomic.LoadUint64(word(counter.Region().Bytes)); got != (workers+1)*times {
		t.Errorf("counted %d, want %d", got, (workers+1)*times)
	}
}

func TestQuietReportsOnlyFailure(t *testing.T) {
	l := newLink(t)
	good := driver.Request{Tag: 1, Op: driver.OpWrite, Flags: driver.Quiet, Span: span(l.mema, 0, 8),
		Remote: remote(l.memb, 0, 8)}
	bad := good
	bad.Tag, bad.Remote.Key = 2, bad.Remote.Key+1
	post(t, l.qa, good, bad, good)
	l.a.expect(2, driver.OpWrite, driver.RemoteAccess)
	l.a.expect(1, driver.OpWrite, driver.Flushed)
	l.a.silent()
}

// TestLoopback connects two queue pairs of one device, whose turns one completion queue takes.
func TestLoopback(t *testing.T) {
	h := newHost(t)
	near, far, mem := h.pair(), h.pair(), h.memory(4096, driver.RemoteAll)
	join(h, near, h, far)
	copy(mem.Region().Bytes, "loopback")
	post(t, near, driver.Request{Tag: 1, Op: driver.OpSend, Span: span(mem, 0, 8)})
	h.silent()
	receive(t, far, driver.Receive{Tag: 2, Span: span(mem, 100, 8)})
	h.expect(1, driver.OpSend, driver.OK)
	h.expect(2, driver.OpReceive, driver.OK)
	checkOnly(t, mem.Region().Bytes, 100, []byte("loopback"))
}

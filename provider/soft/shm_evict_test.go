package soft

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// statue is a requester that stands still inside the gate of a peer, and what it has mapped of the memory there.
type statue struct {
	gate *gate
	mark uint64
	old  []byte // the stretch, as it was mapped
}

// freeze stops the requester of from inside its peer's gate, about to write n bytes to m.
func freeze(ha *host, from *QueuePair, to *QueuePair, source, m *Memory, offset, n int) statue {
	ha.t.Helper()
	s := pose(ha, from, to, source, m, offset, n)
	s.stand()
	return s
}

// stand enters the gate.
func (s statue) stand() { s.gate.enter(s.mark - 1) }

// pose writes once, so that the memory is mapped, and is ready to enter the gate.
func pose(ha *host, from *QueuePair, to *QueuePair, source, m *Memory, offset, n int) statue {
	ha.t.Helper()
	post(ha.t, from, driver.Request{Tag: 9, Op: driver.OpWrite, Span: span(source, 0, 8), Remote: remote(m, offset, 8)})
	ha.expect(9, driver.OpWrite, driver.OK)
	g := &to.life.Load().gate
	g.mark = stretch{m.region.localKey, uint64(offset), uint64(n)}
	s := statue{gate: g, mark: from.requester.left + 1}
	view := from.requester.find(m.region.remoteKey)
	s.old = view.bytes[offset:][:n]
	from.requester.left = s.mark + 1
	return s
}

// needFreeze skips where pages cannot be moved.
func needFreeze(t *testing.T) {
	t.Helper()
	if !canFreeze() {
		t.Skip("no userfaultfd")
	}
}

// A writer that stands still is put out: the revocation completes, what it writes later is not seen, and it learns so.
// Everybody else's connection goes on, on the pages that the owner sees.
func TestStandingWriterIsEvicted(t *testing.T) {
	needFreeze(t)
	l := newNeighbours(t)
	other, peer := l.a.pair(), l.b.pair()
	join(l.a, other, l.b, peer)
	target := l.memb.Region().Bytes
	for i := range target {
		target[i] = byte(i)
	}
	clear(l.mema.Region().Bytes)
	s := freeze(l.a, l.qa, l.qb, l.mema, l.memb, 8192, 5000)
	ok(t, l.memb.SetAccess(l.b.cq, 1, 0))
	l.b.expect(1, driver.OpMemoryAccess, driver.OK)
	for i := range s.old {
		s.old[i] = 0xee
	}
	for i := range target {
		if target[i] != byte(i) && (i < 8192 || i >= 8200) {
			t.Fatalf("byte %d is %#x", i, target[i])
		}
	}
	if s.gate.leave(s.mark) {
		t.Error("who was evicted has left as if nothing had happened")
	}
	if n := len(l.memb.backing.extents); n != 2 {
		t.Errorf("the memory has %d pieces, want 2", n)
	}
	ok(t, l.memb.SetAccess(l.b.cq, 2, driver.RemoteAll))
	l.b.expect(2, driver.OpMemoryAccess, driver.OK)
	copy(l.mema.Region().Bytes, "elsewhere")
	post(t, other, driver.Request{Tag: 3, Op: driver.OpWrite, Span: span(l.mema, 0, 9), Remote: remote(l.memb, 9000, 9)})
	l.a.expect(3, driver.OpWrite, driver.OK, l.b)
	if got := string(target[9000:9009]); got != "elsewhere" {
		t.Errorf("the owner sees %q", got)
	}
	post(t, other, driver.Request{Tag: 4, Op: driver.OpRead, Span: span(l.mema, 100, 9), Remote: remote(l.memb, 9000, 9)})
	l.a.expect(4, driver.OpRead, driver.OK, l.b)
	if got := string(l.mema.Region().Bytes[100:109]); got != "elsewhere" {
		t.Errorf("the other neighbour reads %q", got)
	}
	post(t, l.qa, driver.Request{Tag: 5, Op: driver.OpWrite, Span: span(l.mema, 0, 8), Remote: remote(l.memb, 0, 8)})
	if c := l.a.next(); c.Status == driver.OK {
		t.Error("the evicted connection goes on")
	}
}

// Several stand still in one memory, one for longer than the others, and two owners revoke at once: neither is told so
// while anybody still writes to pages that the owner sees.
func TestSeveralStandStill(t *testing.T) {
	needFreeze(t)
	const writers = 4
	l := newNeighbours(t)
	second := l.b.sibling()
	target := l.memb.Region().Bytes
	var statues [writers]statue
	for i := range statues {
		from, to := l.a.pair(), l.b.pair()
		join(l.a, from, l.b, to)
		statues[i] = pose(l.a, from, to, l.mema, l.memb, i*4096+i, 64)
	}
	var over atomic.Bool
	var writing sync.WaitGroup
	for _, s := range statues {
		writing.Go(func() {
			for n := byte(1); !over.Load(); n++ {
				for i := range s.old {
					s.old[i] = n
				}
			}
		})
	}
	defer writing.Wait()
	defer over.Store(true)
	statues[0].stand()
	ok(t, l.memb.SetAccess(l.b.cq, 1, driver.RemoteRead))
	ok(t, l.memb.SetAccess(second.cq, 1, driver.RemoteRead))
	for _, s := range statues[1:] {
		s.stand()
	}
	see := func(h *host) {
		h.expect(1, driver.OpMemoryAccess, driver.OK)
		before := append([]byte(nil), target[:writers*4096]...)
		time.Sleep(5 * time.Millisecond)
		for i, b := range before {
			if target[i] != b {
				t.Errorf("byte %d has changed after the revocation", i)
				return
			}
		}
	}
	var revoking sync.WaitGroup
	revoking.Go(func() { see(second) })
	see(l.b)
	revoking.Wait()
	for i, s := range statues {
		if s.gate.leave(s.mark) {
			t.Errorf("writer %d has left", i)
		}
	}
}

// What cannot be moved keeps the revocation waiting: until the writer leaves.
func TestRevocationWaitsForWhatCannotMove(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, l *link) *Memory{
		"no userfaultfd": func(t *testing.T, l *link) *Memory {
			could := canFreeze
			canFreeze = func() bool { return false }
			t.Cleanup(func() { canFreeze = could })
			return l.memb
		},
		"a file": func(_ *testing.T, l *link) *Memory {
			_, m := l.b.file(1 << 16)
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newNeighbours(t)
			m := prepare(t, l)
			s := freeze(l.a, l.qa, l.qb, l.mema, m, 0, 64)
			ok(t, m.SetAccess(l.b.cq, 1, 0))
			l.b.silentFor(3 * standstill)
			if !s.gate.leave(s.mark) {
				t.Fatal("it was evicted")
			}
			l.b.expect(1, driver.OpMemoryAccess, driver.OK)
		})
	}
}

// silentFor checks that nothing completes for a while.
func (h *host) silentFor(d time.Duration) {
	h.t.Helper()
	for end := clock.Real.Now().Add(d); clock.Real.Now() < end; {
		h.silent()
		time.Sleep(time.Millisecond)
	}
}

// If there is no memory for new pages, the revocation waits too: the writer is out, but can still do harm. When its
// connection has ended, it cannot.
func TestRevocationWaitsIfMovingFails(t *testing.T) {
	needFreeze(t)
	l := newNeighbours(t)
	s := freeze(l.a, l.qa, l.qb, l.mema, l.memb, 0, 64)
	_, err := unix.FcntlInt(uintptr(l.memb.backing.fd), unix.F_ADD_SEALS, unix.F_SEAL_GROW)
	ok(t, err)
	ok(t, l.memb.SetAccess(l.b.cq, 1, 0))
	l.b.silentFor(3 * standstill)
	if s.gate.leave(s.mark) {
		t.Error("it left while it was being put out")
	}
	ok(t, l.qa.Reset(2))
	l.a.expect(2, driver.OpReset, driver.OK)
	l.b.expect(1, driver.OpMemoryAccess, driver.OK)
}

// A reader whose pages were moved away while it stood inside reads again: the old ones are gone.
func TestReaderAfterPagesMoved(t *testing.T) {
	needFreeze(t)
	l := newNeighbours(t)
	other, peer := l.a.pair(), l.b.pair()
	join(l.a, other, l.b, peer)
	target := l.memb.Region().Bytes
	freeze(l.a, l.qa, l.qb, l.mema, l.memb, 0, 64)
	post(t, other, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(l.mema, 0, 8), Remote: remote(l.memb, 64, 8)})
	l.a.expect(1, driver.OpWrite, driver.OK)
	copy(target[64:], "a word of the owner's")

	me := &other.requester
	r := driver.Request{Op: driver.OpRead, Span: span(l.mema, 0, 21), Remote: remote(l.memb, 64, 21)}
	v := visit{q: other, peer: me.peer, request: &r, total: 21}
	v.aim(l.memb.region.remoteKey)
	if v.prepare() != arrived {
		t.Fatal("it is not mapped")
	}
	v.mark = me.peer.gate.enter(me.left)
	if v.carry(); string(l.mema.Region().Bytes[:6]) != "a word" {
		t.Fatal("nothing was read")
	}
	me.begin()
	ok(t, l.memb.SetAccess(l.b.sibling().cq, 2, driver.RemoteAll))
	for v.target.word.Load()&generationMask == 0 {
		l.b.poll()
		ok(t, l.qb.SetAccess(3, 0)) // it evicts
	}
	if got := v.read(); got != again { // it has asked before they were moved
		t.Errorf("reading pages that were moved away ends as %v, want again", got)
	}
	me.left = v.mark + 1
	v.peer.gate.leave(v.mark)
}

package soft

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Takers and an owner that renews all claims at once: every receive is taken, each by one.
func TestRenewLosesNoReceive(t *testing.T) {
	const depth, rounds, takers = 64, 3000, 3
	p, err := newPool(&Device{}, depth, 1, true)
	ok(t, err)
	ok(t, p.allocate())
	for range rounds {
		ok(t, p.postAll(make([]driver.Receive, depth)))
		var taken atomic.Int32
		var working sync.WaitGroup
		for i := range takers {
			working.Go(func() {
				g := new(gate)
				mark := g.enter(0)
				for {
					if _, ok := p.take(uint32(i+1), g, mark); !ok {
						return
					}
					taken.Add(1)
				}
			})
		}
		for p.taken.Load() < p.posted.Load() {
			p.renew()
		}
		working.Wait()
		if taken.Load() != depth {
			t.Fatalf("%d of %d receives were taken", taken.Load(), depth)
		}
		for n := range p.slots {
			p.vacate(uint32(n))
		}
	}
}

// Who was put out takes nothing, whatever it had prepared, and moves nobody on.
func TestEvictedTakesNothing(t *testing.T) {
	p, err := newPool(&Device{}, 4, 1, true)
	ok(t, err)
	ok(t, p.postAll(make([]driver.Receive, 2)))
	g := new(gate)
	mark := g.enter(0)
	g.expel(mark, evicted)
	if n, ok := p.take(5, g, mark); ok {
		t.Errorf("took %d", n)
	}
	for range 2 {
		if _, ok := p.take(6, new(gate), 0); !ok {
			t.Error("a receive is lost")
		}
	}
}

// A taker is put out between taking a shared receive and reporting it. The receive is flushed and posted again, another
// message takes it, and only then the first one goes on: it does no harm.
func TestLateReportOfAnEvictedTaker(t *testing.T) {
	a, b := newHostWith(t, Config{Lanes: SharedMemory}), newHostWith(t, Config{Lanes: SharedMemory})
	mema := a.memory(4096, 0)
	s, err := b.domain.NewSharedReceives(driver.SharedConfig{Completions: b.cq, Depth: 1, MaxSpans: 1})
	ok(t, err)
	b.shut = append(b.shut, s.Close)
	memb := b.memory(4096, 0)
	share := func(c *driver.QueueConfig) { c.Shared = s }
	first, to := a.pair(), b.pair(share)
	join(a, first, b, to)
	second, too := a.pair(), b.pair(share)
	join(a, second, b, too)
	receive(t, s, driver.Receive{Tag: 1, Span: span(memb, 0, 64)})

	me := &first.requester
	v := visit{q: first, peer: me.peer, request: &driver.Request{Op: driver.OpSendImm, Imm: 666}, total: 4000}
	me.peer.gate.mark = stretch{}
	v.mark = me.peer.gate.enter(me.left)
	n, taken := v.takeReceive()
	if !taken {
		t.Fatal("no receive")
	}
	ok(t, to.Reset(2))
	b.expect(1, driver.OpReceive, driver.Flushed)
	b.expect(2, driver.OpReset, driver.OK)
	receive(t, s, driver.Receive{Tag: 3, Span: span(memb, 0, 64)})
	post(t, second, driver.Request{Tag: 4, Op: driver.OpSendImm, Imm: 7, Span: span(mema, 0, 8)})
	v.report(n, driver.LocalLength)
	v.takeReceive()
	if v.peer.gate.leave(v.mark) {
		t.Error("who was evicted has left")
	}
	a.expect(4, driver.OpSendImm, driver.OK, b)
	if c := b.expect(3, driver.OpReceiveImm, driver.OK); c.Imm != 7 || c.Bytes != 8 {
		t.Errorf("the receive reports %d bytes and %d", c.Bytes, c.Imm)
	}
	receive(t, s, driver.Receive{Tag: 5, Span: span(memb, 0, 64)})
	post(t, second, driver.Request{Tag: 6, Op: driver.OpSend, Span: span(mema, 0, 8)})
	a.expect(6, driver.OpSend, driver.OK, b)
	b.expect(5, driver.OpReceive, driver.OK)
}

// A peer dies in the middle of ringing: it has set one bit, or both, and woken nobody. The owner sleeps, and must hear that
// the peer is gone.
func TestRingerDies(t *testing.T) {
	for name, died := range map[string]func(*bell){
		"after the first bit":  func(b *bell) { b.leaf.Or(b.bit) },
		"after the second bit": func(b *bell) { b.leaf.Or(b.bit); b.words.summary.Or(b.group) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newNeighbours(t)
			receive(t, l.qb, driver.Receive{Tag: 1})
			woken := make(chan error, 1)
			go func() { woken <- l.b.cq.Wait(clock.Never, 0) }()
			until(t, "the owner sleeps", func() bool { return l.b.cq.sleep.armed.Load() != 0 })
			died(l.qb.bell)
			l.a.device.Kill()
			ok(t, <-woken)
			l.b.expect(1, driver.OpReceive, driver.Flushed)
		})
	}
}

// A peer of another process never disarms a sleeper: if it died before it came to wake it, nobody else would.
func TestRingerDisarmsNobody(t *testing.T) {
	l := newNeighbours(t)
	armed := &l.b.cq.ready.armed
	armed.Store(1)
	l.qa.life.Load().peer.Load().bell.ring()
	if armed.Load() != 1 {
		t.Error("the sleeper was disarmed")
	}
	armed.Store(0)
}

// One bit that somebody has left behind does not make the bell dumb for the next peer.
func TestBellWithABitLeftBehind(t *testing.T) {
	l := newNeighbours(t)
	l.b.poll()
	b := l.qb.bell
	b.leaf.Or(b.bit)
	b.ring()
	if l.b.cq.ready.summary.Load() == 0 {
		t.Error("the bell does not ring")
	}
}

package soft

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// TestArrivalThatLies: what a neighbour says has arrived is what can have. If not, it loses its connection, and each receive is reported
// once, in its turn.
func TestArrivalThatLies(t *testing.T) {
	for name, edit := range map[string]func(p *pool, a *arrival){
		"longer than the receive": func(_ *pool, a *arrival) { a.length = 65 },
		"longer than a longer one": func(p *pool, a *arrival) {
			p.slots[a.slot].bytes = 1 << 20
			a.length = 1 << 20
		},
		"out of turn": func(p *pool, a *arrival) { a.slot = p.line[1] },
		"not posted":  func(p *pool, a *arrival) { a.slot = p.vacant[0] },
	} {
		t.Run(name, func(t *testing.T) {
			l := newNeighbours(t)
			receive(t, l.qb, driver.Receive{Tag: 1, Span: span(l.memb, 0, 64)}, driver.Receive{Tag: 2, Span: span(l.memb, 0, 64)})
			p, view := l.qb.pool, l.qa.requester.peer
			a := arrival{slot: p.line[0], length: 64, op: driver.OpReceive}
			edit(p, &a)
			view.lie(p, a)
			l.b.expect(1, driver.OpReceive, driver.Flushed, l.a)
			l.b.expect(2, driver.OpReceive, driver.Flushed, l.a)
			l.b.silent()
		})
	}
}

// lie reports an arrival by hand, in a receive that is claimed whatever its state.
func (l *life) lie(p *pool, a arrival) {
	claim := &p.slots[a.slot].claim
	claim.Store(claim.Load()&^claimTaker | uint64(l.number))
	l.order[0] = a
	l.arrived.Store(1)
	l.bell.ring()
}

// TestClaimOnWhatIsVacant: a neighbour claims shared receives that are not posted, and says that one of them was filled. They are nobody's,
// and are not reported, neither then nor when its connection ends.
func TestClaimOnWhatIsVacant(t *testing.T) {
	a, b := newHostWith(t, Config{Lanes: SharedMemory}), newHostWith(t, Config{Lanes: SharedMemory})
	s, err := b.domain.NewSharedReceives(driver.SharedConfig{Completions: b.cq, Depth: 4, MaxSpans: 1})
	ok(t, err)
	b.shut = append(b.shut, s.Close)
	memb := b.memory(4096, 0)
	from, to := a.pair(), b.pair(func(c *driver.QueueConfig) { c.Shared = s })
	join(a, from, b, to)
	receive(t, s, driver.Receive{Tag: 1, Span: span(memb, 0, 64)})
	for _, op := range []driver.Op{driver.OpReceive, driver.OpReceiveWriteImm} {
		from.requester.peer.lie(to.pool, arrival{slot: to.pool.vacant[0], op: op})
		b.silent()
	}
	if state := to.State(); state != driver.Error {
		t.Errorf("the queue pair is %v", state)
	}
}

// TestReceivesWithoutEnd: a neighbour says that it has posted more receives than can be, all of them taken. Who sends finds none, and
// does not look at all.
func TestReceivesWithoutEnd(t *testing.T) {
	l := newNeighbours(t)
	receive(t, l.qb, driver.Receive{Span: span(l.memb, 0, 64)})
	post(t, l.qa, driver.Request{Op: driver.OpSend, Span: span(l.mema, 0, 8)})
	l.a.expect(0, driver.OpSend, driver.OK, l.b)
	l.b.expect(0, driver.OpReceive, driver.OK, l.a)
	l.qb.pool.posted.Store(1 << 62)
	done := make(chan struct{})
	go func() {
		post(t, l.qa, driver.Request{Op: driver.OpSend, Span: span(l.mema, 0, 8)})
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it still looks")
	}
}

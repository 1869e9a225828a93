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

// mixed is a pool of receives that a neighbour and a peer of this process share.
type mixed struct {
	far, near, hub       *host
	liar, honest         *QueuePair
	toLiar, toHonest     *QueuePair
	pool                 *pool
	receives             driver.SharedReceives
	memory, honestMemory *Memory
}

func newMixed(t *testing.T) *mixed {
	c := &mixed{far: newHostWith(t, Config{Lanes: SharedMemory}), near: newHostWith(t, Config{Lanes: InProcess}),
		hub: newHostWith(t, Config{Lanes: InProcess | SharedMemory})}
	s, err := c.hub.domain.NewSharedReceives(driver.SharedConfig{Completions: c.hub.cq, Depth: 4, MaxSpans: 1})
	ok(t, err)
	c.hub.shut = append(c.hub.shut, s.Close)
	c.receives, c.pool = s, s.(*SharedReceives).pool
	share := func(q *driver.QueueConfig) { q.Shared = s }
	c.liar, c.toLiar, c.honest, c.toHonest = c.far.pair(), c.hub.pair(share), c.near.pair(), c.hub.pair(share)
	join(c.far, c.liar, c.hub, c.toLiar)
	join(c.near, c.honest, c.hub, c.toHonest)
	c.memory, c.honestMemory = c.hub.memory(8*copyQuantum, 0), c.near.memory(2*copyQuantum, 0)
	for tag := range 2 {
		receive(t, s, driver.Receive{Tag: driver.Tag(tag), Span: span(c.memory, 2*tag*copyQuantum, 2*copyQuantum)})
	}
	return c
}

// send sends n bytes of the honest peer, which arrive in a receive.
func (c *mixed) send(t *testing.T, n int) {
	t.Helper()
	post(t, c.honest, driver.Request{Op: driver.OpSend, Span: span(c.honestMemory, 0, n)})
}

func (c *mixed) expect(t *testing.T, tag driver.Tag, n uint32) {
	t.Helper()
	c.near.expect(0, driver.OpSend, driver.OK)
	if got := c.hub.expect(tag, driver.OpReceive, driver.OK, c.near); got.Queue != c.toHonest.number || got.Bytes != n {
		t.Errorf("%d bytes arrived at queue pair %d, want %d at %d", got.Bytes, got.Queue, n, c.toHonest.number)
	}
}

// free makes a receive look as if it were posted, and the first.
func (c *mixed) free(slot uint32) {
	claim := &c.pool.slots[slot].claim
	claim.Store(claim.Load() &^ claimTaker)
	c.pool.taken.Store(0)
}

// TestVacantReceivesThatLookPosted: a neighbour writes to the claims of shared receives that are not posted. A peer of this process
// passes them by.
func TestVacantReceivesThatLookPosted(t *testing.T) {
	c := newMixed(t)
	c.send(t, 8)
	c.expect(t, 0, 8)
	c.free(c.pool.line[0])
	c.send(t, 9)
	c.expect(t, 1, 9)
	c.hub.silent()
	if state := c.toHonest.State(); state != driver.Ready {
		t.Errorf("the queue pair of the honest peer is %v", state)
	}
}

// TestClaimOnWhatAnotherFills: a neighbour claims a receive that a peer of this process is filling, and says that its own message lies
// there. It loses its connection, and the other nothing.
func TestClaimOnWhatAnotherFills(t *testing.T) {
	c := newMixed(t)
	c.send(t, 2*copyQuantum) // in part
	c.liar.requester.peer.lie(c.pool, arrival{slot: c.pool.line[0], length: 8, op: driver.OpReceive})
	c.hub.silent()
	if state := c.toLiar.State(); state != driver.Error {
		t.Errorf("the queue pair of the liar is %v", state)
	}
	c.near.poll()
	c.expect(t, 0, 2*copyQuantum)
	c.send(t, 9)
	c.expect(t, 1, 9)
	c.hub.silent()
}

// TestOneReceiveForTwo: a neighbour frees a receive that a peer of this process is filling, and the next one does not take it too.
func TestOneReceiveForTwo(t *testing.T) {
	c := newMixed(t)
	other, to := c.near.pair(), c.hub.pair(func(q *driver.QueueConfig) { q.Shared = c.receives })
	join(c.near, other, c.hub, to)
	c.send(t, 2*copyQuantum) // in part
	c.free(c.pool.line[0])
	post(t, other, driver.Request{Tag: 1, Op: driver.OpSend, Span: span(c.honestMemory, 0, 8)})
	c.hub.expect(1, driver.OpReceive, driver.OK)
	c.near.expect(1, driver.OpSend, driver.OK)
	c.expect(t, 0, 2*copyQuantum)
	c.hub.silent()
}

// TestArrivalsOfAnotherConnection: a neighbour has the words of all connections mapped. If it writes to those of another, that one ends.
func TestArrivalsOfAnotherConnection(t *testing.T) {
	c := newMixed(t)
	l := c.toHonest.life.Load()
	ok(t, l.reach())
	l.order[0] = arrival{slot: 3, op: driver.OpReceive}
	l.arrived.Store(1)
	l.bell.ring()
	c.hub.silent()
	if ours, theirs := c.toHonest.State(), c.honest.State(); ours != driver.Error || theirs != driver.Error {
		t.Errorf("the queue pairs are %v and %v", ours, theirs)
	}
}

// TestClaimsInTheNameOfNobody: a neighbour claims shared receives for queue pairs that are not there. They are lost to all as long as it
// is connected, and no longer.
func TestClaimsInTheNameOfNobody(t *testing.T) {
	c := newMixed(t)
	for i, name := range []uint64{4711, vacated} {
		claim := &c.pool.slots[c.pool.line[i]].claim
		claim.Store(claim.Load() | name)
	}
	ok(t, c.liar.Close())
	for tag := range driver.Tag(2) {
		c.hub.expect(tag, driver.OpReceive, driver.Flushed)
	}
	receive(t, c.receives, driver.Receive{Tag: 3, Span: span(c.memory, 0, 8)})
	c.send(t, 8)
	c.expect(t, 3, 8)
	c.hub.silent()
}

// TestReceivesThatWerePassedBy: a neighbour moves on over shared receives that nobody has taken, or back to what is long over, or writes
// rubbish to the ring. They are lost to all as long as it is connected, and no longer.
func TestReceivesThatWerePassedBy(t *testing.T) {
	for what, lie := range map[string]func(p *pool){
		"over the first":       func(p *pool) { p.taken.Add(1) },
		"over all":             func(p *pool) { p.taken.Store(p.count) },
		"to where none are":    func(p *pool) { p.taken.Store(1 << 40) },
		"back":                 func(p *pool) { p.taken.Store(0) },
		"fewer than there are": func(p *pool) { p.posted.Store(0) },
		"rubbish":              func(p *pool) { p.posts[p.taken.Load()&uint64(len(p.posts)-1)].Store(4711) },
	} {
		t.Run(what, func(t *testing.T) {
			c := newMixed(t)
			for tag := range driver.Tag(2) { // so that the ring has a past
				c.send(t, 8)
				c.expect(t, tag, 8)
				receive(t, c.receives, driver.Receive{Tag: 2 + tag, Span: span(c.memory, int(tag)*copyQuantum, 16)})
			}
			lie(c.pool)
			c.send(t, 8) // which finds the second receive, or none
			ok(t, c.liar.Close())
			c.send(t, 8)
			tags := map[driver.Tag]bool{}
			for range 2 {
				c.near.expect(0, driver.OpSend, driver.OK, c.hub)
				tags[c.hub.next(c.near).Tag] = true
			}
			if !tags[2] || !tags[3] {
				t.Errorf("the receives that were taken are %v", tags)
			}
			c.hub.silent()
		})
	}
}

package sim

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// relay is a → b → c, where b's NIC passes on what arrives.
func relay(t *testing.T) (f *Fabric, a, b, c *host, ab, ba, bc, cb *queuePair) {
	f = newFabric(t, quiet())
	a, b, c = newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b"}), newHost(t, f, NodeConfig{Name: "c"})
	ab, ba, bc, cb = a.pair(), b.pair(), b.pair(), c.pair()
	join(a, b, ab, ba)
	join(b, c, bc, cb)
	for i := range 2 {
		ba.mustReceive(t, driver.Receive{Span: b.span(8*i, 8)})
		cb.mustReceive(t, driver.Receive{Span: c.span(8*i, 8)})
	}
	return f, a, b, c, ab, ba, bc, cb
}

func TestChainedRequestsStartWithoutTheHost(t *testing.T) {
	f, a, b, c, ab, ba, bc, _ := relay(t)
	bc.must(t,
		driver.Request{Tag: 1, Op: driver.OpSend, Span: b.span(0, 8), After: driver.Arrival{Queue: ba.number, Count: 1}},
		driver.Request{Tag: 2, Op: driver.OpSend, Span: b.span(8, 8), After: driver.Arrival{Queue: ba.number, Count: 2}})
	a.setWord(0, 11)
	a.setWord(8, 22)
	start := f.now
	ab.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)})
	c.want(driver.OpReceive, driver.OK)
	d := f.delay
	hop := d.network[sameRack] + d.land + 1 // 8 bytes take a nanosecond
	if got, want := f.now-start, d.post+d.doorbell+d.fetch+2*hop+d.chain+d.progress; got != want {
		t.Errorf("the relayed message took %d ns, want %d", got, want)
	}
	if c.word(0) != 11 || c.word(8) != 0 {
		t.Errorf("c has %d and %d", c.word(0), c.word(8))
	}
	ab.must(t, driver.Request{Op: driver.OpSend, Span: a.span(8, 8)})
	c.want(driver.OpReceive, driver.OK)
	if c.word(8) != 22 {
		t.Errorf("c has %d", c.word(8))
	}
	settled(t, f)
}

func TestChainedRequestAfterTheFact(t *testing.T) {
	_, a, b, _, ab, ba, bc, _ := relay(t)
	ab.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)})
	b.want(driver.OpReceive, driver.OK)
	bc.must(t, driver.Request{Op: driver.OpSend, Span: b.span(0, 8), After: driver.Arrival{Queue: ba.number, Count: 1}})
	b.want(driver.OpSend, driver.OK)
}

// Arrivals count from the last Reset.
func TestChainCountsFromReset(t *testing.T) {
	f, a, b, c, ab, ba, bc, _ := relay(t)
	ab.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)})
	b.want(driver.OpReceive, driver.OK)
	must(t, f.Run(f.now.Add(time.Millisecond)))
	for _, q := range []*queuePair{ab, ba} {
		must(t, q.Reset(5))
	}
	must(t, f.Run(f.now.Add(time.Millisecond)))
	a.poll()
	b.poll()
	join(a, b, ab, ba)
	ba.mustReceive(t, driver.Receive{Span: b.span(0, 8)})
	bc.must(t, driver.Request{Op: driver.OpSend, Span: b.span(0, 8), After: driver.Arrival{Queue: ba.number, Count: 1}})
	c.nothing()
	ab.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)})
	c.want(driver.OpReceive, driver.OK)
}

func TestChainBreaksWithWhatItWaitsFor(t *testing.T) {
	for name, damage := range map[string]func(ba *queuePair) error{
		"reset": func(ba *queuePair) error { return ba.Reset(99) },
		"close": func(ba *queuePair) error { return ba.Close() },
	} {
		f, _, b, _, _, ba, bc, _ := relay(t)
		first := driver.Arrival{Queue: ba.number, Count: 1}
		bc.must(t, driver.Request{Tag: 1, Op: driver.OpSend, Span: b.span(0, 8), After: first},
			driver.Request{Tag: 2, Op: driver.OpWrite})
		must(t, damage(ba))
		must(t, f.Run(f.now+1000))
		var tags []driver.Tag
		for _, c := range b.poll() {
			if c.Queue == bc.number && c.Status == driver.Flushed {
				tags = append(tags, c.Tag)
			}
		}
		if len(tags) < 2 || tags[0] != 1 || tags[1] != 2 || bc.State() != driver.Error {
			t.Errorf("%s: flushed %v, state %v", name, tags, bc.State())
		}
		settled(t, f)
	}
}

// A request that waits for a queue pair which is not there, or not any more, takes its own connection down when its turn
// comes: not before, and without losing what stands behind it.
func TestChainToNowhere(t *testing.T) {
	for name, nowhere := range map[string]func(ba *queuePair) uint32{
		"zero":    func(*queuePair) uint32 { return 0 },
		"unknown": func(*queuePair) uint32 { return 77 },
		"closed":  func(ba *queuePair) uint32 { must(t, ba.Close()); return ba.number },
	} {
		t.Run(name, func(t *testing.T) {
			f, _, b, c, _, ba, bc, cb := relay(t)
			bc.must(t,
				driver.Request{Tag: 1, Op: driver.OpSend, Span: b.span(0, 8)},
				driver.Request{Tag: 2, Op: driver.OpWrite, After: driver.Arrival{Queue: nowhere(ba), Count: 1}},
				driver.Request{Tag: 3, Op: driver.OpWrite})
			b.want(driver.OpSend, driver.OK)
			for tag := driver.Tag(2); tag <= 3; tag++ {
				if got := b.want(driver.OpWrite, driver.Flushed); got.Tag != tag {
					t.Errorf("tag %d was flushed, want %d", got.Tag, tag)
				}
			}
			c.want(driver.OpReceive, driver.OK)
			c.want(driver.OpReceive, driver.Flushed)
			if bc.State() != driver.Error || cb.State() != driver.Error {
				t.Errorf("states %v and %v", bc.State(), cb.State())
			}
			settled(t, f)
		})
	}
}

// A queue pair that has not connected yet has only not received yet.
func TestChainWaitsForANewQueuePair(t *testing.T) {
	f, a, b, c, _, _, bc, _ := relay(t)
	late, peer := b.pair(), a.pair()
	late.mustReceive(t, driver.Receive{Span: b.span(0, 8)})
	bc.must(t, driver.Request{Op: driver.OpSend, Span: b.span(0, 8), After: driver.Arrival{Queue: late.number, Count: 1}})
	c.nothing()
	join(a, b, peer, late)
	c.nothing()
	peer.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)})
	c.want(driver.OpReceive, driver.OK)
	settled(t, f)
}

// Whatever else makes the queue pair look at its requests, one that waits goes on waiting, and holds back what is behind.
func TestChainWaitsThroughLaterPosts(t *testing.T) {
	f, a, b, c, ab, ba, bc, _ := relay(t)
	bc.must(t, driver.Request{Tag: 1, Op: driver.OpFetchAdd, Span: b.span(32, 8), Remote: c.remote(32, 8)},
		driver.Request{Tag: 2, Op: driver.OpSend, Span: b.span(0, 8), After: driver.Arrival{Queue: ba.number, Count: 1}})
	b.want(driver.OpFetchAdd, driver.OK)
	bc.must(t, driver.Request{Tag: 3, Op: driver.OpSend, Span: b.span(8, 8)})
	c.nothing()
	ab.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)})
	c.want(driver.OpReceive, driver.OK)
	c.want(driver.OpReceive, driver.OK)
	settled(t, f)
}

// A chained request means the queue pair of the moment of posting, also if its turn comes only after that one was reset
// or closed: what counts is what it had received by then, not what the next one receives.
func TestChainMeansTheQueuePairOfThatMoment(t *testing.T) {
	reset := func(a, b *host, ab, ba *queuePair) {
		must(t, ab.Reset(8))
		must(t, ba.Reset(9))
		must(t, a.fabric.Run(a.fabric.now.Add(time.Millisecond)))
		a.poll()
		b.poll()
		join(a, b, ab, ba)
		receiveOne(t, b, ab, ba)
		receiveOne(t, b, ab, ba)
	}
	closed := func(_, _ *host, _, ba *queuePair) { must(t, ba.Close()) }
	late := func(a, b *host, _, _ *queuePair) { // gets the number that nobody had
		peer, next := a.pair(), b.pair()
		join(a, b, peer, next)
		receiveOne(t, b, peer, next)
	}
	for name, c := range map[string]struct {
		after   driver.Arrival
		replace func(a, b *host, ab, ba *queuePair)
		want    driver.Status
	}{
		"came, then reset":  {driver.Arrival{Queue: 1, Count: 1}, reset, driver.OK},
		"came, then closed": {driver.Arrival{Queue: 1, Count: 1}, closed, driver.OK},
		"reset first":       {driver.Arrival{Queue: 1, Count: 2}, reset, driver.Flushed},
		"closed first":      {driver.Arrival{Queue: 1, Count: 2}, closed, driver.Flushed},
		"made too late":     {driver.Arrival{Queue: 4, Count: 1}, late, driver.Flushed},
	} {
		t.Run(name, func(t *testing.T) {
			f, a, b, c3, ab, ba, bc, _ := relay(t)
			peer, gate := a.pair(), b.pair() // number 3: holds back the turn of what is behind
			join(a, b, peer, gate)
			bc.must(t, driver.Request{Op: driver.OpSend, After: driver.Arrival{Queue: gate.number, Count: 1}},
				driver.Request{Tag: 7, Op: driver.OpSend, After: c.after})
			receiveOne(t, b, ab, ba)
			c.replace(a, b, ab, ba)
			if got := c3.poll(); len(got) != 0 {
				t.Fatalf("%+v arrived before the gate was open", got)
			}
			receiveOne(t, b, peer, gate)
			b.want(driver.OpSend, driver.OK)
			if got := b.want(driver.OpSend, c.want); got.Tag != 7 {
				t.Errorf("got tag %d", got.Tag)
			}
			if n := ba.awaited + gate.awaited; n != 0 {
				t.Errorf("%d requests still wait", n)
			}
			settled(t, f)
		})
	}
}

// receiveOne lets one message arrive at qb, of host b, and takes its completion.
func receiveOne(t *testing.T, b *host, qa, qb *queuePair) {
	t.Helper()
	qb.mustReceive(t, driver.Receive{})
	qa.must(t, driver.Request{Op: driver.OpSend, Flags: driver.Quiet})
	b.want(driver.OpReceive, driver.OK)
}

// Requests that are flushed, or dropped with their queue pair, wait no more.
func TestFlushedRequestsDoNotWait(t *testing.T) {
	for name, end := range map[string]func(q *queuePair) error{
		"reset": func(q *queuePair) error { return q.Reset(9) },
		"close": func(q *queuePair) error { return q.Close() },
	} {
		f, _, _, _, _, ba, bc, _ := relay(t)
		waits := driver.Request{Op: driver.OpSend, After: driver.Arrival{Queue: ba.number, Count: 1}}
		self := driver.Request{Op: driver.OpSend, After: driver.Arrival{Queue: bc.number, Count: 1}}
		bc.must(t, waits, waits, self)
		if ba.awaited != 2 || bc.awaited != 1 {
			t.Errorf("%s: %d and %d requests wait, want 2 and 1", name, ba.awaited, bc.awaited)
		}
		must(t, end(bc))
		if ba.awaited != 0 || bc.awaited != 0 || len(ba.chained) != 0 {
			t.Errorf("%s: %d and %d requests still wait", name, ba.awaited, bc.awaited)
		}
		settled(t, f)
	}
}

// A request that has started waits no more, whatever becomes of it.
func TestStartedRequestsDoNotWait(t *testing.T) {
	f, _, b, _, ab, ba, bc, _ := relay(t)
	bc.must(t, driver.Request{Op: driver.OpSend, After: driver.Arrival{Queue: ba.number, Count: 1}})
	receiveOne(t, b, ab, ba)
	must(t, bc.Reset(9))
	if b.want(driver.OpSend, driver.Flushed); ba.awaited != 0 {
		t.Errorf("%d requests wait", ba.awaited)
	}
	settled(t, f)
}

// A queue pair that is broken receives nothing any more; but what it has received, it has.
func TestChainToABrokenQueuePair(t *testing.T) {
	for count, want := range map[uint64]driver.Status{1: driver.OK, 2: driver.Flushed} {
		f, _, b, _, ab, ba, bc, _ := relay(t)
		receiveOne(t, b, ab, ba)
		must(t, ab.Close())
		must(t, f.Run(f.now.Add(10*time.Microsecond)))
		b.poll()
		if ba.State() != driver.Error {
			t.Fatalf("state %v", ba.State())
		}
		bc.must(t, driver.Request{Op: driver.OpSend, After: driver.Arrival{Queue: ba.number, Count: count}})
		b.want(driver.OpSend, want)
		settled(t, f)
	}
}

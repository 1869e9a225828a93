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

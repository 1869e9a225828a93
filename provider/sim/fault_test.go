package sim

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

func TestCrashIsNoticedWithinPeerTimeout(t *testing.T) {
	f, a, b, qa, qb := couple(t, Config{Seed: 3})
	idle, idlePeer := a.pair(), b.pair()
	join(a, b, idle, idlePeer)
	idle.mustReceive(t, driver.Receive{Tag: 50, Span: a.span(0, 8)})
	must(t, f.Crash("b"))
	crashed := f.now
	qa.must(t, driver.Request{Tag: 1, Op: driver.OpWrite, Span: a.span(0, 8), Remote: b.remote(0, 8)},
		driver.Request{Tag: 2, Op: driver.OpWrite, Flags: driver.Quiet})
	var got []driver.Completion
	for len(got) < 3 {
		got = append(got, a.take())
	}
	if late := f.now.Sub(crashed); late > a.device.Limits().PeerTimeout+time.Microsecond {
		t.Errorf("noticed after %v", late)
	}
	ends := map[driver.Tag]driver.Status{}
	for _, c := range got {
		ends[c.Tag] = c.Status
	}
	if ends[1] != driver.RetryExceeded || ends[2] != driver.Flushed || ends[50] != driver.Flushed {
		t.Errorf("ended as %+v", got)
	}
	if qa.State() != driver.Error || idle.State() != driver.Error {
		t.Errorf("states %v, %v", qa.State(), idle.State())
	}
	for name, err := range map[string]error{
		"device": second(b.device.NewDomain()), "memory": b.memory.Close(), "queue": b.queue.Close(), "pair": qb.Close(),
		"post": second(qb.Post(nil)), "poll": second(b.queue.Poll(nil)), "wait": b.queue.Wait(0, 0), "domain": b.domain.Close(),
	} {
		if !errors.Is(err, ErrCrashed) {
			t.Errorf("%s of the crashed node says %v", name, err)
		}
	}
	settled(t, f)
}

func second[T any](_ T, err error) error { return err }

func TestRestartIsAFreshNode(t *testing.T) {
	f, a, _, qa, qb := couple(t, Config{})
	old := qb.Address()
	if _, err := f.Restart("b"); err == nil {
		t.Error("a node that is up was restarted")
	}
	must(t, f.Crash("b"))
	if err := f.Crash("b"); err == nil {
		t.Error("a node crashed twice")
	}
	d, err := f.Restart("b")
	must(t, err)
	b := outfit(t, f, d)
	fresh := b.pair()
	if fresh.Address() == old {
		t.Fatalf("a new life has the old address %s", old)
	}
	must(t, f.Run(f.now.Add(time.Second)))
	must(t, qa.Reset(9))
	a.want(driver.OpReset, driver.OK)
	join(a, b, qa, fresh)
	qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 8), Remote: b.remote(0, 8)})
	a.want(driver.OpWrite, driver.OK)
	settled(t, f)
}

// What a node had put on the wire when it crashed still lands: a leader's last words.
func TestWireOutlivesTheSender(t *testing.T) {
	f, a, b, qa, _ := couple(t, quiet())
	a.bytes()[0] = 7
	qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 1), Remote: b.remote(0, 1)})
	d := f.delay
	f.At(f.now+d.post+d.doorbell+d.fetch+100, func() {
		must(t, f.Crash("a"))
		a.bytes()[0] = 8
	})
	must(t, f.Run(f.now.Add(time.Millisecond)))
	if b.bytes()[0] != 7 {
		t.Errorf("landed %d, want 7", b.bytes()[0])
	}
	settled(t, f)
}

func TestPartition(t *testing.T) {
	for _, c := range []struct {
		name   string
		heal   time.Duration
		status driver.Status
	}{
		{"healed in time", 40 * time.Millisecond, driver.OK},
		{"too long", 200 * time.Millisecond, driver.RetryExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, a, b, qa, qb := couple(t, Config{Seed: 1})
			other := newHost(t, f, NodeConfig{Name: "c"})
			qb2, qc := b.pair(), other.pair()
			join(b, other, qb2, qc)
			must(t, f.Partition([]string{"a"}, []string{"b", "c"}))
			f.At(f.now.Add(c.heal), f.Heal)
			start := f.now
			for i := range 3 {
				qa.must(t, driver.Request{Tag: driver.Tag(i), Op: driver.OpFetchAdd, Swap: 1,
					Span: a.span(0, 8), Remote: b.remote(0, 8)})
			}
			qb2.must(t, driver.Request{Op: driver.OpWrite})
			b.want(driver.OpWrite, driver.OK)
			if took := f.now.Sub(start); took > time.Millisecond {
				t.Errorf("within the group it took %v", took)
			}
			a.want(driver.OpFetchAdd, c.status)
			if c.status == driver.OK {
				a.want(driver.OpFetchAdd, driver.OK)
				a.want(driver.OpFetchAdd, driver.OK)
				must(t, f.Run(f.now.Add(time.Second)))
				if qb.State() != driver.Ready || b.word(0) != 3 {
					t.Errorf("the peer is %v, the word %d", qb.State(), b.word(0))
				}
			} else {
				a.want(driver.OpFetchAdd, driver.Flushed)
				must(t, f.Run(f.now.Add(time.Second)))
				if qb.State() != driver.Error || b.word(0) != 0 {
					t.Errorf("the peer is %v, the word %d", qb.State(), b.word(0))
				}
			}
			settled(t, f)
		})
	}
}

// An end that leaves during a partition is known to have left when it heals.
func TestLeavingDuringAPartition(t *testing.T) {
	f, a, _, qa, qb := couple(t, Config{})
	must(t, f.Partition([]string{"a"}))
	must(t, qb.Close())
	f.At(f.now.Add(time.Millisecond), f.Heal)
	qa.must(t, driver.Request{Op: driver.OpWrite})
	a.want(driver.OpWrite, driver.RetryExceeded)
	if f.now > clock.Time(2*time.Millisecond) {
		t.Errorf("known at %v only", f.now)
	}
	settled(t, f)
}

// That a partition heals does not hide that the peer crashed meanwhile.
func TestCrashDuringAPartition(t *testing.T) {
	f, a, _, qa, _ := couple(t, Config{})
	must(t, f.Partition([]string{"a"}))
	must(t, f.Crash("b"))
	f.At(f.now.Add(time.Millisecond), f.Heal)
	qa.must(t, driver.Request{Op: driver.OpWrite})
	a.want(driver.OpWrite, driver.RetryExceeded)
	settled(t, f)
}

// A crashed node says no goodbye, not even for requests that wait for each other.
func TestCrashIsSilent(t *testing.T) {
	f, _, b, c, _, ba, bc, cb := relay(t)
	bc.must(t, driver.Request{Op: driver.OpSend, Span: b.span(0, 8), After: driver.Arrival{Queue: ba.number, Count: 1}})
	must(t, f.Crash("b"))
	must(t, f.Run(f.now.Add(f.config.PeerTimeout/2-time.Microsecond)))
	if cb.State() != driver.Ready || len(c.poll()) != 0 {
		t.Errorf("the peer is %v already", cb.State())
	}
	must(t, f.Run(f.now.Add(f.config.PeerTimeout)))
	if cb.State() != driver.Error {
		t.Errorf("the peer is still %v", cb.State())
	}
	settled(t, f)
}

func TestConnectAcrossAPartition(t *testing.T) {
	f := newFabric(t, Config{})
	a, b := newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b"})
	qa, qb := a.pair(), b.pair()
	must(t, f.Partition([]string{"a"}))
	f.At(f.now.Add(time.Millisecond), f.Heal)
	join(a, b, qa, qb)
	if f.now < clock.Time(time.Millisecond) {
		t.Errorf("connected at %v, across the cut", f.now)
	}
}

func TestCloseTellsThePeer(t *testing.T) {
	f, a, _, qa, qb := couple(t, Config{})
	qa.mustReceive(t, driver.Receive{Tag: 4})
	must(t, qb.Close())
	a.want(driver.OpReceive, driver.Flushed)
	if qa.State() != driver.Error || f.now > clock.Time(time.Millisecond) {
		t.Errorf("state %v at %v", qa.State(), f.now)
	}
	qa.must(t, driver.Request{Tag: 5, Op: driver.OpWrite, Flags: driver.Quiet})
	a.want(driver.OpWrite, driver.Flushed)
	settled(t, f)
}

// Whatever travels when either end is reset, closed or crashed, at whatever moment, is accounted for in the end.
func TestNothingLeaksWhateverBreaks(t *testing.T) {
	breaks := map[string]func(f *Fabric, q *queuePair){
		"reset a": func(_ *Fabric, q *queuePair) { must(t, q.Reset(99)) },
		"reset b": func(_ *Fabric, q *queuePair) { must(t, q.peer.Reset(99)) },
		"close a": func(_ *Fabric, q *queuePair) { must(t, q.Close()) },
		"close b": func(_ *Fabric, q *queuePair) { must(t, q.peer.Close()) },
		"crash a": func(f *Fabric, _ *queuePair) { must(t, f.Crash("a")) },
		"crash b": func(f *Fabric, _ *queuePair) { must(t, f.Crash("b")) },
		"cut":     func(f *Fabric, _ *queuePair) { must(t, f.Partition([]string{"a"})) },
	}
	for name, damage := range breaks {
		for after := clock.Time(0); after < 12000; after += 37 {
			f, a, b, qa, qb := couple(t, Config{Seed: uint64(after)})
			qb.mustReceive(t, driver.Receive{Tag: 3, Span: b.span(0, 1000), More: []driver.Span{b.span(2000, 1000)}})
			requests := []driver.Request{
				{Tag: 1, Op: driver.OpSend, Span: a.span(0, 2000)},
				{Tag: 2, Op: driver.OpRead, Span: a.span(0, 30000), Remote: b.remote(0, 30000)},
				{Tag: 3, Op: driver.OpWrite, Span: a.span(0, 9000), More: []driver.Span{a.span(0, 9)},
					Remote: b.remote(0, 20000)},
				{Tag: 4, Op: driver.OpFetchAdd, Flags: driver.Fence, Span: a.span(0, 8), Remote: b.remote(0, 8)},
				{Tag: 5, Op: driver.OpSend, Span: a.span(0, 100)},
				{Tag: 6, Op: driver.OpWrite, Span: a.span(0, 9000), Remote: b.remote(0, 9000)},
			}
			qa.must(t, requests...)
			f.At(f.now+after, func() { damage(f, qa) })
			if after%2 == 0 {
				f.At(f.now+after+5000, f.Heal)
			}
			settled(t, f)
			if a.device.dead || qa.state == driver.Closed {
				continue
			}
			count := 0
			for _, c := range a.poll() {
				if c.Op.IsRequest() {
					count++
					if c.Tag != driver.Tag(count) {
						t.Fatalf("%s after %d ns: completion %d has tag %d", name, after, count, c.Tag)
					}
				}
			}
			if count != len(requests) {
				t.Fatalf("%s after %d ns: %d of %d requests completed", name, after, count, len(requests))
			}
		}
	}
}

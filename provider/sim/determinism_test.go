package sim

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// chaos is a short life with a bit of everything, and its trace.
func chaos(t testing.TB, seed uint64) (hash, events uint64) {
	return chaosOn(t, newFabric(t, Config{Seed: seed, Racks: 2, Uplink: 50e9}))
}

func chaosOn(t testing.TB, f *Fabric) (hash, events uint64) {
	var hosts []*host
	var pairs []*queuePair
	for i, name := range []string{"a", "b", "c", "d"} {
		hosts = append(hosts, newHost(t, f, NodeConfig{Name: name, Rack: i / 2}))
	}
	for i, h := range hosts {
		peer := hosts[(i+1)%len(hosts)]
		qa, qb := h.pair(), peer.pair()
		must(t, qa.Connect(1, qb.Address()))
		must(t, qb.Connect(2, qa.Address()))
		pairs = append(pairs, qa)
	}
	must(t, f.Run(clock.Time(20*time.Microsecond)))
	for i, q := range pairs {
		w := q.window(t)
		q.must(t, w.bind(hosts[i].span(0, 8), driver.RemoteAll), w.revoke(), w.bind(hosts[i].span(8, 8), driver.RemoteRead))
		peer := hosts[(i+1)%len(hosts)]
		for n := range 6 {
			size := 9000 * n
			q.must(t,
				driver.Request{Tag: driver.Tag(n), Op: driver.OpWrite, Span: hosts[i].span(0, size), Remote: peer.remote(0, size)},
				driver.Request{Op: driver.OpFetchAdd, Span: hosts[i].span(0, 8), Remote: peer.remote(0, 8), Swap: 1})
		}
	}
	f.At(clock.Time(25*time.Microsecond), func() { must(t, f.Partition([]string{"a", "c"})) })
	f.At(clock.Time(28*time.Microsecond), func() { must(t, f.Crash("d")) })
	f.At(clock.Time(30*time.Microsecond), f.Heal)
	must(t, f.Run(clock.Time(time.Second)))
	return f.TraceHash(), f.Events()
}

// The first promise: the same seed gives the same trace, and another seed another one.
func TestSameSeedSameTrace(t *testing.T) {
	seeds := uint64(1000)
	if testing.Short() {
		seeds = 50
	}
	seen := map[uint64]uint64{}
	for seed := range seeds {
		hash, events := chaos(t, seed)
		again, eventsAgain := chaos(t, seed)
		if hash != again || events != eventsAgain {
			t.Fatalf("seed %d gave %x with %d events, then %x with %d", seed, hash, events, again, eventsAgain)
		}
		if other, ok := seen[hash]; ok {
			t.Fatalf("seeds %d and %d gave the same trace", seed, other)
		}
		seen[hash] = seed
	}
}

// Observing does not change what happens, and the stages of a request come in their order.
func TestObserve(t *testing.T) {
	var fabric *Fabric
	run := func(observe func(Event)) uint64 {
		f, a, b, qa, _ := couple(t, Config{Seed: 4, Observe: observe})
		qa.must(t, driver.Request{Tag: 31, Op: driver.OpWrite, Span: a.span(0, 5000), Remote: b.remote(0, 5000)})
		a.want(driver.OpWrite, driver.OK)
		fabric = f
		return f.TraceHash()
	}
	var stages []Kind
	last := clock.Time(0)
	observed := run(func(e Event) {
		if e.Time < last {
			t.Errorf("%v at %v after %v", e.Kind, e.Time, last)
		}
		last = e.Time
		if e.Tag == 31 {
			stages = append(stages, e.Kind)
			if e.Bytes != 5000 || e.Op != driver.OpWrite || e.Queue != 1 || e.Node != 0 {
				t.Errorf("event %+v", e)
			}
		}
	})
	if name := fabric.NodeName(1); name != "b" {
		t.Errorf("node 1 is %s", name)
	}
	if observed != run(nil) {
		t.Error("observing changed the trace")
	}
	want := []Kind{Posted, Started, Sent, Landed, Completed}
	if len(stages) != len(want) {
		t.Fatalf("stages %v", stages)
	}
	for i := range want {
		if stages[i] != want[i] {
			t.Fatalf("stages %v, want %v", stages, want)
		}
	}
}

func TestAllocationFree(t *testing.T) {
	f, a, b, qa, qb := couple(t, Config{})
	ghost, target := a.phantom(1<<20), b.phantom(1<<20)
	ghost.Mark(0, 1<<20, driver.Origin{Object: 1})
	receives := []driver.Receive{{Span: b.span(0, 100)}}
	list := []driver.Request{
		{Op: driver.OpWrite, Span: a.span(0, 10000), More: []driver.Span{a.span(0, 5)}, Remote: b.remote(0, 20000)},
		{Op: driver.OpRead, Span: a.span(0, 10000), Remote: b.remote(0, 10000)},
		{Op: driver.OpSend, Flags: driver.Inline, Span: a.span(0, 100)},
		{Op: driver.OpFetchAdd, Flags: driver.Fence, Span: a.span(0, 8), Remote: b.remote(0, 8)},
		{Op: driver.OpWrite, Span: spanOf(ghost, 0, 1<<20), Remote: remoteOf(target, 0, 1<<20)},
		{Op: driver.OpSend, Span: a.span(0, 100), Flags: driver.Quiet, After: driver.Arrival{Queue: 1}},
	}
	var got [16]driver.Completion
	round := func() {
		_, err := qb.PostReceive(receives)
		must(t, err)
		_, err = qb.PostReceive(receives)
		must(t, err)
		_, err = qa.Post(list)
		must(t, err)
		for n := 0; n < 5; {
			must(t, a.queue.Wait(clock.Never, 0))
			k, err := a.queue.Poll(got[:])
			must(t, err)
			n += k
		}
		must(t, f.Run(f.now+10_000))
		if _, err := b.queue.Poll(got[:]); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		round()
	}
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations from post to completion", n)
	}
}

func TestIdleNodeIsSmall(t *testing.T) {
	if n := idleNodeBytes(t, 200); n > 20<<10 {
		t.Errorf("an idle node takes %.0f bytes, more than 20 KiB", n)
	}
}

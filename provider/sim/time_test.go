package sim

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// The way of one write is the sum of its costs, each rounded once.
func TestWriteTakesTheSumOfItsCosts(t *testing.T) {
	for _, c := range []struct {
		name     string
		bytes    int
		flags    driver.Flags
		crossing clock.Time // bytes at 12.5 a nanosecond, rounded up
		fetch    clock.Time
	}{
		{"inline", 8, driver.Inline, 1, 0},
		{"small", 512, 0, 41, 275},
		{"by flow", 50000, 0, 4000, 275},
	} {
		f, a, b, qa, _ := couple(t, quiet())
		d := f.delay
		start := f.now
		qa.must(t, driver.Request{Op: driver.OpWrite, Flags: c.flags, Span: a.span(0, c.bytes), Remote: b.remote(0, c.bytes)})
		a.want(driver.OpWrite, driver.OK)
		want := d.post + d.doorbell + c.fetch + c.crossing + 2*d.network[sameRack] + d.land + d.progress
		if got := f.now - start; got != want {
			t.Errorf("%s: took %d ns, want %d", c.name, got, want)
		}
	}
}

// Between racks there are three switches and twice the wire, each way.
func TestRacksAreFurtherApart(t *testing.T) {
	f := newFabric(t, Config{Jitter: -1, Racks: 2})
	a, b := newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b", Rack: 1})
	qa, qb := a.pair(), b.pair()
	join(a, b, qa, qb)
	d, start := f.delay, f.now
	qa.must(t, driver.Request{Op: driver.OpWrite})
	a.want(driver.OpWrite, driver.OK)
	if got, want := f.now-start, d.post+d.doorbell+2*d.network[otherRack]+d.land+d.progress; got != want {
		t.Errorf("took %d ns, want %d", got, want)
	}
	if d.network[otherRack] != 874 || d.network[sameRack] != 383 {
		t.Errorf("latencies %v", d.network)
	}
}

// Breaking Band, section 4.3: the latency of the low-level protocol is LLP_post + 2 PCIe + Network + RC-to-MEM + LLP_prog
// = 1135.80 ns, and a completion comes back after 2 (PCIe + Network) + RC-to-MEM.
func TestBreakingBandLatency(t *testing.T) {
	f := newFabric(t, quiet())
	a := newHost(t, f, NodeConfig{Name: "a", Rate: maxRate})
	b := newHost(t, f, NodeConfig{Name: "b", Rate: maxRate})
	qa, qb := a.pair(), b.pair()
	join(a, b, qa, qb)
	qb.mustReceive(t, driver.Receive{Span: b.span(0, 8)})
	start := f.now
	qa.must(t, driver.Request{Op: driver.OpSend, Flags: driver.Inline, Span: a.span(0, 8)})
	b.want(driver.OpReceive, driver.OK)
	const rounding = 3 // five stages, half a nanosecond each
	if got := float64(f.now - start); math.Abs(got-1135.80) > rounding {
		t.Errorf("latency %v ns, the paper has 1135.80", got)
	}
	a.want(driver.OpSend, driver.OK)
	want := 175.42 + 2*(137.49+382.81) + 240.96 + 61.63
	if got := float64(f.now - start); math.Abs(got-want) > rounding {
		t.Errorf("completion after %v ns, the paper's formula has %v", got, want)
	}
}

// Three nodes that send to one get a third of its NIC each, and all of it when they are alone again.
func TestIncastShares(t *testing.T) {
	const bytes = 60000
	f := newFabric(t, quiet())
	target := newHost(t, f, NodeConfig{Name: "target"})
	var hosts []*host
	for _, name := range []string{"x", "y", "z"} {
		h := newHost(t, f, NodeConfig{Name: name})
		q := h.pair()
		join(h, target, q, target.pair())
		hosts = append(hosts, h)
		q.must(t, driver.Request{Op: driver.OpWrite, Span: h.span(0, bytes), Remote: target.remote(0, bytes)})
	}
	end := f.now
	for _, h := range hosts {
		h.want(driver.OpWrite, driver.OK)
		end = f.now
	}
	// The first began earlier by the time that connecting the others took; all bytes went through one NIC.
	least := clock.Time(3 * bytes / 12.5)
	if end < least || end > least+10_000 {
		t.Errorf("three writes of %d bytes were over at %v, want a little after %v", bytes, end, least)
	}
}

// Racks that are oversubscribed 4:1 get a quarter of what their NICs could send, all of it and fairly.
func TestOversubscribedRacks(t *testing.T) {
	for name, peer := range map[string]func(i, perRack, nodes int) int{"neighbour": neighbour, "scattered": scattered} {
		f := scale(t, 4, 12, 4, 64<<10, peer)
		warm := clock.Time(time.Millisecond)
		written := func() (all []uint64) {
			must(t, f.Run(f.now+warm))
			for _, c := range f.queues[1:] {
				all = append(all, c.runner.(*streamer).bytes)
			}
			return all
		}
		before := written()
		want := float64(warm) * bytesPerNanosecond(defaultRate) / 4
		for i, bytes := range written() {
			if got := float64(bytes - before[i]); math.Abs(got-want) > 0.05*want {
				t.Errorf("%s: node %d wrote %.0f bytes in %v, want about %.0f", name, i, got, warm, want)
			}
		}
	}
}

// A slow node and a slow link take as much longer as they should.
func TestSlow(t *testing.T) {
	measure := func(slow func(*Fabric)) time.Duration {
		f, a, b, qa, _ := couple(t, quiet())
		slow(f)
		start := f.now
		qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 50000), Remote: b.remote(0, 50000)})
		a.want(driver.OpWrite, driver.OK)
		return f.now.Sub(start)
	}
	base := measure(func(*Fabric) {})
	for name, slow := range map[string]func(*Fabric){
		"sender":   func(f *Fabric) { must(t, f.SlowNode("a", 0.25)) },
		"receiver": func(f *Fabric) { must(t, f.SlowNode("b", 0.25)) },
		"link":     func(f *Fabric) { must(t, f.SlowLink("b", "a", 0.25)) },
		"again":    func(f *Fabric) { must(t, f.SlowLink("b", "a", 1)); must(t, f.SlowLink("a", "b", 0.25)) },
	} {
		if got := measure(slow); got-base != 12000 {
			t.Errorf("%s: 50000 bytes at a quarter take %v, at full rate %v, want 12 µs more", name, got, base)
		}
	}
	// In the middle of a message: half of it at full rate, the rest at a quarter.
	half := measure(func(f *Fabric) {
		d := f.delay
		f.At(f.now+d.post+d.doorbell+d.fetch+2000, func() { must(t, f.SlowLink("a", "b", 0.25)) })
	})
	if half-base != 6000 {
		t.Errorf("slowed in the middle: %v, at full rate %v, want 6 µs more", half, base)
	}
}

// A NIC sends one message at a time: a list of small ones leaves at the pace of its engine.
func TestEngineGap(t *testing.T) {
	f, a, _, qa, _ := couple(t, quiet())
	d, start := f.delay, f.now
	list := make([]driver.Request, 10)
	for i := range list {
		list[i] = driver.Request{Op: driver.OpWrite, Flags: driver.Quiet}
	}
	list[9].Flags = 0
	qa.must(t, list...)
	a.want(driver.OpWrite, driver.OK)
	want := d.post + 9*d.postMore + d.doorbell + 9*d.gap + 2*d.network[sameRack] + d.land + d.progress
	if got := f.now - start; got != want {
		t.Errorf("took %d ns, want %d", got, want)
	}
}

// Whatever the numbers, time does not go back: what would come after the end of time does not come.
func TestExtremesDoNotTurnTimeBack(t *testing.T) {
	slowest := func(t *testing.T) (*host, *host, *queuePair) {
		f := newFabric(t, quiet())
		a, b := newHost(t, f, NodeConfig{Name: "a", Rate: minRate}), newHost(t, f, NodeConfig{Name: "b"})
		qa, qb := a.pair(), b.pair()
		join(a, b, qa, qb)
		must(t, f.SlowNode("a", minFactor))
		return a, b, qa
	}
	latest := func(t *testing.T) (*host, *host, *queuePair) {
		f, a, b, qa, _ := couple(t, quiet())
		must(t, f.Run(clock.Never-1))
		a.queue.Drive(&script{clock: f})
		return a, b, qa
	}
	for name, start := range map[string]func(t *testing.T) (a, b *host, qa *queuePair){
		"slowest node": slowest, "end of time": latest,
	} {
		for _, size := range []int{256, testSize} {
			t.Run(fmt.Sprint(name, "/", size), func(t *testing.T) {
				a, b, qa := start(t)
				for range testDepth {
					qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, size), Remote: b.remote(0, size)})
				}
				must(t, qa.SetAccess(1, 0))
				f, last, more := a.fabric, a.fabric.now, true
				for more {
					more, _ = f.Step() // planning anything for the past panics
					if f.now < last || f.now == clock.Never {
						t.Fatalf("time went from %v to %v", last, f.now)
					}
					last = f.now
				}
				must(t, f.Err())
			})
		}
	}
}

package sim

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// streamer keeps a number of writes outstanding on one queue pair: the smallest possible loop.
type streamer struct {
	queue   *completionQueue
	pair    *queuePair
	request []driver.Request
	got     [64]driver.Completion
	bytes   uint64 // written so far
}

func (s *streamer) Next() clock.Time { return clock.Never }
func (s *streamer) Scans() bool      { return false }

// Turn posts a new write for each that completed.
func (s *streamer) Turn() (int, error) {
	n, err := s.queue.Poll(s.got[:])
	if err != nil || n == 0 {
		return n, err
	}
	for _, c := range s.got[:n] {
		if c.Status != driver.OK {
			return n, fmt.Errorf("%v ended as %v", c.Op, c.Status)
		}
		s.bytes += uint64(c.Bytes)
	}
	_, err = s.pair.Post(s.request[:n])
	return n, err
}

// neighbour sends each node's writes to the same place in the next rack.
func neighbour(i, perRack, nodes int) int { return (i + perRack) % nodes }

// scattered spreads each rack's writes over all other racks, so that every link has to do with every other.
func scattered(i, perRack, nodes int) int {
	racks := nodes / perRack
	rack, place := i/perRack, i%perRack
	return (rack+1+place%(racks-1))%racks*perRack + place
}

// scale is racks × perRack nodes; every node streams writes of block bytes to a node in another rack, depth at a time.
// The uplinks carry a quarter of what the rack's NICs can send.
func scale(t testing.TB, racks, perRack, depth int, block uint32, peerOf func(i, perRack, nodes int) int) *Fabric {
	t.Helper()
	f := newFabric(t, Config{Seed: 1, Racks: racks, Uplink: float64(perRack) * defaultRate / 4})
	var pairs [2][]*queuePair
	var sources, targets []driver.PhantomMemory
	for i := range racks * perRack {
		d, err := f.NewDevice(NodeConfig{Name: fmt.Sprintf("n%d", i), Rack: i / perRack})
		must(t, err)
		domain, err := d.NewDomain()
		must(t, err)
		queue, err := d.NewCompletionQueue(4 * depth)
		must(t, err)
		for side := range pairs {
			q, err := domain.NewQueuePair(driver.QueueConfig{Completions: queue, SendDepth: depth, Access: driver.RemoteAll})
			must(t, err)
			pairs[side] = append(pairs[side], q.(*queuePair))
		}
		source, err := domain.(*Domain).AllocPhantom(uint64(block), 0)
		must(t, err)
		source.Mark(0, uint64(block), driver.Origin{Object: uint64(i) + 1})
		target, err := domain.(*Domain).AllocPhantom(uint64(block), driver.RemoteAll)
		must(t, err)
		sources, targets = append(sources, source), append(targets, target)
	}
	for i, q := range pairs[0] {
		peer := peerOf(i, perRack, len(pairs[0]))
		must(t, q.Connect(0, pairs[1][peer].Address()))
		must(t, pairs[1][peer].Connect(0, q.Address()))
	}
	must(t, f.Run(clock.Time(10*time.Microsecond)))
	for i, q := range pairs[0] {
		s := &streamer{queue: q.queue, pair: q}
		from, to := sources[i].Region(), targets[peerOf(i, perRack, len(targets))].Region()
		for range depth {
			s.request = append(s.request, driver.Request{Op: driver.OpWrite,
				Span:   driver.Span{Address: from.Address, Length: block, Key: from.LocalKey},
				Remote: driver.RemoteSpan{Address: to.Address, Length: uint64(block), Key: to.RemoteKey}})
		}
		_, err := q.queue.Poll(s.got[:])
		must(t, err)
		q.must(t, s.request...)
		q.queue.Drive(s)
	}
	return f
}

// BenchmarkScale is 1,024 nodes in 16 racks, oversubscribed 4:1, all streaming 64 KiB writes. One iteration is one event.
// With one write at a time no flow lasts, and shares change with every message: the worst case.
func BenchmarkScale(b *testing.B) {
	for _, c := range []struct {
		name  string
		depth int
		peer  func(i, perRack, nodes int) int
	}{
		{"neighbour/depth=16", 16, neighbour},
		{"scattered/depth=16", 16, scattered},
		{"neighbour/depth=1", 1, neighbour},
		{"scattered/depth=1", 1, scattered},
	} {
		b.Run(c.name, func(b *testing.B) { stepScale(b, scale(b, 16, 64, c.depth, 64<<10, c.peer)) })
	}
}

func stepScale(b *testing.B, f *Fabric) {
	must(b, f.Run(clock.Time(time.Millisecond)))
	virtual := f.Now()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if more, err := f.Step(); !more {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(float64(f.Now()-virtual)/float64(b.Elapsed().Nanoseconds()), "virtual/real")
}

// BenchmarkTenThousand is 10,240 nodes in 160 racks.
func BenchmarkTenThousand(b *testing.B) { stepScale(b, scale(b, 160, 64, 4, 64<<10, neighbour)) }

// BenchmarkWrite is one 8-byte inline write, from posting to its completion.
func BenchmarkWrite(b *testing.B) {
	_, x, y, q, _ := couple(b, Config{})
	list := []driver.Request{{Op: driver.OpWrite, Flags: driver.Inline, Span: x.span(0, 8), Remote: y.remote(0, 8)}}
	var got [4]driver.Completion
	b.ReportAllocs()
	for b.Loop() {
		if _, err := q.Post(list); err != nil {
			b.Fatal(err)
		}
		must(b, x.queue.Wait(clock.Never, 0))
		if n, err := x.queue.Poll(got[:]); n != 1 || err != nil {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkIdleNode measures what a node costs that does nothing: a completion queue and 16 connected queue pairs of
// depth 128.
func BenchmarkIdleNode(b *testing.B) {
	for range b.N {
		b.ReportMetric(idleNodeBytes(b, 1000), "bytes/node")
	}
}

func idleNodeBytes(t testing.TB, nodes int) float64 {
	f := newFabric(t, Config{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	pairs := make([][]driver.QueuePair, nodes)
	for i := range nodes {
		d, err := f.NewDevice(NodeConfig{Name: fmt.Sprint("n", i)})
		must(t, err)
		domain, err := d.NewDomain()
		must(t, err)
		queue, err := d.NewCompletionQueue(16 * 256)
		must(t, err)
		for range 16 {
			q, err := domain.NewQueuePair(driver.QueueConfig{Completions: queue, SendDepth: 128, ReceiveDepth: 128})
			must(t, err)
			pairs[i] = append(pairs[i], q)
		}
	}
	for i := range nodes / 2 {
		for j, q := range pairs[i] {
			peer := pairs[i+nodes/2][j]
			must(t, q.Connect(0, peer.Address()))
			must(t, peer.Connect(0, q.Address()))
		}
	}
	must(t, f.Run(clock.Time(time.Second)))
	runtime.GC()
	runtime.ReadMemStats(&after)
	for _, list := range pairs {
		if list[15].State() != driver.Ready {
			t.Fatalf("state %v", list[15].State())
		}
	}
	runtime.KeepAlive(f)
	return float64(after.HeapAlloc-before.HeapAlloc) / float64(nodes)
}

package ibv_test

import (
	"os"
	"testing"

	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/verbs/driver"
)

// rig is two connected queue pairs of one device, and memory.
type rig struct {
	queue  driver.CompletionQueue
	pair   driver.QueuePair
	region driver.Region
	done   [16]driver.Completion
}

// newRig opens it, or skips the benchmark.
func newRig(b *testing.B) *rig {
	if os.Getenv(roceVariable) == "" {
		b.Skip("it needs an RDMA device")
	}
	d, err := ibv.Open(ibv.Config{Device: os.Getenv(roceVariable)})
	check(b, err)
	b.Cleanup(func() { check(b, d.Close()) })
	domain, err := d.NewDomain()
	check(b, err)
	b.Cleanup(func() { check(b, domain.Close()) })
	queue, err := d.NewCompletionQueue(64)
	check(b, err)
	b.Cleanup(func() { check(b, queue.Close()) })
	memory, err := domain.(driver.Allocator).Alloc(4096, driver.RemoteAll)
	check(b, err)
	b.Cleanup(func() { check(b, memory.Close()) })
	var pairs [2]driver.QueuePair
	for i := range pairs {
		pairs[i], err = domain.NewQueuePair(driver.QueueConfig{Completions: queue, SendDepth: 16, ReceiveDepth: 1, MaxSpans: 1, Access: driver.RemoteAll})
		check(b, err)
		b.Cleanup(func() { check(b, pairs[i].Close()) })
	}
	r := &rig{queue: queue, pair: pairs[0], region: memory.Region()}
	for i := range pairs {
		check(b, pairs[i].Connect(0, pairs[1-i].Address()))
	}
	r.await(b, len(pairs))
	return r
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// await polls until n more completions have come.
func (r *rig) await(b *testing.B, n int) {
	for n > 0 {
		got, err := r.queue.Poll(r.done[:])
		check(b, err)
		for _, c := range r.done[:got] {
			if c.Status != driver.OK {
				b.Fatalf("%+v", c)
			}
		}
		n -= got
	}
}

// What a poll costs that finds nothing: one call into C.
func BenchmarkPollNothing(b *testing.B) {
	r := newRig(b)
	for b.Loop() {
		_, _ = r.queue.Poll(r.done[:])
	}
}

// What one Write costs from post to completion, alone and in lists: a list is one call into C.
func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		name string
		list int
	}{{"alone", 1}, {"list of 16", 16}} {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b)
			list := make([]driver.Request, c.list)
			for i := range list {
				list[i] = driver.Request{Op: driver.OpWrite, Span: driver.Span{Address: r.region.Address, Length: 8, Key: r.region.LocalKey},
					Remote: driver.RemoteSpan{Address: r.region.Address + 64, Length: 8, Key: r.region.RemoteKey}}
			}
			for b.Loop() {
				_, err := r.pair.Post(list)
				check(b, err)
				r.await(b, len(list))
			}
		})
	}
}

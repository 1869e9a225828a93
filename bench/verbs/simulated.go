package main

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/verbs"
)

// cluster is a simulated fabric with its nodes.
type cluster struct {
	fabric *sim.Fabric
	ends   []*end
}

func newCluster(nodes, racks, pairs, depth int) (*cluster, error) {
	const rate = 100e9
	fabric, err := sim.New(sim.Config{Seed: 1, Racks: racks, Uplink: rate * float64(nodes/racks) / 4})
	if err != nil {
		return nil, err
	}
	c := &cluster{fabric: fabric}
	for i := range nodes {
		provider, err := fabric.NewDevice(sim.NodeConfig{Name: fmt.Sprintf("n%d", i), Rack: i % racks, Rate: rate})
		if err != nil {
			return nil, err
		}
		e, err := newEnd(provider, pairs, depth)
		if err != nil {
			return nil, err
		}
		c.ends = append(c.ends, e)
	}
	return c, nil
}

// connectAll connects pair i of node n with pair i of another node, for every i and n, and runs until all is connected.
// The number of pairs is even: the first half of them calls, the second half is called.
func (c *cluster) connectAll() error {
	n, half := len(c.ends), len(c.ends[0].pairs)/2
	for node, e := range c.ends {
		for i := range half {
			if err := connect(e, c.ends[(node+i+1)%n], i, half+i); err != nil {
				return err
			}
		}
	}
	all := func() bool {
		for _, e := range c.ends {
			if e.ended < 2*half {
				return false
			}
		}
		return true
	}
	return c.fabric.RunUntil(all, c.fabric.Now().Add(time.Minute))
}

func (c *cluster) close() error {
	var failed error
	for _, e := range c.ends {
		failed = errors.Join(failed, e.failed, e.close())
	}
	return failed
}

// measureEvents has 1,024 nodes in 16 racks, whose uplinks are oversubscribed four times, stream 64 KiB writes to a node
// in the next rack, sixteen at a time, by machines on loops.
func measureEvents(scale int) (results []contest.Result, err error) {
	const block, depth = 64 << 10, 16
	c, err := newCluster(1024, 16, 2, depth)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.connectAll(); err != nil {
		return nil, err
	}
	for _, e := range c.ends {
		if e.memory, err = e.domain.AllocPhantom(2*block, verbs.RemoteAll); err != nil {
			return nil, err
		}
	}
	for i, e := range c.ends {
		to := c.ends[(i+1)%len(c.ends)].memory.Remote(block, block)
		write := func(*verbs.Completion) {
			if err := e.pairs[0].Write(e.port.Tag(1), e.memory.Span(0, block), to, 0); err != nil && e.failed == nil {
				e.failed = err
			}
		}
		e.onEnd = write
		for range depth {
			write(nil)
		}
		if err := e.queue.Flush(); err != nil {
			return nil, err
		}
	}
	if err := c.fabric.Run(c.fabric.Now().Add(time.Millisecond)); err != nil { // into the steady state
		return nil, err
	}
	events := c.fabric.Events()
	perEvent, err := cpuPer(scale, func(n int) error {
		return c.fabric.Run(c.fabric.Now().Add(time.Duration(n) * 200 * time.Microsecond))
	})
	if err != nil {
		return nil, err
	}
	// cpuPer ran scale/10+1 + rounds×scale slices of virtual time, in a steady state.
	slices := float64(scale/10 + 1 + rounds*scale)
	perSlice := float64(c.fabric.Events()-events) / slices
	return []contest.Result{{What: "simulator, 1,024 nodes streaming through 16 racks", Unit: "events/s",
		Value: 1e9 * perSlice / perEvent, Bound: 1e6}}, nil
}

// measureNodeMemory makes nodes with a loop, a completion queue and sixteen connected queue pairs of depth 128.
func measureNodeMemory(int) (results []contest.Result, err error) {
	const nodes = 1000
	before := heap()
	c, err := newCluster(nodes, 10, 16, 128)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.connectAll(); err != nil {
		return nil, err
	}
	used := float64(heap()-before) / nodes / 1024
	runtime.KeepAlive(c)
	return []contest.Result{{What: "simulator, memory of a node with 16 queue pairs", Unit: "KiB",
		Value: used, Bound: 64, AtMost: true}}, nil
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

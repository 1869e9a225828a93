package groups

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// experiment is one message of phantom bytes to one group of all nodes, and what it takes.
type experiment struct {
	fabric    sim.Config
	node      func(i int) sim.NodeConfig
	members   int
	algorithm schedule.Algorithm
	racks     int // nodes are dealt to the racks in order: 0 0 0 1 1 1; 0: one rack
	block     int // bytes; 0: 1 MiB
	stripes   int
	credits   int
	sends     int
	size      uint64
	offload   bool
	prepare   func(*Cluster) // what happens to the cluster before the message is sent
}

// result is when a message was complete, counted from Send.
type result struct {
	first, last time.Duration // at the receivers
	events      uint64
	wall        time.Duration
}

func (r result) skew() time.Duration { return r.last - r.first }

func (e experiment) spec() Spec {
	if e.block == 0 {
		e.block = mib
	}
	spec := Spec{Blockwise: true, Config: rdmc.Config{Algorithm: e.algorithm, BlockSize: e.block,
		Stripes: e.stripes, Credits: e.credits, Sends: e.sends, Offload: e.offload, Phantom: true}}
	if e.algorithm > schedule.Chain || e.offload {
		spec.Window = rdmc.Message{Size: e.size, BlockSize: spec.BlockSize}.Blocks() + manyBlocks
	}
	for i := range e.members {
		spec.Nodes = append(spec.Nodes, i)
		if e.algorithm.Racks() {
			spec.Racks = append(spec.Racks, e.rack(i))
		}
	}
	return spec
}

func (e experiment) rack(node int) int { return node * max(1, e.racks) / e.members }

// run makes the cluster, sends the message, and waits for it everywhere.
func (e experiment) run(t *testing.T) result {
	t.Helper()
	c := e.cluster(t)
	g, err := c.Group(e.spec())
	check(t, err)
	check(t, c.RunUntil(g.Ready, time.Second))
	if e.prepare != nil {
		e.prepare(c)
	}
	start, wall := c.Fabric.Now(), time.Now()
	g.Send(e.size)
	check(t, c.RunUntil(g.Done, time.Hour))
	r := result{first: time.Hour, events: c.Fabric.Events(), wall: time.Since(wall)}
	for _, m := range g.Members[1:] {
		took := m.Completed[0].At.Sub(start)
		r.first, r.last = min(r.first, took), max(r.last, took)
	}
	for _, p := range c.Problems {
		t.Error(p)
	}
	return r
}

// cluster makes the nodes, and sees to it that they are closed.
func (e experiment) cluster(t *testing.T) *Cluster {
	t.Helper()
	e.fabric.Racks = max(1, e.racks)
	c, err := New(Config{Fabric: e.fabric, Nodes: e.members, Node: func(i int) (n sim.NodeConfig) {
		if e.node != nil {
			n = e.node(i)
		}
		n.Rack = e.rack(i)
		return n
	}})
	check(t, err)
	t.Cleanup(func() { check(t, c.Close()) })
	return c
}

// lineTime is how long the bytes need on one link.
func lineTime(size uint64, rate float64) time.Duration {
	return time.Duration(float64(size) * 8 / rate * 1e9)
}

// ratio is how many times as long a takes as b.
func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// untilAll runs until all groups are done, and returns how long that took.
func untilAll(t *testing.T, c *Cluster, groups []*Group, start clock.Time) time.Duration {
	t.Helper()
	check(t, c.RunUntil(func() bool {
		for _, g := range groups {
			if !g.Done() {
				return false
			}
		}
		return true
	}, time.Hour))
	last := start
	for _, g := range groups {
		for _, m := range g.Members {
			for _, done := range m.Completed {
				last = max(last, done.At)
			}
		}
	}
	for _, p := range c.Problems {
		t.Error(p)
	}
	return last.Sub(start)
}

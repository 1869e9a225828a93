package paper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/simtest/groups"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// Rates of a node's NIC on the paper's clusters, in bits a second (section 5.1).
const (
	fractus  = 100e9
	sierra   = 40e9
	stampede = 40e9 // "unicast speeds of up to"
)

// experiment is one message of phantom bytes to one group of all nodes, and what it takes.
type experiment struct {
	fabric    sim.Config
	node      func(i int) sim.NodeConfig // nil: NICs like those of Fractus
	members   int
	algorithm schedule.Algorithm
	racks     int // nodes are dealt to the racks in order: 0 0 0 1 1 1; 0: one rack
	block     int // bytes; 0: 1 MiB
	stripes   int
	credits   int
	sends     int
	size      uint64
	offload   bool
	prepare   func(*groups.Cluster) error // what happens to the cluster before the message is sent
}

// result is when a message was complete, counted from Send.
type result struct {
	start       clock.Time      // of Send
	at          []time.Duration // by rank
	first, last time.Duration   // at the receivers
	size        uint64          // bytes of the message
	events      uint64
	wall        time.Duration
}

func (r result) skew() time.Duration { return r.last - r.first }

// rate is in bits a second: the size of the message by the time until all have it (section 5.1).
func (r result) rate() float64 { return float64(r.size) * 8 / r.last.Seconds() }

// String says which experiment it is, for errors.
func (e experiment) String() string {
	return fmt.Sprintf("%d bytes in blocks of %d to %d members by %v", e.size, e.blockSize(), e.members, e.algorithm)
}

func (e experiment) blockSize() int {
	if e.block == 0 {
		return mib
	}
	return e.block
}

// spareBlocks is memory that members of patterns without a bound have beside a whole message.
const spareBlocks = 80

func (e experiment) spec() groups.Spec {
	spec := groups.Spec{Blockwise: true, Config: rdmc.Config{Algorithm: e.algorithm, BlockSize: e.blockSize(),
		Stripes: e.stripes, Credits: e.credits, Sends: e.sends, Offload: e.offload, Phantom: true}}
	if e.algorithm > schedule.Chain || e.offload {
		spec.Window = rdmc.Message{Size: e.size, BlockSize: spec.BlockSize}.Blocks() + spareBlocks
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
func (e experiment) run(ctx context.Context) (r result, err error) {
	err = e.with(func(c *groups.Cluster) error {
		g, err := e.form(ctx, c)
		if err != nil {
			return err
		}
		start, wall := c.Fabric.Now(), time.Now()
		g.Send(e.size)
		if err := until(ctx, c, g.Done); err != nil {
			return err
		}
		r = arrival(g, start)
		r.size, r.events, r.wall = e.size, c.Fabric.Events(), time.Since(wall)
		return nil
	})
	return r, err
}

// form makes the group of all nodes, and prepares the cluster.
func (e experiment) form(ctx context.Context, c *groups.Cluster) (*groups.Group, error) {
	g, err := c.Group(e.spec())
	if err != nil {
		return nil, err
	}
	if err := until(ctx, c, g.Ready); err != nil || e.prepare == nil {
		return g, err
	}
	return g, e.prepare(c)
}

// arrival looks when the first message was complete at the receivers.
func arrival(g *groups.Group, start clock.Time) result {
	r := result{start: start}
	for _, m := range g.Members {
		r.at = append(r.at, m.Completed[0].At.Sub(start))
	}
	r.first, r.last = slices.Min(r.at[1:]), slices.Max(r.at[1:])
	return r
}

// with makes the nodes, does something with them, and closes them. A promise that the members saw broken is an error.
func (e experiment) with(do func(*groups.Cluster) error) error {
	e.fabric.Racks = max(1, e.racks)
	c, err := groups.New(groups.Config{Fabric: e.fabric, Nodes: e.members, Node: func(i int) (n sim.NodeConfig) {
		if e.node != nil {
			n = e.node(i)
		}
		n.Rack = e.rack(i)
		return n
	}})
	if err != nil {
		return err
	}
	failed := []error{do(c)}
	for _, p := range c.Problems {
		failed = append(failed, errors.New(p))
	}
	return errors.Join(append(failed, c.Close())...)
}

// lookEvery is how many events pass before an experiment looks whether it shall end.
const lookEvery = 1 << 12

// until lets virtual time pass until something is true, or the context ends.
func until(ctx context.Context, c *groups.Cluster, done func() bool) error {
	events := 0
	over := func() bool {
		events++
		return done() || events%lookEvery == 0 && ctx.Err() != nil
	}
	return errors.Join(c.RunUntil(over, time.Hour), ctx.Err())
}

// rated is nodes with NICs of a rate in bits a second.
func rated(rate float64) func(int) sim.NodeConfig {
	return func(int) sim.NodeConfig { return sim.NodeConfig{Rate: rate} }
}

// lineTime is how long the bytes need on one link.
func lineTime(size uint64, rate float64) time.Duration {
	return time.Duration(float64(size) * 8 / rate * 1e9)
}

// ratio is how many times as long a takes as b.
func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

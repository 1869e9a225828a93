package paper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/simtest/groups"
)

// crowd is groups of the same members that differ in their senders, each of which sends messages as fast as it can (section
// 5.2.2).
type crowd struct {
	experiment
	senders  int  // groups; 0: 1
	messages int  // of each sender; 0: 1
	scatter  bool // members are on nodes by chance, as a batch system deals them out
}

func (c crowd) String() string {
	return fmt.Sprintf("%d senders of %d messages: %v", max(1, c.senders), max(1, c.messages), c.experiment)
}

// bytes is what all senders send together.
func (c crowd) bytes() float64 {
	return float64(c.size) * float64(max(1, c.senders)) * float64(max(1, c.messages))
}

// bandwidth is what the paper calls aggregate: bits a second of what all senders send, whatever the number of receivers.
func (c crowd) bandwidth(took time.Duration) float64 { return c.bytes() * 8 / took.Seconds() }

// run is how long it takes until all members have all messages.
func (c crowd) run(ctx context.Context) (took time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	err = c.with(func(cluster *groups.Cluster) error {
		all, err := c.form(cluster)
		if err != nil {
			return err
		}
		if err := until(ctx, cluster, func() bool { return every(all, (*groups.Group).Ready) }); err != nil {
			return err
		}
		if err := cluster.Run(settled); err != nil { // the first credits are on their way
			return err
		}
		start := cluster.Fabric.Now()
		for range max(1, c.messages) {
			for _, g := range all {
				g.Send(c.size)
			}
		}
		err = until(ctx, cluster, func() bool { return every(all, (*groups.Group).Done) })
		took = lastArrival(all).Sub(start)
		return err
	})
	return took, err
}

// settled is more than what is on its way when a group becomes ready needs.
const settled = time.Millisecond

// lastArrival is when the last message was complete at the last receiver.
func lastArrival(all []*groups.Group) (last clock.Time) {
	for _, g := range all {
		for _, m := range g.Members[1:] {
			for _, done := range m.Completed {
				last = max(last, done.At)
			}
		}
	}
	return last
}

// form makes a group for each sender. Members stand in the same order in all of them, from its sender on.
func (c crowd) form(cluster *groups.Cluster) (all []*groups.Group, err error) {
	spec := c.spec()
	if spec.Window > 0 {
		spec.Window = c.window()
	}
	order := c.order()
	for sender := range max(1, c.senders) {
		spec.Nodes, spec.Racks = nil, nil
		for i := range c.members {
			node := order[(sender+i)%c.members]
			spec.Nodes = append(spec.Nodes, node)
			if c.algorithm.Racks() {
				spec.Racks = append(spec.Racks, c.rack(node))
			}
		}
		g, err := cluster.Group(spec)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

// window is memory for a message that is relayed while the next one arrives.
func (c crowd) window() int {
	return 2*rdmc.Message{Size: c.size, BlockSize: c.blockSize()}.Blocks() + spareBlocks
}

// order is the node of each rank of the first group.
func (c crowd) order() []int {
	order := make([]int, c.members)
	for i := range order {
		order[i] = i
	}
	if c.scatter {
		random := rand.New(rand.NewPCG(c.fabric.Seed, 10))
		random.Shuffle(c.members, func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return order
}

func every(all []*groups.Group, is func(*groups.Group) bool) bool {
	for _, g := range all {
		if !is(g) {
			return false
		}
	}
	return true
}

// crowds runs several, one after the other, on the same seed.
func (o Options) crowds(ctx context.Context, list []crowd) ([]time.Duration, error) {
	took := make([]time.Duration, len(list))
	for i, c := range list {
		c.fabric.Seed = o.Seed
		var err error
		if took[i], err = c.run(ctx); err != nil {
			if errors.Is(err, ctx.Err()) {
				return nil, err
			}
			return nil, fmt.Errorf("%v: %w", c, err)
		}
		o.progress(i+1, len(list))
	}
	return took, nil
}

package groups

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// place is a network and a group.
type gridPoint struct {
	members, racks int
	size           uint64
	rate           float64
	message        time.Duration
	latency        time.Duration // more than the default
	uplink         float64
}

func (p gridPoint) rackOf(i int) int { return i * p.racks / p.members }

func (p gridPoint) run(t *testing.T, c tune.Choice, limit time.Duration) (time.Duration, bool) {
	costs := sim.DefaultCosts()
	if p.message > 0 {
		costs.Gap = float64(p.message)
	}
	costs.Wire += float64(p.latency)
	cl, err := New(Config{Fabric: sim.Config{Costs: &costs, Racks: p.racks, Uplink: p.uplink}, Nodes: p.members,
		Node: func(i int) sim.NodeConfig { return sim.NodeConfig{Rate: p.rate, Rack: p.rackOf(i)} }})
	check(t, err)
	defer func() { check(t, cl.Close()) }()
	spec := Spec{Blockwise: true, Config: rdmc.Config{Algorithm: c.Algorithm, BlockSize: c.Block, Stripes: c.Stripes, Credits: c.Credits, Phantom: true}}
	spec.Pace = c.Pace
	spec.Window = rdmc.Message{Size: p.size, BlockSize: c.Block}.Blocks() + manyBlocks
	for i := range p.members {
		spec.Nodes = append(spec.Nodes, i)
		if c.Algorithm.Racks() {
			spec.Racks = append(spec.Racks, p.rackOf(i))
		}
	}
	g, err := cl.Group(spec)
	check(t, err)
	check(t, cl.RunUntil(g.Ready, time.Second))
	check(t, cl.Run(10*time.Millisecond)) // until the credits for the first block have come
	start := cl.Fabric.Now()
	g.Send(p.size)
	ended := 1
	done := func() bool {
		for ended < len(g.Members) && len(g.Members[ended].Completed) > 0 {
			ended++
		}
		return ended == len(g.Members)
	}
	if cl.RunUntil(done, limit) != nil {
		return 0, false
	}
	last := time.Duration(0)
	for _, m := range g.Members[1:] {
		last = max(last, m.Completed[0].At.Sub(start))
	}
	return last, true
}

func TestExplore(t *testing.T) {
	if os.Getenv("EXPLORE") == "" {
		t.Skip()
	}
	f, err := os.OpenFile(os.Getenv("EXPLORE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	check(t, err)
	defer f.Close()
	var members int
	fmt.Sscan(os.Getenv("MEMBERS"), &members)
	for _, size := range []uint64{64 * kib, mib, 8 * mib, 64 * mib} {
		for _, rate := range []float64{1e9, 10e9, 40e9, 100e9} {
			for _, l := range [][2]time.Duration{{0, 0}, {5000, 0}, {0, 20000}, {5000, 20000}} {
				gridPoint{members: members, racks: 1, size: size, rate: rate, message: l[0], latency: l[1]}.explore(t, f)
			}
		}
	}
}

func (p gridPoint) explore(t *testing.T, f *os.File) {
	best := time.Hour
	try := func(a schedule.Algorithm, block, stripes, credits int, pace time.Duration) {
		took, ok := p.run(t, tune.Choice{Algorithm: a, Block: block, Stripes: stripes, Credits: credits, Pace: pace}, best+best/3)
		if !ok {
			return
		}
		best = min(best, took)
		fmt.Fprintf(f, "%d %d %g %d %d %v %d %d %d %d %d\n", p.members, p.size, p.rate, p.message, p.latency, a, block, stripes, credits, pace, took)
	}
	try(schedule.Pipeline, int(p.size), 1, 2, 0)
	for block := int(p.size); block >= 4*kib && uint64(block)*512 >= p.size; block /= 2 {
		for _, a := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain} {
			for _, sc := range [][2]int{{1, 1}, {1, 2}, {2, 2}, {2, 3}, {3, 3}, {4, 4}, {4, 5}} {
				try(a, block, sc[0], sc[1], 0)
				if sc[0] > 1 && sc[1] == sc[0] && a != schedule.Chain {
					try(a, block, sc[0], sc[1], time.Duration(float64(block)*8e9/p.rate))
				}
			}
		}
	}
}

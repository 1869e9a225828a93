package groups

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// point is one message to one group on one network.
type point struct {
	members, racks int // nodes are dealt to the racks in order: 0 0 0 1 1 1
	size           uint64
	rate           float64       // bits a second
	message        time.Duration // that a message takes its NIC; 0: 7 ns
	more           time.Duration // latency beyond the simulator's own of about 1 µs
	narrow         float64       // how many times the rate of its uplink the members of a rack have together; 0: no bottleneck
}

func (p point) String() string {
	s := fmt.Sprintf("%3d members, %6d KiB, %3.0f gbit, %v a message, %v latency", p.members, p.size>>10, p.rate/1e9,
		p.network().Message, p.network().Latency)
	if p.racks > 1 {
		s += fmt.Sprintf(", %d racks, uplinks 1:%g", p.racks, p.narrow)
	}
	return s
}

func (p point) rack(i int) int { return i * p.racks / p.members }

func (p point) rackOf() (racks []int) {
	for i := range p.members {
		racks = append(racks, p.rack(i))
	}
	return racks
}

func (p point) uplink() float64 {
	if p.narrow == 0 {
		return 0
	}
	return float64(p.members/p.racks) * p.rate / p.narrow
}

func (p point) costs() *sim.Costs {
	c := sim.DefaultCosts()
	c.Wire += float64(p.more)
	if p.message > 0 {
		c.Gap = float64(p.message)
	}
	return &c
}

// network is what somebody would measure.
func (p point) network() tune.Network {
	c := p.costs()
	return tune.Network{Rate: p.rate, Message: time.Duration(c.Gap), Uplink: p.uplink(),
		Latency: time.Duration(c.Post + c.PCIe + c.Wire + c.Switch + c.PCIe + c.ToMemory + c.Progress)}
}

func (p point) group() tune.Group {
	return tune.Group{Members: p.members, Size: p.size, Racks: p.rackOf()}
}

func (p point) spec(c tune.Choice) Spec {
	s := Spec{Blockwise: true, Config: rdmc.Config{Algorithm: c.Algorithm, BlockSize: c.Block, Stripes: c.Stripes,
		Credits: c.Credits, Pace: c.Pace, Phantom: true}}
	s.Window = rdmc.Message{Size: p.size, BlockSize: c.Block}.Blocks() + manyBlocks
	if c.Algorithm.Racks() {
		s.Racks = p.rackOf()
	}
	for i := range p.members {
		s.Nodes = append(s.Nodes, i)
	}
	return s
}

// run sends the message, with the protocol itself, and returns how long it took; or false if that is more than a limit.
func (p point) run(t *testing.T, choice tune.Choice, limit time.Duration) (time.Duration, bool) {
	t.Helper()
	c, err := New(Config{Fabric: sim.Config{Costs: p.costs(), Racks: p.racks, Uplink: p.uplink()}, Nodes: p.members,
		Node: func(i int) sim.NodeConfig { return sim.NodeConfig{Rate: p.rate, Rack: p.rack(i)} }})
	check(t, err)
	defer func() { check(t, c.Close()) }()
	g, err := c.Group(p.spec(choice))
	check(t, err)
	check(t, c.RunUntil(g.Ready, time.Second))
	check(t, c.Run(time.Millisecond)) // until the credits for the first block have come
	start, complete := c.Fabric.Now(), 1
	g.Send(p.size)
	if c.RunUntil(func() bool {
		for complete < p.members && len(g.Members[complete].Completed) > 0 {
			complete++
		}
		return complete == p.members
	}, limit) != nil {
		return 0, false
	}
	last := start
	for _, m := range g.Members[1:] {
		last = max(last, m.Completed[0].At)
	}
	return last.Sub(start), true
}

// fixed are the choices that auto is compared with: every algorithm, blocks that are powers of two from 4 KiB up to the
// whole message and at most so many, and stripes with credits.
func (p point) fixed(most int) (all []tune.Choice) {
	for _, a := range schedule.Algorithms() {
		if a.Racks() && p.racks == 1 {
			continue
		}
		for block := 4 << 10; block < 2*int(p.size); block *= 2 {
			if p.size > uint64(block)*uint64(most) {
				continue
			}
			for _, s := range [][2]int{{1, 1}, {1, 2}, {2, 2}, {2, 3}, {4, 4}, {4, 5}} {
				all = append(all, tune.Choice{Algorithm: a, Block: block, Stripes: s[0], Credits: s[1]})
			}
		}
	}
	// Those that are likely to be good come first: nobody needs to wait for the others once a good one is known.
	slices.SortStableFunc(all, func(a, b tune.Choice) int {
		return cmp.Compare(tune.Predict(p.group(), p.network(), a), tune.Predict(p.group(), p.network(), b))
	})
	return all
}

// verdict is how auto compares at a point.
type verdict struct {
	point
	auto, best tune.Choice // Predicted is what it took
	ratio      float64     // of what auto takes to the best fixed choice
	foreseen   float64     // of what auto takes to what it foresaw
}

func (p point) judge(t *testing.T, most int) verdict {
	t.Helper()
	auto, err := tune.Choose(p.group(), p.network())
	check(t, err)
	took, ok := p.run(t, auto, 10*auto.Predicted)
	if !ok {
		t.Fatalf("%v: auto, %+v, takes ten times as long as it foresaw", p, auto)
	}
	v := verdict{point: p, foreseen: float64(took) / float64(auto.Predicted), best: tune.Choice{Predicted: time.Hour}}
	v.auto = auto
	v.auto.Predicted = took
	for _, c := range p.fixed(most) {
		// What takes longer than auto and the best so far is not looked at to its end.
		if c.Predicted, ok = p.run(t, c, min(2*took, v.best.Predicted)); ok {
			v.best = c
		}
	}
	v.ratio = float64(took) / float64(v.best.Predicted)
	return v
}

// Auto is within 5 % of the best fixed choice, on this grid:
//
//	members    3, 8, 13, 64
//	size       64 KiB, 1 MiB, 8 MiB, 64 MiB; 256 MiB to 8 members
//	rate       1, 10, 40, 100 gbit
//	a message  7 ns, 5 µs
//	latency    the simulator's 1.1 µs, and 20 µs more
//	racks      none; 4 of 4 and 8 of 8 with uplinks of a quarter of what their members have, at 40 gbit
//
// What is compared is the protocol itself in virtual time, auto's choice too. By default a part of the grid is looked at,
// with fewer blocks; with WEFT_LONG=1 all.
func TestAutoIsNearTheBest(t *testing.T) {
	points, most := partOfGrid(), 64
	if os.Getenv("WEFT_LONG") != "" {
		points, most = wholeGrid(), 512
	}
	var all []verdict
	for _, p := range points {
		t.Run(p.String(), func(t *testing.T) {
			v := p.judge(t, most)
			all = append(all, v)
			if v.ratio > 1.05 {
				t.Errorf("auto, %s, takes %.3f of the best, %s", describe(v.auto), v.ratio, describe(v.best))
			}
		})
	}
	slices.SortFunc(all, func(a, b verdict) int { return cmp.Compare(b.ratio, a.ratio) })
	t.Log("\n" + table(all[:min(12, len(all))]))
}

func table(worst []verdict) string {
	var s strings.Builder
	for _, v := range worst {
		fmt.Fprintf(&s, "%.3f of the best, %.3f of what was foreseen: %v: %v against %v\n", v.ratio, v.foreseen, v.point,
			describe(v.auto), describe(v.best))
	}
	return s.String()
}

func describe(c tune.Choice) string {
	return fmt.Sprintf("%v, %d KiB, %d stripes, %d credits: %v", c.Algorithm, c.Block>>10, c.Stripes, c.Credits, c.Predicted)
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

var rates = []float64{1e9, 10e9, 40e9, 100e9}

func wholeGrid() (grid []point) {
	for _, members := range []int{3, 8, 13, 64} {
		for _, size := range []uint64{64 * kib, mib, 8 * mib, 64 * mib} {
			grid = append(grid, networks(members, size, rates...)...)
		}
	}
	grid = append(grid, networks(8, 256*mib, rates...)...)
	for _, size := range []uint64{mib, 8 * mib, 64 * mib} {
		for _, p := range networks(64, size, 40e9) {
			p.racks, p.narrow = 8, 4
			grid = append(grid, p)
			p.racks, p.members = 4, 16
			grid = append(grid, p)
		}
	}
	return grid
}

// networks are the same message on all networks.
func networks(members int, size uint64, rates ...float64) (grid []point) {
	for _, rate := range rates {
		for _, message := range []time.Duration{0, 5 * time.Microsecond} {
			for _, more := range []time.Duration{0, 20 * time.Microsecond} {
				grid = append(grid, point{members: members, racks: 1, size: size, rate: rate, message: message, more: more})
			}
		}
	}
	return grid
}

func partOfGrid() (grid []point) {
	for i, p := range wholeGrid() {
		if p.members <= 16 && p.size <= 8*mib && i%3 == 0 {
			grid = append(grid, p)
		}
	}
	return grid
}

package groups

import (
	"cmp"
	"fmt"
	"math/bits"
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
	start := c.Fabric.Now()
	g.Send(p.size)
	if !p.watch(g, choice, limit) {
		return 0, false
	}
	last := start
	for _, m := range g.Members[1:] {
		last = max(last, m.Completed[0].At)
	}
	return last.Sub(start), true
}

// watch waits until all have the message. It gives up when there is too little time left for what some member lacks.
func (p point) watch(g *Group, choice tune.Choice, limit time.Duration) bool {
	const looks = 32
	complete := 1
	done := func() bool {
		for complete < p.members && len(g.Members[complete].Completed) > 0 {
			complete++
		}
		return complete == p.members
	}
	for left := looks; left > 0; left-- {
		if g.Cluster.RunUntil(done, limit/looks) == nil {
			return true
		}
		// Blocks that are under way can be here at once.
		lacking := g.mostLacking() - choice.Credits - choice.Stripes
		if time.Duration(lacking)*p.wire(choice.Block) > time.Duration(left)*limit/looks {
			return false
		}
	}
	return false
}

// mostLacking is how many blocks of the first message the member lacks that has the fewest.
func (g *Group) mostLacking() (most int) {
	for _, m := range g.Members[1:] {
		for _, h := range m.replica.held {
			most = max(most, h.Blocks()-h.have.Count())
		}
	}
	return most
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
				c := tune.Choice{Algorithm: a, Block: block, Stripes: s[0], Credits: s[1]}
				c.Predicted = tune.Predict(p.group(), p.network(), c)
				all = append(all, c)
			}
		}
	}
	// Those that are likely to be good come first: nobody needs to wait for the others once a good one is known.
	slices.SortStableFunc(all, func(a, b tune.Choice) int { return cmp.Compare(a.Predicted, b.Predicted) })
	return all
}

// bound is what a fixed choice takes at least, whatever any model says: the root's blocks but the last one, of which so many
// can be under way at a time as there are stripes; and the last one's way to all.
func (p point) bound(c tune.Choice) time.Duration {
	k := rdmc.Message{Size: p.size, BlockSize: c.Block}.Blocks()
	wire, last := p.wire(c.Block), p.wire(int(p.size)-(k-1)*c.Block)
	turn := max(wire, (wire+2*p.more)/time.Duration(c.Stripes), p.message)
	rounds := bits.Len(uint(p.members - 1))
	switch c.Algorithm {
	case schedule.Tree:
		return time.Duration(k*rounds-1)*turn + last
	case schedule.Sequential:
		return time.Duration(k*(p.members-1)-1)*turn + last
	case schedule.Chain:
		return time.Duration(k-1)*turn + time.Duration(p.members-1)*(last+p.more)
	}
	return time.Duration(k-1)*turn + time.Duration(rounds)*last
}

// verdict is how auto compares at a point.
type verdict struct {
	point
	auto, best tune.Choice // Predicted is what it took
	ratio      float64     // of what auto takes to the best fixed choice; 1: none is faster
	foreseen   float64     // of what auto takes to what it foresaw
}

// judge compares auto with fixed choices of at most so many blocks.
func (p point) judge(t *testing.T, most int) verdict {
	t.Helper()
	network := p.network()
	network.MinBlock = p.leastBlock()
	auto, err := tune.Choose(p.group(), network)
	check(t, err)
	took, ok := p.run(t, auto, 10*auto.Predicted)
	if !ok {
		t.Fatalf("%v: auto, %+v, takes ten times as long as it foresaw", p, auto)
	}
	v := verdict{point: p, foreseen: float64(took) / float64(auto.Predicted)}
	v.auto = auto
	v.auto.Predicted = took
	v.best = v.auto
	for _, c := range p.fixed(min(most, p.mostBlocks())) {
		// What takes longer than auto or the best so far is not looked at, or not to its end.
		if p.bound(c) >= v.best.Predicted {
			continue
		}
		if c.Predicted, ok = p.run(t, c, v.best.Predicted); ok {
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
// and at points off it (offGrid). Messages have at most 4096 blocks, and fewer in large groups: mostTransfers, auto's too.
// What is compared is the protocol itself in virtual time, auto's choice too. By default a part of the grid is looked at,
// with fewer blocks; with WEFT_LONG=1 all.
func TestAutoIsNearTheBest(t *testing.T) {
	points, most := partOfGrid(), 64
	if os.Getenv("WEFT_LONG") != "" {
		points, most = append(wholeGrid(), offGrid()...), mostTransfers
	}
	verdicts := make(chan verdict, len(points))
	t.Run("grid", func(t *testing.T) {
		for _, p := range points {
			t.Run(p.String(), func(t *testing.T) {
				t.Parallel()
				v := p.judge(t, most)
				verdicts <- v
				if v.ratio > 1.05 {
					t.Errorf("auto, %s, takes %.3f of the best, %s", describe(v.auto), v.ratio, describe(v.best))
				}
			})
		}
	})
	close(verdicts)
	var all []verdict
	for v := range verdicts {
		all = append(all, v)
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

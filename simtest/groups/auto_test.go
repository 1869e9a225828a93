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

func (p point) spec(c tune.Choice) Spec {
	s := Spec{Blockwise: true, Config: rdmc.Config{Algorithm: c.Algorithm, BlockSize: c.Block, Stripes: c.Stripes,
		Credits: c.Credits, Pace: c.Pace, Offload: p.offload, Phantom: true}}
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

// verdict is how auto compares at a point.
type verdict struct {
	point
	auto, best tune.Choice // Predicted is what it took
	ratio      float64     // of what auto takes to the best fixed choice; 1: none is faster
	foreseen   float64     // of what auto takes to what it foresaw
}

// judge compares auto, among some algorithms, with fixed choices.
func (p point) judge(t *testing.T, fixed []tune.Choice, among ...schedule.Algorithm) verdict {
	t.Helper()
	network := p.network()
	network.MinBlock, network.Credits = p.leastBlock(), p.credits(0)
	auto, err := tune.Choose(p.group(), network, among...)
	check(t, err)
	took, ok := p.run(t, auto, 10*auto.Predicted)
	if !ok {
		t.Fatalf("%v: auto, %+v, takes ten times as long as it foresaw", p, auto)
	}
	v := verdict{point: p, foreseen: float64(took) / float64(auto.Predicted)}
	v.auto = auto
	v.auto.Predicted = took
	v.best = v.auto
	for _, c := range fixed {
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
// and at points off it (offGrid, humps, relayed). Messages have at most 4096 blocks, and fewer in large groups: mostTransfers, auto's too.
// What is compared is the protocol itself in virtual time, auto's choice too. By default a part of the grid is looked at,
// with fewer blocks; with WEFT_LONG=1 all.
func TestAutoIsNearTheBest(t *testing.T) {
	points, most := append(partOfGrid(), humps(64_000_000)...), 64
	if os.Getenv("WEFT_LONG") != "" {
		points, most = slices.Concat(wholeGrid(), offGrid(), humps(64_000_000), relayed()), mostTransfers
	}
	verdicts := make(chan verdict, len(points))
	t.Run("grid", func(t *testing.T) {
		for _, p := range points {
			t.Run(p.String(), func(t *testing.T) {
				t.Parallel()
				v := p.judge(t, p.fixed(most, schedule.Algorithms()))
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

// What is chosen for an algorithm that is named is within 5 % of the best blocks, stripes, credits and pace for it.
func TestEachIsNearItsBest(t *testing.T) {
	for _, p := range humps(16_000_000) {
		for _, a := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant} {
			t.Run(fmt.Sprintf("%v to %v", a, p), func(t *testing.T) { p.judgeAll(t, a) })
		}
	}
}

// Where NICs relay by themselves auto is within 5 % of the best, too.
func TestRelayedIsNearTheBest(t *testing.T) {
	for _, p := range relayed() {
		t.Run(p.String(), func(t *testing.T) { p.judgeAll(t, schedule.Pipeline, schedule.Circulant, schedule.Chain) })
	}
}

// judgeAll compares auto, among some algorithms, with all choices of them.
func (p point) judgeAll(t *testing.T, among ...schedule.Algorithm) {
	t.Parallel()
	v := p.judge(t, p.paced(p.fixed(mostTransfers, among)), among...)
	if t.Log(table([]verdict{v})); v.ratio > 1.05 {
		t.Errorf("%s takes %.3f of the best, %s", describe(v.auto), v.ratio, describe(v.best))
	}
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

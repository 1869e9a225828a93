package sweep

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// some is a plan that takes milliseconds.
func some() *Plan {
	return &Plan{Nodes: []int{4, 8}, Sizes: []uint64{1 << 20, 4 << 20}, Blocks: []int{0, 256 << 10}, Rate: 40e9,
		Algorithms: []schedule.Algorithm{schedule.Pipeline, schedule.Chain}, Auto: true, Seed: 1}
}

func racked() *Plan {
	return &Plan{Nodes: []int{8}, Sizes: []uint64{4 << 20}, Blocks: []int{256 << 10}, Rate: 40e9, Algorithms: All([]int{4, 4}), Auto: true,
		Fabric: cast.Fabric{Racks: []int{4, 4}, Uplink: cast.Oversubscribed([]int{4, 4}, 40e9, 4)}}
}

// rows are those of all cases.
func rows(t *testing.T, p *Plan) (all []*Row) {
	t.Helper()
	cases, omitted, err := p.Cases()
	if err != nil || len(omitted) > 0 {
		t.Fatal(err, omitted)
	}
	for _, c := range cases {
		row, err := p.Run(context.Background(), c, cast.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// A plan has every combination; the algorithm that is to be chosen is one more.
func TestCases(t *testing.T) {
	cases, _, err := some().Cases()
	if err != nil || len(cases) != 2*2*3*2 {
		t.Fatalf("%v, %d cases", err, len(cases))
	}
	want := []Case{}
	for _, c := range cases[:6] {
		want = append(want, Case{Nodes: 4, Size: 1 << 20, Auto: len(want) >= 4, Choice: c.Choice})
		if c.Block < 1 || c.Stripes < 1 || c.Credits < 1 || c.Predicted <= 0 {
			t.Errorf("something is left open: %+v", c)
		}
	}
	if !slices.Equal(cases[:6], want) || cases[5].Block != 256<<10 || cases[1].Block != 256<<10 || cases[1].Algorithm != schedule.Pipeline || cases[2].Algorithm != schedule.Chain {
		t.Errorf("%+v", cases[:6])
	}
	if last := cases[len(cases)-1]; last.Nodes != 8 || last.Size != 4<<20 || !last.Auto {
		t.Errorf("%+v", last)
	}
}

// What was said is taken as it was said.
func TestSaidIsSaid(t *testing.T) {
	p := some()
	p.Blocks, p.Stripes, p.Credits = []int{100_000}, 3, 7
	cases, _, err := p.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Stripes != 3 || c.Credits != 7 || c.Block != 100_000 {
			t.Errorf("%+v", c)
		}
	}
}

// No row is faster than the bound, the chosen one is about as fast as the best, and everything arrives.
func TestRows(t *testing.T) {
	for _, p := range []*Plan{some(), racked()} {
		all := rows(t, p)
		for _, best := range Best(all) {
			for _, r := range all {
				if r.Nodes != best.Nodes || r.Size != best.Size {
					continue
				}
				if !r.Verified || r.OverBound() < 1 || r.OverCopy() < r.OverBound() || r.Seconds < best.Seconds {
					t.Errorf("%+v; the best is %+v", r, best)
				}
				if fastest := fastestLike(r, all); r.Auto && r.Seconds > 1.1*fastest {
					t.Errorf("%v was chosen: %v s; another would take %v s", r.Algorithm, r.Seconds, fastest)
				}
				if r.Algorithm.Racks() && r.CrossRack != r.Blocks {
					t.Errorf("%v: %d blocks crossed, of %d", r.Algorithm, r.CrossRack, r.Blocks)
				}
			}
		}
	}
}

// Racks that differ all have the uplink of the smallest, in the simulator and in the cost model.
func TestRacksThatDiffer(t *testing.T) {
	p := racked()
	p.Nodes, p.Sizes, p.Algorithms, p.Auto = []int{8}, []uint64{16 << 20}, []schedule.Algorithm{schedule.Chain}, false
	p.Fabric.Racks = []int{2, 2, 4}
	p.Fabric.Uplink = cast.Oversubscribed(p.Fabric.Racks, p.Rate, 8)
	row := rows(t, p)[0]
	if p.Fabric.Uplink != 10e9 || row.OverCopy() < 4 || row.OverCopy() > 4.5 || row.Predicted < 0.9*row.Seconds || row.Predicted > 1.1*row.Seconds {
		t.Errorf("uplinks of %v take %v s, %v copies; %v s was predicted", p.Fabric.Uplink, row.Seconds, row.OverCopy(), row.Predicted)
	}
}

// What is said of stripes and credits holds for the choice of an algorithm, too: it is made among what keeps to it, and not
// before. The bound is what the cost model reaches; by choosing first it was up to 1.6.
func TestAutoKeepsToWhatWasSaid(t *testing.T) {
	for _, p := range []*Plan{some(), racked()} {
		p.Nodes, p.Sizes, p.Blocks = []int{8}, []uint64{1e6}, []int{0}
		for _, said := range [][2]int{{1, 0}, {2, 0}, {0, 1}, {0, 2}, {0, 8}, {4, 2}} {
			p.Stripes, p.Credits = said[0], said[1]
			all := rows(t, p)
			auto, best := all[len(all)-1], Best(all)[0]
			if !auto.Auto || auto.Seconds > 1.11*best.Seconds {
				t.Errorf("%v: %v of %v was chosen: %v s; %v of %v takes %v s", said, auto.Algorithm, auto.Block, auto.Seconds, best.Algorithm, best.Block, best.Seconds)
			}
		}
	}
}

// fastestLike is the time of the fastest for the same group and message; with the same block, if that was said.
func fastestLike(r *Row, all []*Row) (seconds float64) {
	seconds = r.Seconds
	for _, other := range all {
		if r.Nodes == other.Nodes && r.Size == other.Size && (r.Block != 256<<10 || other.Block == r.Block) {
			seconds = min(seconds, other.Seconds)
		}
	}
	return seconds
}

// Sequential sends to thousands are computed, unless they were named.
func TestOmitted(t *testing.T) {
	p := &Plan{Nodes: []int{10_000}, Sizes: []uint64{1e9}, Blocks: []int{1e6}, Rate: 40e9, Algorithms: All(nil), All: true}
	cases, omitted, err := p.Cases()
	if err != nil || len(cases) != 4 || len(omitted) != 1 {
		t.Fatal(err, cases, omitted)
	}
	if o := omitted[0]; o.Algorithm.Algorithm != schedule.Sequential || o.Transfers != 9_999_000 || o.Seconds < 1999 || o.Seconds > 2001 {
		t.Errorf("%+v", o)
	}
	p.All = false
	if cases, omitted, _ = p.Cases(); len(cases) != 5 || len(omitted) != 0 {
		t.Error(cases, omitted)
	}
}

// Nobody waits for hours because a model likes small blocks.
func TestChosenCanBeSimulated(t *testing.T) {
	p := &Plan{Nodes: []int{2, 64, 512, 10_000}, Sizes: []uint64{1, 8e6, 1e9, 1e11}, Blocks: []int{0}, Rate: 100e9, Algorithms: All(nil), Auto: true}
	cases, _, err := p.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if most := 2 * mostTransfers; c.Transfers() > most && !c.Auto && c.Block < MaxBlock {
			t.Errorf("%v, %d bytes to %d: %d transfers", c.Algorithm, c.Size, c.Nodes, c.Transfers())
		}
		if c.Blocks() > mostBlocks {
			t.Errorf("%v, %d bytes to %d: %d blocks", c.Algorithm, c.Size, c.Nodes, c.Blocks())
		}
	}
}

func TestPlansThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		change func(*Plan)
		says   string
	}{
		{func(p *Plan) { p.Nodes = nil }, "nodes: none at all"},
		{func(p *Plan) { p.Sizes = nil }, "sizes: none at all"},
		{func(p *Plan) { p.Blocks = nil }, "blocks: none at all"},
		{func(p *Plan) { p.Algorithms, p.Auto = nil, false }, "algorithms: none at all"},
		{func(p *Plan) { p.Nodes[1] = 1 }, "nodes: a group of 1 makes no sense: it has 2 to 10000"},
		{func(p *Plan) { p.Nodes[1] = 10_001 }, "nodes: a group of 10001"},
		{func(p *Plan) { p.Blocks = make([]int, 1000) }, "at most 1000"},
		{func(p *Plan) { p.Rate = 0 }, "rate: 0"},
		{func(p *Plan) { p.Blocks[0] = 1 }, "block size: 1"},
		{func(p *Plan) { p.Stripes = 65 }, "stripes: 65"},
		{func(p *Plan) { p.Sizes[0], p.Blocks[0] = 1<<40, 16<<10 }, "take larger blocks"},
		{func(p *Plan) { p.Algorithms = schedule.Algorithms() }, "without two racks"},
		{func(p *Plan) { p.Fabric.Racks = []int{4, 2} }, "racks: 6 members in all makes no sense: the group has 4, with the root"},
		{func(p *Plan) { p.Fabric.Slow = []cast.Slow{{Node: 4, To: -1, Factor: 0.5}} }, "slow: node 4 makes no sense: there are 0, the root, to 3"},
	} {
		p := some()
		c.change(p)
		if _, _, err := p.Cases(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v; want %q", err, c.says)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := some()
	cases, _, err := p.Cases()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(ctx, cases[0], cast.Watch{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A figure can be drawn, whatever was swept, and its table fits a terminal.
func TestFigures(t *testing.T) {
	blocks := some()
	blocks.Nodes, blocks.Sizes, blocks.Blocks = blocks.Nodes[:1], blocks.Sizes[:1], []int{64 << 10, 128 << 10, 256 << 10}
	sizes := racked()
	sizes.Sizes = []uint64{1 << 20, 4 << 20}
	for label, p := range map[string]*Plan{"nodes": some(), "block": blocks, "message": sizes, "": racked()} {
		f := p.Figure(rows(t, p))
		if err := f.Validate(); err != nil {
			t.Errorf("%s: %v", label, err)
		}
		switch {
		case label == "" && (len(f.Bars) != 1 || len(f.Bars[0].Groups) != len(All([]int{4, 4}))+1 || f.Bars[0].Bound <= 0):
			t.Errorf("bars: %+v", f.Bars)
		case label == "" && f.Bars[0].Note != "2 racks of 4, oversubscribed 4:1: each has 40 Gbit/s to the others.":
			t.Errorf("the drawing says %q", f.Bars[0].Note)
		case label != "" && (len(f.Charts) != 1 || f.Charts[0].X.Label != label):
			t.Errorf("%s: %+v", label, f.Charts)
		}
		if n := width(p.Columns()); n > tableWidth {
			t.Errorf("%s: a table of %d columns", label, n)
		}
		for _, c := range p.Columns() {
			if utf8.RuneCountInString(c.Head) > c.Width {
				t.Errorf("%q is wider than %d", c.Head, c.Width)
			}
		}
	}
}

// The widest table there can be fits, too.
func TestColumns(t *testing.T) {
	p := racked()
	p.Nodes, p.Sizes = []int{8, 16}, []uint64{1, 2}
	if n := width(p.Columns()); n > tableWidth+6 { // racks have one number of nodes only
		t.Errorf("%d columns", n)
	}
	p.Fabric.Racks = nil
	p.Algorithms = All(nil)
	if n := width(p.Columns()); n > tableWidth {
		t.Errorf("%d columns", n)
	}
}

// Where NICs relay by themselves they have credits for a long chain, unless somebody says otherwise, and no pace.
func TestOffloadHasCredits(t *testing.T) {
	for said, want := range map[int]int{0: cast.AutoCredits(1, true), 5: 5} {
		p := some()
		p.Offload, p.Credits = true, said
		cases, _, err := p.Cases()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if c.Credits != want || c.Pace != 0 {
				t.Errorf("%d credits are said: %+v", said, c)
			}
		}
	}
}

package simulated

import (
	"context"
	"math"
	"testing"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The bound is RDMC's, section 4.3: k + ⌈log₂ n⌉ − 1 steps of a block's time.
func TestBound(t *testing.T) {
	p := place{members: 512, size: 256 << 20}
	if got, want := p.bound(256), 264.0*(1<<20)*8/40e9; math.Abs(got-want) > 1e-9 {
		t.Errorf("%v s, want %v", got, want)
	}
}

// Small versions of the rows: every way arrives, no faster than the bound, and a block crosses into each rack once.
func TestWays(t *testing.T) {
	racks := []int{4, 4, 4}
	p := place{members: 12, size: 16 << 20, block: 1 << 20, fabric: cast.Fabric{Racks: racks, Uplink: cast.Oversubscribed(racks, rate, 4)}}
	for _, w := range append([]way{{"rack-stripes", []schedule.Algorithm{schedule.RackStripes}}}, ways...) {
		r, c, err := p.way(context.Background(), w)
		if err != nil {
			t.Fatal(err)
		}
		if r.Median.Seconds < p.bound(r.Blocks) || c.Block != 1<<20 || !r.Median.Verified {
			t.Errorf("%s: %s takes %v s, and the bound is %v", w.name, describe(c), r.Median.Seconds, p.bound(r.Blocks))
		}
		if c.Algorithm == schedule.RackStripes && r.CrossRack != 2*r.Blocks {
			t.Errorf("%s: %d of %d blocks cross", w.name, r.CrossRack, r.Blocks)
		}
	}
}

// What rows depend on stands beside them, with a command that says all of it.
func TestSettings(t *testing.T) {
	all := Settings()
	for i, want := range map[int]string{
		0: "8 MB to 511: links of 40 Gbit/s, 5µs a message, no racks, so nothing is oversubscribed. Repeat it in some seconds, with: " +
			"weft sim multicast --size 8MB --rate 40gbit --nodes 512 --message 5us --algorithm pipeline,circulant,auto,chain",
		2: "256 blocks to 8 racks of 8: links of 40 Gbit/s, the simulator's own 7ns a message, racks oversubscribed 4:1. Repeat it in a second, with: " +
			"weft sim multicast --size 256MiB --rate 40gbit --racks 8x8 --oversubscribe 4 --blocks 1MiB --algorithm rack-stripes,pipeline,circulant,auto,chain",
	} {
		if all[i] != want {
			t.Errorf("%s\nwant\n%s", all[i], want)
		}
	}
}

// The best chain is no slower than the one that tune finds.
func TestBestChain(t *testing.T) {
	p := place{members: 9, size: 1 << 20}
	best, err := p.bestChain(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.choose(schedule.Chain)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.run(context.Background(), c)
	if err != nil || best <= 0 || best > r.Median.Seconds {
		t.Errorf("the best takes %v s, tune's %v, %v", best, r.Median.Seconds, err)
	}
}

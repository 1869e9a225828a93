package simulated

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

func TestRacksTry(t *testing.T) {
	racks := []int{8, 8, 8, 8, 8, 8, 8, 8}
	for _, size := range []uint64{256 << 20} {
		p := place{members: 64, size: size, block: 1 << 20, fabric: cast.Fabric{Racks: racks, Uplink: cast.Oversubscribed(racks, rate, 4)}}
		for _, s := range []int{2, 4, 6, 8} {
			for _, c := range []int{1, 2, s, s + 1, 2 * s} {
				for _, pace := range []float64{0, 1} {
					ch := tune.Choice{Algorithm: schedule.RackStripes, Block: 1 << 20, Stripes: s, Credits: c, Pace: time.Duration(pace * (1 << 20) * 8 / 40)}
					r, err := p.run(context.Background(), ch)
					if err != nil {
						t.Fatal(err)
					}
					fmt.Printf("s%d c%d pace %v: %.3f steps %d predicted %.3f\n", s, c, pace, r.Median.Seconds/p.bound(r.Blocks), r.Steps,
						tune.Predict(tune.Group{Members: 64, Size: size, Racks: p.rackOf()}, tune.Network{Rate: rate, Latency: 1135, Uplink: p.fabric.Uplink}, ch).Seconds()/p.bound(r.Blocks))
				}
			}
		}
	}
}

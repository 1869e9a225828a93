package sim

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weft-fabric/weft/clock"
)

// slowShares is max-min fairness as it is defined, with no cleverness: raise all rates together, and stop those that
// cross a resource which is full.
func slowShares(capacity []float64, paths [][]uint32) []float64 {
	rates := make([]float64, len(paths))
	fixed := make([]bool, len(paths))
	for slices.Contains(fixed, false) {
		// The smallest step that fills some resource.
		step := math.Inf(1)
		room := func(r int) (float64, int) {
			left, open := capacity[r], 0
			for i, path := range paths {
				if slices.Contains(path, uint32(r)) {
					left -= rates[i]
					if !fixed[i] {
						open++
					}
				}
			}
			return left, open
		}
		for r := range capacity {
			if left, open := room(r); open > 0 {
				step = min(step, left/float64(open))
			}
		}
		for i := range rates {
			if !fixed[i] {
				rates[i] += step
			}
		}
		for r := range capacity {
			if left, _ := room(r); left > 1e-9*capacity[r] {
				continue
			}
			for i, path := range paths {
				fixed[i] = fixed[i] || slices.Contains(path, uint32(r))
			}
		}
	}
	return rates
}

// Joins, leaves and changed capacities in any order leave the very rates that a computation from scratch gives.
func TestSharesAreMaxMinFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &network{order: func() uint64 { return 0 }}
		var capacity []float64
		for range rapid.IntRange(1, 12).Draw(t, "resources") {
			capacity = append(capacity, float64(rapid.IntRange(1, 40).Draw(t, "capacity"))/4)
			n.addResource(capacity[len(capacity)-1])
		}
		var flows []uint32
		for range rapid.IntRange(1, 20).Draw(t, "flows") {
			hops := rapid.IntRange(1, min(maxHops, len(capacity))).Draw(t, "hops")
			path := rapid.Permutation(indexes(len(capacity))).Draw(t, "path")[:hops]
			flows = append(flows, n.newFlow(0, path))
		}
		for now := range clock.Time(rapid.IntRange(1, 12).Draw(t, "instants")) {
			for range rapid.IntRange(1, 4).Draw(t, "changes") {
				change(t, n, flows, capacity, now)
			}
			n.reshare(now)
			compareShares(t, n, flows, capacity)
		}
	})
}

func indexes(n int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = uint32(i)
	}
	return list
}

// change lets one flow join or leave, or one capacity change.
func change(t *rapid.T, n *network, flows []uint32, capacity []float64, now clock.Time) {
	if rapid.IntRange(0, 5).Draw(t, "what") == 0 {
		r := rapid.IntRange(0, len(capacity)-1).Draw(t, "resource")
		capacity[r] = float64(rapid.IntRange(1, 40).Draw(t, "capacity")) / 4
		n.setCapacity(uint32(r), capacity[r])
		return
	}
	id := rapid.SampledFrom(flows).Draw(t, "flow")
	if n.flows.at(id).active {
		n.leave(id)
		return
	}
	n.join(id, now)
	n.send(id, rapid.Uint32Range(1, 1<<20).Draw(t, "bytes"))
}

func compareShares(t *rapid.T, n *network, flows []uint32, capacity []float64) {
	var active []uint32
	var paths [][]uint32
	for _, id := range flows {
		if f := n.flows.at(id); f.active {
			active = append(active, id)
			paths = append(paths, f.path[:f.hops])
		}
	}
	if len(n.finish) != len(active) {
		t.Fatalf("%d messages are planned for %d active flows", len(n.finish), len(active))
	}
	for i := range n.finish {
		if i > 0 && n.finish[i].before(&n.finish[(i-1)/4]) {
			t.Fatalf("finish is out of order at %d: %+v", i, n.finish)
		}
	}
	for i, want := range slowShares(capacity, paths) {
		f := n.flows.at(active[i])
		if math.Abs(f.rate-want) > 1e-9*want {
			t.Fatalf("flow %d over %v has %v, want %v", active[i], paths[i], f.rate, want)
		}
		if e := n.finish[n.placeOf(active[i])]; e.index != active[i] || e.at < f.since {
			t.Fatalf("flow %d is planned as %+v", active[i], e)
		}
	}
}

// Where saturation does not reach, nothing is computed: that is what makes thousands of nodes practical.
func TestReshareStaysLocal(t *testing.T) {
	n := &network{order: func() uint64 { return 0 }}
	var flows []uint32
	for range 100 { // 100 separate pairs of nodes over one wide spine
		flows = append(flows, n.newFlow(0, []uint32{n.addResource(1), n.addResource(1)}))
	}
	spine := n.addResource(1000)
	for _, id := range flows {
		f := n.flows.at(id)
		f.path[f.hops] = spine
		f.hops++
		n.join(id, 0)
		n.send(id, 1000)
	}
	n.reshare(0)
	n.leave(flows[3])
	n.join(flows[3], 1)
	n.reshare(1)
	if len(n.opened) != 1 {
		t.Errorf("one flow came and went alone, but %d were looked at", len(n.opened))
	}
}

// Messages of a flow end when they should although the clock has whole nanoseconds only: 3 messages of 100 bytes at
// 0.3 bytes a nanosecond are over after 1000.
func TestRoundingDoesNotSlowAStream(t *testing.T) {
	n := &network{order: func() uint64 { return 0 }}
	id := n.newFlow(0, []uint32{n.addResource(0.3)})
	n.join(id, 0)
	n.send(id, 100)
	n.reshare(0)
	now := clock.Time(0)
	for range 3000 {
		now = n.finish[0].at
		n.flows.at(id).sent(now)
		n.send(id, 100)
	}
	if now < 1000000 || now > 1000001 {
		t.Errorf("3000 messages took %d ns, want 1000000 and at most 1 of rounding", now)
	}
}

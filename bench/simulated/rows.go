package simulated

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// What the rows have to reach.
const (
	smallBound  = 0.4
	largeBound  = 1.03
	racksBound  = 1.3
	wallBound   = 120 // seconds
	memoryBound = 8   // GiB
)

// Steps are the rows, in the order of the table. Whoever else uses the machine does not change virtual time.
func Steps(ctx context.Context) []contest.Step {
	return []contest.Step{
		{Name: "simulated: 512 nodes, 8 MB", Watches: true, Run: func() ([]contest.Result, error) { return Small(ctx) }},
		{Name: "simulated: 512 nodes, 256 MB", Watches: true, Run: func() ([]contest.Result, error) { return Large(ctx) }},
		{Name: "simulated: 8 racks of 8", Watches: true, Run: func() ([]contest.Result, error) { return Racks(ctx) }},
		{Name: "simulated: 10000 nodes, 1 GB", Run: func() ([]contest.Result, error) { return Many(ctx) }},
	}
}

// Small compares 8 MB to 511 receivers, 5 µs a message, with the best chain of any block size.
func Small(ctx context.Context) (rows []contest.Result, err error) {
	p := small
	best, err := p.bestChain(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range ways[:3] {
		r, c, err := p.way(ctx, w)
		if err != nil {
			return rows, err
		}
		duel := contest.Contest{What: fmt.Sprintf("simulated: 8 MB to 511, %s (%s)", w.name, describe(c)), Peer: "best chain",
			Unit: "s", Bound: smallBound, AtMost: true}
		rows = append(rows, duel.Judge([]contest.Pair{{Peer: best, Ours: r.Median.Seconds}}))
	}
	return rows, nil
}

// bestChain is how long the fastest chain takes, in seconds, with blocks of any size around the one that tune finds: from half
// to twice of it. In steps of a half the best of 8 MB to 511 would be missed by 9 %.
func (p place) bestChain(ctx context.Context) (float64, error) {
	c, err := p.choose(schedule.Chain)
	best := 0.0
	for quarter, i := c.Block/4, 2; i <= 8 && err == nil; i++ {
		var r *cast.Report
		c.Block = i * quarter
		if r, err = p.run(ctx, c); err == nil && (best == 0 || r.Median.Seconds < best) {
			best = r.Median.Seconds
		}
	}
	return best, err
}

// way sends the message in one of the ways.
func (p place) way(ctx context.Context, w way) (*cast.Report, tune.Choice, error) {
	c, err := p.choose(w.among...)
	if err != nil {
		return nil, c, err
	}
	r, err := p.run(ctx, c)
	return r, c, err
}

// Large compares 256 MB to 511 receivers, in blocks of 1 MiB, with the bound for as many blocks.
func Large(ctx context.Context) (rows []contest.Result, err error) {
	p := large
	for _, w := range ways {
		r, c, err := p.way(ctx, w)
		if err != nil {
			return rows, err
		}
		row := contest.Result{What: fmt.Sprintf("simulated: 256 MB to 511, %s (%s)", w.name, describe(c)), Unit: "× the bound",
			Value: r.Median.Seconds / p.bound(r.Blocks)}
		if w.name != "chain" {
			row.Bound, row.AtMost = largeBound, true
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Racks compares 256 blocks to 8 racks of 8 with narrow uplinks with what a network without racks could do at best.
func Racks(ctx context.Context) (rows []contest.Result, err error) {
	p := racks
	for _, w := range append([]way{{"rack-stripes", []schedule.Algorithm{schedule.RackStripes}}}, ways...) {
		r, c, err := p.way(ctx, w)
		if err != nil {
			return rows, err
		}
		what := fmt.Sprintf("simulated: 256 blocks to 8 racks of 8, %s (%s)", w.name, describe(c))
		took := contest.Result{What: what, Unit: "× the flat bound", Value: r.Median.Seconds / p.bound(r.Blocks)}
		crossed := contest.Result{What: what + ", blocks between racks", Unit: "× the least", Value: float64(r.CrossRack) / float64(r.Blocks*(len(eightRacks)-1))}
		if w.name == "rack-stripes" {
			took.Bound, took.AtMost = racksBound, true
			crossed.Bound, crossed.AtMost = 1, true
		}
		rows = append(rows, took, crossed)
	}
	return rows, nil
}

// Many is what it takes to simulate 1 GB to 10,000 nodes in blocks of 1 MB. If two ways come to the same, one run is enough.
func Many(ctx context.Context) (rows []contest.Result, err error) {
	p := many
	reports := map[tune.Choice]*cast.Report{}
	for _, w := range ways[:3] {
		c, err := p.choose(w.among...)
		if err != nil {
			return rows, err
		}
		r := reports[c]
		if r == nil {
			if r, err = p.run(ctx, c); err != nil {
				return rows, err
			}
			reports[c] = r
		}
		what := fmt.Sprintf("simulated: 1 GB to 9999 in blocks of 1 MB, %s (%s)", w.name, describe(c))
		rows = append(rows, contest.Result{What: what + ", wall time", Unit: "s", Value: r.Wall, Bound: wallBound, AtMost: true},
			contest.Result{What: what + ", memory", Unit: "GiB", Value: float64(r.PeakMemory) / (1 << 30), Bound: memoryBound, AtMost: true})
	}
	return rows, nil
}

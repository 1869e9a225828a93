package paper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/simtest/groups"
)

const (
	pause     = 100 * time.Microsecond
	pauseStep = 240 // of 257: near the end, as in the paper
)

// figure5 is what two members do in each step: the root, and a relayer that is interrupted once.
func figure5() Scenario {
	s := Scenario{Name: "fig5", Title: "Each step of 256 MiB to 3 receivers, with a pause of 100 µs, on Stampede",
		Section: "5.2.1, figure 5",
		Claim:   "a relayer hardly waits; if its host pauses, the root waits a step later; the NICs alone would not"}
	s.Run = func(ctx context.Context, o Options) (*figure.Figure, error) {
		all := ways()
		for i, way := range all {
			if err := way.measure(ctx, o.Seed); err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
			o.progress(i+1, len(all))
		}
		return s.stepsOf(all), nil
	}
	return s
}

// interruption is an experiment without and with a pause of the relayer's host.
type interruption struct {
	experiment
	name          string
	well, paused  time.Duration // what it takes
	root, relayer []step        // with the pause
}

// step is what a member does with one block.
type step struct{ transfer, wait time.Duration }

// ways are the paper's, ours, and the one that the paper hopes for.
func ways() []*interruption {
	one, two, offload := stepwise(), stepwise(), stepwise()
	two.stripes = 2
	offload.offload = true
	return []*interruption{
		{name: "one block at a time", experiment: one},
		{name: "two stripes", experiment: two},
		{name: "offloaded", experiment: offload},
	}
}

// measure does the experiment twice. The pause begins when a block comes to the relayer: in the middle of a block its host
// has nothing to do, and nobody would notice.
func (i *interruption) measure(ctx context.Context, seed uint64) error {
	i.fabric.Seed = seed
	j, r, err := i.record(ctx)
	if err != nil {
		return err
	}
	i.well = r.last
	at, failed := j.into(farthest)[pauseStep].landed, error(nil)
	i.prepare = func(c *groups.Cluster) error {
		c.Fabric.At(at, func() { failed = c.Fabric.Pause(c.Nodes[farthest].Name, pause) })
		return nil
	}
	if j, r, err = i.record(ctx); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	i.paused, i.root, i.relayer = r.last, steps(j.outOf(root), r.start), steps(j.into(farthest), r.start)
	return nil
}

// steps divides time by the blocks of one direction: how long each took, and how long none had been under way before it.
func steps(blocks []*passage, start clock.Time) (list []step) {
	slices.SortFunc(blocks, func(a, b *passage) int { return int(a.started - b.started) })
	free := start
	for _, p := range blocks {
		list = append(list, step{transfer: p.took(), wait: max(0, p.started.Sub(free))})
		free = max(free, p.landed)
	}
	return list
}

// longest is the longest wait near the end, where the pause is; usual is the median of all.
func longest(list []step) time.Duration {
	late := list[len(list)*3/4:]
	return slices.MaxFunc(late, func(a, b step) int { return int(a.wait - b.wait) }).wait
}

func usual(list []step) step {
	var waits, transfers []time.Duration
	for _, s := range list {
		waits, transfers = append(waits, s.wait), append(transfers, s.transfer)
	}
	slices.Sort(waits)
	slices.Sort(transfers)
	return step{transfers[len(list)/2], waits[len(list)/2]}
}

// stepsOf is the figure.
func (s Scenario) stepsOf(all []*interruption) *figure.Figure {
	one, offload := all[0], all[2]
	f := s.figure("The transfer of table 1, until all members have the message; table 1 has the time of member 3, which is not always the " +
		"last. Its host pauses for 100 µs when its 241st block comes. " +
		"In the paper the root sends a block faster than relayers do, and then waits for them: those NICs slowed down when they " +
		"sent and received at once, and the simulated ones do not. Of waits the longest is shown.")
	f.Charts = []plot.Chart{
		stepChart("Relayer, one block at a time", one.relayer[1:]),
		stepChart("Root, one block at a time", one.root),
		stepChart("Root, offloaded", offload.root),
	}
	f.Table = &figure.Table{Columns: []string{"", "without the pause", "with it", "longer by", "relayer waits", "root waits"}}
	for _, i := range all {
		f.Table.Rows = append(f.Table.Rows, []string{i.name, micros(i.well), micros(i.paused), micros(i.paused - i.well),
			micros(longest(i.relayer)), micros(longest(i.root))})
	}
	f.Claims = pauseClaims(one, offload)
	return f
}

func pauseClaims(one, offload *interruption) []figure.Claim {
	typical := usual(one.relayer)
	return []figure.Claim{
		claim("a relayer spends hardly any time waiting", ratio(typical.wait, typical.transfer) < 0.02,
			"%s of waiting for a block that takes %s", micros(typical.wait), micros(typical.transfer)),
		claim("a pause of 100 µs on the relayer makes the root wait", longest(one.root) > pause/2,
			"the root waits %s, usually %s", micros(longest(one.root)), micros(usual(one.root).wait)),
		claim("offload would mitigate it", longest(offload.root) < pause/10,
			"the root waits %s, and all takes %s longer instead of %s", micros(longest(offload.root)),
			micros(offload.paused-offload.well), micros(one.paused-one.well)),
	}
}

func stepChart(title string, list []step) plot.Chart {
	transfer, wait := plot.Series{Name: "transfer"}, plot.Series{Name: "wait"}
	for i, s := range list {
		transfer.Points = append(transfer.Points, plot.Point{X: float64(i + 1), Y: s.transfer.Seconds()})
		wait.Points = append(wait.Points, plot.Point{X: float64(i + 1), Y: s.wait.Seconds()})
	}
	return plot.Chart{Title: title, X: plot.Axis{Label: "step"}, Y: plot.Axis{Label: "time", Unit: "s"},
		Series: []plot.Series{transfer, wait}}
}

func micros(d time.Duration) string { return fmt.Sprintf("%.1f µs", d.Seconds()*1e6) }

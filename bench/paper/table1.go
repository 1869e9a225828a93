package paper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/plot"
)

// Who is who in a group of four: the root sends its first block to member 1, and that sends it on to member 3 (figure 3).
const (
	root     = 0
	farthest = 3
)

// stepwise is one block after the other, as in the paper. Two stripes, as groups have them unless they are told otherwise,
// have two under way.
func stepwise() experiment {
	return experiment{members: 4, node: rated(stampede), size: 256 * mib, stripes: 1}
}

// table1 is where the time goes at the member farthest from the root.
func table1() Scenario {
	s := Scenario{Name: "table1", Title: "Where the time of 256 MiB to 3 receivers goes, on Stampede", Section: "5.2.1, table 1",
		Claim: "99 % of the time blocks are on their way"}
	s.Run = func(ctx context.Context, o Options) (*figure.Figure, error) {
		one, two := stepwise(), stepwise()
		two.stripes = 2
		var both [2]*shares
		for i, e := range []experiment{one, two} {
			e.fabric.Seed = o.Seed
			j, r, err := e.record(ctx)
			if err != nil {
				return nil, err
			}
			both[i] = j.shares(farthest, r)
			o.progress(i+1, len(both))
		}
		return s.sharesOf(both[0], both[1]), nil
	}
	return s
}

// shares is what a member spent its time with, from Send to the end: the rows of table 1.
type shares struct {
	remoteSetup, remoteTransfers, localSetup, transfers, waiting, copying, total time.Duration
}

// published is what the paper has measured.
func published() *shares {
	return &shares{remoteSetup: 11 * time.Microsecond, remoteTransfers: 461 * time.Microsecond,
		localSetup: 4 * time.Microsecond, transfers: 60944 * time.Microsecond, waiting: 449 * time.Microsecond,
		copying: 215 * time.Microsecond, total: 62084 * time.Microsecond}
}

// list has the rows in their order.
func (s *shares) list() []time.Duration {
	return []time.Duration{s.remoteSetup, s.remoteTransfers, s.localSetup, s.transfers, s.waiting, s.copying, s.total}
}

// busy is the part of the time in which blocks were on their way.
func (s *shares) busy() float64 { return ratio(s.remoteTransfers+s.transfers, s.total) }

// shares divides a member's time. Until its first block is here, it is that of the members before it.
func (j *journal) shares(member uint32, r result) *shares {
	s := &shares{total: r.at[member]}
	own := j.with(member)
	first := j.into(member)[0]
	j.remote(first, r.start, s)
	start, end := first.landed, r.start.Add(s.total)
	ready := min(j.says(member, start), end) // for the next block (section 4.2)
	s.localSetup = ready.Sub(start) - covered(own, start, ready)
	s.transfers = covered(own, start, end)
	s.waiting = end.Sub(start) - s.localSetup - s.transfers
	return s
}

// remote adds what it took a block to come to a member, back to the root.
func (j *journal) remote(p *passage, start clock.Time, s *shares) {
	before := start
	if p.from != root {
		relay := j.into(p.from)[0]
		j.remote(relay, start, s)
		before = relay.landed
	}
	s.remoteSetup += p.started.Sub(before)
	s.remoteTransfers += p.took()
}

// covered is how much of the time from start to end at least one of the passages was under way.
func covered(some []*passage, start, end clock.Time) (sum time.Duration) {
	slices.SortFunc(some, func(a, b *passage) int { return int(a.started - b.started) })
	for _, p := range some {
		from, to := max(p.started, start), min(p.landed, end)
		if to > from {
			sum += to.Sub(from)
			start = to
		}
	}
	return sum
}

// sharesOf is the figure.
func (s Scenario) sharesOf(one, two *shares) *figure.Figure {
	f := s.figure("256 MiB in blocks of 1 MiB by the pipeline, on NICs of 40 Gbit/s; what member 3 of 0 … 3 spends its time with. " +
		"Beside the paper's numbers: one block after the other as in the paper, and two stripes, which groups have unless " +
		"they are told otherwise. Blocks land in their place here, so that there is nothing to copy, and the simulated hosts' own " +
		"code takes no time but for posting.")
	columns := []*shares{published(), one, two}
	f.Table, f.Bars = shareTable(columns), []plot.Bars{overheads(columns)}
	f.Claims = []figure.Claim{
		claim("about 99 % of the time blocks are on their way", one.busy() >= 0.99 && two.busy() >= 0.99,
			"%.2f %% one block at a time, %.2f %% with two stripes; %.2f %% in the paper",
			100*one.busy(), 100*two.busy(), 100*published().busy()),
	}
	return f
}

// The rows and columns of table 1, and which rows are no transfers.
var (
	shareRows    = []string{"remote setup", "remote block transfers", "local setup", "block transfers", "waiting", "copy", "total"}
	shareColumns = []string{"paper", "one block at a time", "two stripes"}
	overheadRows = []int{0, 2, 4, 5}
)

func shareTable(columns []*shares) *figure.Table {
	t := &figure.Table{Columns: append([]string{"µs"}, shareColumns...)}
	for i, row := range shareRows {
		cells := []string{row}
		for _, c := range columns {
			cells = append(cells, fmt.Sprintf("%.1f", c.list()[i].Seconds()*1e6))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func overheads(columns []*shares) plot.Bars {
	bars := plot.Bars{Title: "Time in which no block is on its way", Y: plot.Axis{Label: "time", Unit: "s"}, Groups: shareColumns}
	for _, row := range overheadRows {
		series := plot.BarSeries{Name: shareRows[row]}
		for _, c := range columns {
			series.Values = append(series.Values, c.list()[row].Seconds())
		}
		bars.Series = append(bars.Series, series)
	}
	return bars
}

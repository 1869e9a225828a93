package waiting

import (
	"fmt"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/internal/units"
)

// figure is what was measured: bars and a table.
func (t samples) figure(all []*place, rounds int) *figure.Figure {
	f := &figure.Figure{
		Name: "waiting", Title: "What waiting costs: polling, hybrid and sleeping members; blocks relayed by hosts or by NICs",
		Source: "RDMC, section 5.2.3, figures 11 and 12; measured on this machine",
		Text: fmt.Sprintf("%d processes of this machine, which share its cores; medians of %d rounds. "+
			"Processor time is that of all members, for 10⁹ bytes of message. NICs relay by chained requests (--offload): "+
			"these are software NICs, whose time is that of their members.", members, rounds),
		Table: t.table(all),
	}
	for _, p := range all {
		f.Bars = append(f.Bars, t.bars(p, "rate", rate), t.bars(p, "processor time for the same bytes", processors))
	}
	return f
}

func (t samples) median(k key, of func(sample) float64) float64 {
	var values []float64
	for _, s := range t[k] {
		values = append(values, of(s))
	}
	return contest.Median(values)
}

// relative is a median against that of members that poll and relay by themselves.
func (t samples) relative(k key, of func(sample) float64) float64 {
	base := key{k.place, byLoops(k.waiting(polling))}
	return t.median(k, of) / t.median(base, of)
}

// bars has a group for each algorithm and size, and in it a bar for each way to wait and to relay.
func (t samples) bars(p *place, what string, of func(sample) float64) plot.Bars {
	b := plot.Bars{Title: p.name + ": " + what, Y: plot.Axis{Label: "against members that poll and relay by themselves", Unit: "ratio"}}
	for _, chains := range []bool{false, true} {
		for _, wait := range waits {
			series := plot.BarSeries{Name: wait + ", " + setting{chains: chains}.relays()}
			for _, s := range settings() {
				if s.wait == wait && s.chains == chains {
					series.Values = append(series.Values, t.relative(key{p.name, s}, of))
				}
			}
			b.Series = append(b.Series, series)
		}
	}
	for _, algorithm := range algorithms {
		for _, size := range sizes {
			b.Groups = append(b.Groups, algorithm+" "+size.name)
		}
	}
	return b
}

// table has a row for each place, algorithm, size and way to relay.
func (t samples) table(all []*place) *figure.Table {
	table := &figure.Table{Columns: []string{"members", "algorithm", "size", "relayed by", "MB/s: polling", "hybrid", "sleeping",
		"CPU s/GB: polling", "hybrid", "sleeping", "cores busy: polling", "hybrid", "sleeping"}}
	for _, p := range all {
		for _, s := range settings() {
			if s.wait == waits[0] {
				table.Rows = append(table.Rows, t.row(p, s))
			}
		}
	}
	return table
}

func (t samples) row(p *place, s setting) []string {
	row := []string{p.name, s.algorithm, s.size.name, s.relays()}
	for _, of := range []func(sample) float64{megabytes, processors, cores} {
		for _, wait := range waits {
			row = append(row, units.Digits(t.median(key{p.name, s.waiting(wait)}, of)))
		}
	}
	return row
}

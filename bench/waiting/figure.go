package waiting

import (
	"fmt"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/internal/units"
)

// figure makes tables, bars and claims of the samples.
func (t samples) figure(all []*place, rounds int) *figure.Figure {
	f := &figure.Figure{
		Name: "waiting", Title: "What waiting costs: polling, hybrid and sleeping members; blocks relayed by hosts or by chains",
		Source: "RDMC, section 5.2.3, figures 11 and 12; measured on this machine",
		Text: fmt.Sprintf("%d processes of this machine, which share its cores; medians of %d rounds. "+
			"Processor time is that of all members, for 10⁹ bytes of message.", members, rounds),
		Table: t.table(all),
	}
	for _, p := range all {
		f.Bars = append(f.Bars, t.bars(p, "rate against polling by hosts", plot.Axis{Label: "rate", Unit: "ratio"}, t.relative),
			t.bars(p, "processor seconds for 1 GB", plot.Axis{Label: "seconds", Unit: "s", Log: true},
				func(k key) float64 { return t.median(k, func(s sample) float64 { return s.perGB }) }))
	}
	for _, c := range comparisons() {
		f.Claims = append(f.Claims, c.claim(t, all))
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

func (t samples) rate(k key) float64 { return t.median(k, func(s sample) float64 { return s.rate }) }

// relative is the rate against that of members that poll and relay by themselves.
func (t samples) relative(k key) float64 {
	base := key{k.place, k.waiting(polling)}
	base.chains = false
	return t.rate(k) / t.rate(base)
}

// bars has a group for each algorithm and size, and in it a bar for each way to wait and to relay.
func (t samples) bars(p *place, title string, y plot.Axis, value func(key) float64) plot.Bars {
	b := plot.Bars{Title: p.name + ": " + title, Y: y}
	for _, chains := range []bool{false, true} {
		for _, wait := range waits {
			series := plot.BarSeries{Name: wait + ", " + setting{chains: chains}.relays()}
			for _, s := range settings() {
				if s.wait == wait && s.chains == chains {
					series.Values = append(series.Values, value(key{p.name, s}))
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
	table := &figure.Table{Columns: []string{"members", "algorithm", "size", "relayed by", "polling MB/s", "hybrid", "sleeping",
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
	row := []string{p.name, s.algorithm, s.size.name, s.relays(), units.Digits(t.rate(key{p.name, s}) / 1e6)}
	for _, wait := range waits[1:] {
		row = append(row, fmt.Sprintf("%.2f ×", t.rate(key{p.name, s.waiting(wait)})/t.rate(key{p.name, s})))
	}
	for _, of := range []func(sample) float64{func(s sample) float64 { return s.perGB }, func(s sample) float64 { return s.cores }} {
		for _, wait := range waits {
			row = append(row, units.Digits(t.median(key{p.name, s.waiting(wait)}, of)))
		}
	}
	return row
}

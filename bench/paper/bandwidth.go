package paper

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/internal/printable"
)

// line is a crowd for each size of the group.
type line struct {
	name   string
	dashed bool
	of     func(members int) crowd
}

// bandwidths are lines over group sizes, in bits a second.
type bandwidths struct {
	lines   []line
	members []int
	rates   [][]float64 // by line and members
}

// bandwidths measures all lines.
func (o Options) bandwidths(ctx context.Context, lines []line, members []int) (*bandwidths, error) {
	var list []crowd
	for _, l := range lines {
		for _, n := range members {
			c := l.of(n)
			c.members = n
			list = append(list, c)
		}
	}
	took, err := o.crowds(ctx, list)
	if err != nil {
		return nil, err
	}
	b := &bandwidths{lines: lines, members: members}
	for i := range lines {
		var rates []float64
		for j := range members {
			at := i*len(members) + j
			rates = append(rates, list[at].bandwidth(took[at]))
		}
		b.rates = append(b.rates, rates)
	}
	return b, nil
}

// chart draws some of the lines: from one up to, not including, another.
func (b *bandwidths) chart(title string, from, to int) plot.Chart {
	c := plot.Chart{Title: printable.Capital(title), X: plot.Axis{Label: "group size"}, Y: plot.Axis{Label: "bandwidth", Unit: "bits/s"}}
	for i := from; i < to; i++ {
		series := plot.Series{Name: b.lines[i].name, Dashed: b.lines[i].dashed}
		for j, n := range b.members {
			series.Points = append(series.Points, plot.Point{X: float64(n), Y: b.rates[i][j]})
		}
		c.Series = append(c.Series, series)
	}
	return c
}

// table has a row for each line.
func (b *bandwidths) table() *figure.Table {
	t := &figure.Table{Columns: []string{"Gbit/s, by members"}}
	for _, n := range b.members {
		t.Columns = append(t.Columns, fmt.Sprint(n))
	}
	for i, l := range b.lines {
		row := []string{l.name}
		for _, rate := range b.rates[i] {
			row = append(row, fmt.Sprintf("%.1f", rate/1e9))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// against are the rates of one line over those of another, group by group.
func (b *bandwidths) against(line, other int) (ratios []float64) {
	for j := range b.members {
		ratios = append(ratios, b.rates[line][j]/b.rates[other][j])
	}
	return ratios
}

// stream is messages of one size, one after the other: as many that a rate can be told.
type stream struct {
	name     string
	size     uint64
	block    int
	messages int
}

// streams are the messages of figures 10 and 11.
var streams = []stream{{"100 MB", 100e6, mib, 1}, {"1 MB", 1e6, 128 * kib, 6}, {"10 KB", 10e3, 10e3, 30}}

// in has a crowd send the messages.
func (s stream) in(c crowd) crowd {
	c.size, c.block, c.messages = s.size, s.block, s.messages
	return c
}

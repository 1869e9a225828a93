package sweep

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/internal/units"
)

// Figure shows rows: over the axis of which there are several values, or side by side if there is none.
func (p *Plan) Figure(rows []*Row) *figure.Figure {
	f := &figure.Figure{Name: "sim-multicast", Title: "A simulated multicast: " + p.what(), Source: "simulated", Text: strings.Join(p.About(), " "), Table: p.table(rows)}
	if x, ok := p.axis(); ok {
		f.Charts = []plot.Chart{p.chart(rows, x)}
	} else {
		f.Bars = []plot.Bars{p.bars(rows)}
	}
	return f
}

// what is sent to whom, as far as it is the same in all rows.
func (p *Plan) what() string {
	links := "links of " + units.Rate(p.Rate).String()
	switch {
	case len(p.Sizes) == 1 && len(p.Nodes) == 1:
		return fmt.Sprintf("%v to %d nodes, %s", units.Size(p.Sizes[0]), p.Nodes[0], links)
	case len(p.Sizes) == 1:
		return fmt.Sprintf("%v, %s", units.Size(p.Sizes[0]), links)
	case len(p.Nodes) == 1:
		return fmt.Sprintf("%d nodes, %s", p.Nodes[0], links)
	}
	return links
}

func (p *Plan) table(rows []*Row) *figure.Table {
	t := &figure.Table{}
	columns := p.Columns()
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Head)
	}
	for _, r := range rows {
		var cells []string
		for _, c := range columns {
			cells = append(cells, c.Cell(r))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// swept is an axis along which a plan has several values.
type swept struct {
	axis   plot.Axis
	of     func(*Row) float64
	values int
}

// axis is that of the most values, if any has several.
func (p *Plan) axis() (x swept, ok bool) {
	for _, s := range []swept{
		{plot.Axis{Label: "nodes", Log: true}, func(r *Row) float64 { return float64(r.Nodes) }, len(p.Nodes)},
		{plot.Axis{Label: "message", Log: true, Unit: "bytes"}, func(r *Row) float64 { return float64(r.Size) }, len(p.Sizes)},
		{plot.Axis{Label: "block", Log: true, Unit: "bytes"}, func(r *Row) float64 { return float64(r.Block) }, len(p.Blocks)},
	} {
		if s.values > max(1, x.values) {
			x = s
		}
	}
	return x, x.values > 1
}

// chart has a line for each algorithm and whatever else differs, and the bound.
func (p *Plan) chart(rows []*Row, x swept) plot.Chart {
	c := plot.Chart{Title: p.what(), X: x.axis, Y: plot.Axis{Label: "time", Log: true, Unit: "s"}}
	add := func(name string, dashed bool, r *Row, seconds float64) {
		point := plot.Point{X: x.of(r), Y: seconds}
		for i := range c.Series {
			if s := &c.Series[i]; s.Name == name {
				if s.Points[len(s.Points)-1].X != point.X {
					s.Points = append(s.Points, point)
				}
				return
			}
		}
		c.Series = append(c.Series, plot.Series{Name: name, Dashed: dashed, Points: []plot.Point{point}})
	}
	for _, r := range rows {
		add(p.line(r, x), false, r, r.Seconds)
	}
	for _, r := range rows {
		add("one copy"+p.rest(r, x), true, r, r.Copy)
	}
	return c
}

// line is the name of the line that a row belongs to.
func (p *Plan) line(r *Row, x swept) string {
	if r.Auto {
		return "auto" + p.rest(r, x)
	}
	text := r.Algorithm.String() + p.rest(r, x)
	if len(p.Blocks) > 1 && x.axis.Label != "block" {
		text += fmt.Sprintf(", blocks of %v", units.Size(r.Block))
	}
	return text
}

// rest is what differs beside the axis and the algorithm.
func (p *Plan) rest(r *Row, x swept) (text string) {
	if len(p.Nodes) > 1 && x.axis.Label != "nodes" {
		text += fmt.Sprintf(", %d nodes", r.Nodes)
	}
	if len(p.Sizes) > 1 && x.axis.Label != "message" {
		text += fmt.Sprintf(", %v", units.Size(r.Size))
	}
	return text
}

// bars has one for each row. The bound is that of the best.
func (p *Plan) bars(rows []*Row) plot.Bars {
	b := plot.Bars{Title: p.what(), Y: plot.Axis{Label: "time", Unit: "s"}}
	series := plot.BarSeries{Name: "time"}
	for _, r := range rows {
		b.Groups = append(b.Groups, r.name())
		series.Values = append(series.Values, r.Seconds)
	}
	for _, r := range Best(rows) {
		b.Bound = r.Bound
	}
	b.Series = []plot.BarSeries{series}
	return b
}

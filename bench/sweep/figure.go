package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/internal/units"
)

// Figure shows rows: over the axis of which there are several values, or side by side if there is none.
func (p *Plan) Figure(rows []*Row) *figure.Figure {
	f := &figure.Figure{Name: "sim-multicast", Title: "A simulated multicast: " + p.what(), Source: "simulated", Text: p.text(rows), Table: p.table(rows)}
	if x, ok := p.axis(); ok {
		f.Charts = []plot.Chart{p.chart(rows, x)}
	} else {
		f.Bars = []plot.Bars{p.bars(rows)}
	}
	return f
}

// text says what was simulated, and explains what the table needs.
func (p *Plan) text(rows []*Row) string {
	lines := p.About()
	if slices.ContainsFunc(rows, func(r *Row) bool { return r.Pace > 0 }) {
		lines = append(lines, PaceNote+".")
	}
	return strings.Join(lines, " ")
}

// note stands below the title of a drawing.
func (p *Plan) note() string { return printable.Clean(strings.Join(p.special(), " "), plot.MaxText) }

// Drawable says early that what comes of the cases could not be drawn: there are too many.
func (p *Plan) Drawable(cases []Case) error {
	var rows []*Row
	for _, c := range cases {
		rows = append(rows, &Row{Nodes: c.Nodes, Size: c.Size, Algorithm: cast.Algorithm{Algorithm: c.Algorithm}, Auto: c.Auto, Block: c.Block, Seconds: 1, Bound: 1, Copy: 1})
	}
	return p.Figure(rows).Validate()
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

// chart has a line for each algorithm and whatever else differs, and for one copy.
func (p *Plan) chart(rows []*Row, x swept) plot.Chart {
	var lines lines
	for _, r := range rows {
		lines.add(p.line(r, x), false, plot.Point{X: x.of(r), Y: r.Seconds})
	}
	for _, r := range rows {
		lines.add("one copy"+p.rest(r, x), true, plot.Point{X: x.of(r), Y: r.Copy})
	}
	return plot.Chart{Title: printable.Capital(p.what()), Note: p.note(), X: x.axis, Y: plot.Axis{Label: "time", Log: true, Unit: "s"}, Series: lines}
}

// lines are series that grow point by point, each from the left to the right.
type lines []plot.Series

func (l *lines) add(name string, dashed bool, point plot.Point) {
	i := slices.IndexFunc(*l, func(s plot.Series) bool { return s.Name == name })
	if i < 0 {
		i = len(*l)
		*l = append(*l, plot.Series{Name: name, Dashed: dashed})
	}
	s := &(*l)[i]
	at, found := slices.BinarySearchFunc(s.Points, point.X, func(p plot.Point, x float64) int { return cmp.Compare(p.X, x) })
	if !found {
		s.Points = slices.Insert(s.Points, at, point)
	}
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
	b := plot.Bars{Title: p.what(), Note: p.note(), Y: plot.Axis{Label: "time", Unit: "s"}}
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

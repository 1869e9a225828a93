package plot

import (
	"cmp"
	"io"
	"slices"

	"github.com/weft-fabric/weft/internal/printable"
)

// Point is one measurement.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Series is one line of a chart.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`           // in the order in which the line joins them
	Dashed bool    `json:"dashed,omitempty"` // for what is computed, beside what is measured
}

// Axis is one direction of a chart. Linear axes begin at 0 if nothing is negative.
type Axis struct {
	Label string `json:"label"`
	Log   bool   `json:"log,omitempty"`
	// Unit is "bytes", "bytes/s", "bits/s", "s" or "ratio", of which values are printed in a size that suits them: 1 MiB, 40
	// Gbit/s, 3 ms, 1.5 ×. Any other word is printed as it is.
	Unit string `json:"unit,omitempty"`
}

// Chart is lines with points over two axes.
type Chart struct {
	Title  string   `json:"title"`
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"`
}

// WriteSVG draws the chart.
func (c *Chart) WriteSVG(w io.Writer) error { return writeSVG(w, c) }

// Natural size of a chart, in pixels.
const (
	chartWidth  = 720
	chartHeight = 320 // of the area between the axes
	lineHeight  = 18
)

// maxMarked is up to how many points of a line have a marker.
const maxMarked = 60

func (c *Chart) draw() (*canvas, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	out := &canvas{width: chartWidth}
	x, y := newAxis(c.X, c.values(func(p Point) float64 { return p.X })), newAxis(c.Y, c.values(func(p Point) float64 { return p.Y }))
	top := out.heading(c.Title) + 34
	y.from, y.to = top+chartHeight, top
	x.from, x.to = edge+y.widest()+8, chartWidth-edge-c.legendWidth()
	x.standAt(c.values(func(p Point) float64 { return p.X }))
	out.height = y.from + 56
	out.drawAxes(x, y)
	for _, dashed := range []bool{true, false} { // what is measured lies on top
		for i := range c.Series {
			if c.Series[i].Dashed == dashed {
				out.drawSeries(i, &c.Series[i], x, y)
			}
		}
	}
	c.drawLegend(out, x, y)
	return out, nil
}

// values are one coordinate of all points.
func (c *Chart) values(of func(Point) float64) (all []float64) {
	for _, s := range c.Series {
		for _, p := range s.Points {
			all = append(all, of(p))
		}
	}
	return all
}

// drawAxes draws both axes with a light grid. The label of y stands above it, so that nobody has to turn the head.
func (c *canvas) drawAxes(x, y *axis) {
	for _, v := range y.ticks {
		c.line("grid", x.from, y.at(v), x.to, y.at(v))
		c.text("muted right", x.from-8, y.at(v)+4.5, y.tick(v))
	}
	for _, v := range x.ticks {
		c.line("axis", x.at(v), y.from, x.at(v), y.from+5)
		c.text("muted mid", x.at(v), y.from+20, x.tick(v))
	}
	c.line("axis", x.from, y.from, x.to, y.from)
	c.text("", edge, y.to-14, y.name())
	c.text("mid", (x.from+x.to)/2, y.from+42, x.name())
	c.body.WriteByte('\n')
}

func (c *canvas) drawSeries(i int, s *Series, x, y *axis) {
	c.open("series " + colour(i))
	c.hover(s.Name)
	var line []Point
	for _, p := range s.Points {
		line = append(line, Point{x.at(p.X), y.at(p.Y)})
	}
	c.polyline(curve(s), line)
	if len(line) <= maxMarked {
		for j, p := range s.Points {
			c.open("point")
			c.hover(s.Name, x.Label+": "+x.full(p.X), y.Label+": "+y.full(p.Y))
			c.mark(i, line[j].X, line[j].Y)
			c.end()
		}
	}
	c.end()
}

func curve(s *Series) string {
	if s.Dashed {
		return "curve dash"
	}
	return "curve"
}

// legendWidth is what the names need at the right.
func (c *Chart) legendWidth() float64 {
	width := 0.0
	for _, s := range c.Series {
		for _, line := range printable.Wrap(s.Name, legendColumns) {
			width = max(width, textWidth(line))
		}
	}
	return width + 48
}

// legendColumns is where a name is broken.
const legendColumns = 22

// label is a name at the end of its line.
type label struct {
	series int
	lines  []string
	end    float64 // the pixel where the line ends
	y      float64 // where the name stands
}

// drawLegend writes each name where its line ends, or as near to that as there is room.
func (c *Chart) drawLegend(out *canvas, x, y *axis) {
	var labels []*label
	for i, s := range c.Series {
		end := y.at(s.Points[len(s.Points)-1].Y)
		labels = append(labels, &label{series: i, lines: printable.Wrap(s.Name, legendColumns), end: end, y: end})
	}
	bottom := spread(labels, y.to)
	out.height = max(out.height, bottom+edge)
	for _, l := range labels {
		s := &c.Series[l.series]
		out.open(colour(l.series))
		if last := s.Points[len(s.Points)-1]; x.to-x.at(last.X) < 40 {
			out.line("leader", x.at(last.X)+8, l.end, x.to+12, l.y)
		}
		out.line(curve(s), x.to+14, l.y, x.to+34, l.y)
		out.mark(l.series, x.to+24, l.y)
		for j, line := range l.lines {
			out.text("", x.to+40, l.y+4.5+float64(j)*lineHeight, line)
		}
		out.end()
	}
}

// spread moves labels apart, from top on, and returns where the last one ends. They are pushed down, and then up again as far as that
// brings them closer to their lines.
func spread(labels []*label, top float64) (bottom float64) {
	slices.SortStableFunc(labels, func(a, b *label) int { return cmp.Compare(a.end, b.end) })
	height := func(l *label) float64 { return float64(max(len(l.lines), 1)) * lineHeight }
	free := top - lineHeight
	for _, l := range labels {
		l.y = max(l.end, free+lineHeight)
		free = l.y + height(l) - lineHeight
	}
	limit := top + chartHeight
	for _, l := range slices.Backward(labels) {
		l.y = max(min(l.y, limit-height(l)+lineHeight), top)
		limit = l.y - lineHeight
	}
	for i, l := range labels { // so many that they do not fit: they go on below
		if i > 0 {
			l.y = max(l.y, labels[i-1].y+height(labels[i-1]))
		}
		bottom = l.y + height(l)
	}
	return bottom
}

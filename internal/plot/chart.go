package plot

import "io"

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
	Hue    int     `json:"hue,omitempty"`    // 1 to 8: the colour that its name has in every chart; 0: one that is free
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
	Note   string   `json:"note,omitempty"` // below the title, paler: what else one has to know
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"`
}

// WriteSVG draws the chart.
func (c *Chart) WriteSVG(w io.Writer) error { return writeSVG(w, c) }

// Natural size of a chart, in pixels.
const (
	chartWidth  = 660
	chartLeast  = 340 // on a phone
	chartHeight = 320 // of the area between the axes
	lineHeight  = 18
)

func (c *Chart) draw() (*canvas, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	out := &canvas{width: chartWidth, narrowest: chartLeast}
	xs, ys := c.values(func(p Point) float64 { return p.X }), c.values(func(p Point) float64 { return p.Y })
	x, y := newAxis(c.X, xs), newAxis(c.Y, ys)
	x.cutOff(xs)
	top := out.heading(c.Title, c.Note) + 34
	y.from, y.to = top+chartHeight, top
	x.from, x.to = edge+y.widest()+8, chartWidth-edge-c.legendWidth()
	x.standAt(xs)
	out.height = y.from + 56
	out.drawAxes(x, y)
	hues := c.hues()
	for _, dashed := range []bool{true, false} { // what is measured lies on top
		for i := range c.Series {
			if c.Series[i].Dashed == dashed {
				out.drawSeries(hues[i], &c.Series[i], x, y)
			}
		}
	}
	c.drawLegend(out, hues, x, y)
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

func (c *canvas) drawSeries(hue int, s *Series, x, y *axis) {
	c.open("series " + colour(hue))
	c.hover(s.Name)
	var line []Point
	for _, p := range s.Points {
		line = append(line, Point{x.at(p.X), y.at(p.Y)})
	}
	c.polyline(curve(s), line)
	for j := 0; j < len(line); j += everyMarked(len(line)) {
		c.open("point")
		c.hover(s.Name, x.Label+": "+x.full(s.Points[j].X), y.Label+": "+y.full(s.Points[j].Y))
		c.mark(hue, line[j].X, line[j].Y)
		c.end()
	}
	c.end()
}

// everyMarked is which points of a line have a marker: of many only a few, so that the line is still seen.
func everyMarked(points int) int {
	const most, few = 60, 12
	if points <= most {
		return 1
	}
	return (points + few - 1) / few
}

func curve(s *Series) string {
	if s.Dashed {
		return "curve dash"
	}
	return "curve"
}

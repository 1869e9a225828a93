package plot

import (
	"cmp"
	"slices"

	"github.com/weft-fabric/weft/internal/printable"
)

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
func (c *Chart) drawLegend(out *canvas, hues []int, x, y *axis) {
	var labels []*label
	for i, s := range c.Series {
		end := y.at(s.Points[len(s.Points)-1].Y)
		labels = append(labels, &label{series: i, lines: printable.Wrap(s.Name, legendColumns), end: end, y: end})
	}
	bottom := spread(labels, y.to)
	out.height = max(out.height, bottom+edge)
	for _, l := range labels {
		s := &c.Series[l.series]
		out.open(colour(hues[l.series]))
		if last := s.Points[len(s.Points)-1]; x.to-x.at(last.X) < 40 {
			out.line("leader", x.at(last.X)+8, l.end, x.to+12, l.y)
		}
		out.line(curve(s), x.to+14, l.y, x.to+34, l.y)
		out.mark(hues[l.series], x.to+24, l.y)
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

package plot

import (
	"fmt"
	"strings"
)

// colours are how many there are before they begin again.
const colours = 8

// palette has a colour for bright and one for dark paper. The hues are Okabe and Ito's, which people with any kind of colour
// blindness can tell apart, with the lightness that each paper needs.
var palette = [colours]struct{ bright, dark string }{
	{"#0072b2", "#4a9fe3"}, // blue
	{"#d55e00", "#ff8540"}, // vermilion
	{"#009e73", "#22c79b"}, // green
	{"#b1508c", "#e79cc9"}, // purple
	{"#c98a00", "#f2bb3f"}, // amber
	{"#53aee0", "#a3dbf7"}, // sky
	{"#55585d", "#c3c8cf"}, // grey
	{"#8b5a3c", "#c89d83"}, // brown
}

// paper is what a drawing needs beside the palette.
type paper struct{ back, ink, muted, axis, grid, band, bound string }

var (
	bright = paper{"#ffffff", "#1c2127", "#59626d", "#a9b1bb", "#e6e9ed", "#f6f7f9", "#b3261e"}
	dark   = paper{"#14181e", "#e7e9ec", "#9ba5b1", "#5b6570", "#2b323b", "#1b2028", "#ff8a80"}
)

// style is the same in every drawing, so that many can stand in one page. On paper that comes out of a printer it is bright.
var style = layout + bright.css(func(i int) string { return palette[i].bright }) +
	"@media screen and (prefers-color-scheme:dark){\n" + dark.css(func(i int) string { return palette[i].dark }) + "}\n"

// layout is what does not depend on the paper. A colour class sets the colour, and shapes take it up.
const layout = `.weft-plot text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}
.weft-plot .title{font-size:16px;font-weight:600}
.weft-plot .strong{font-weight:600}
.weft-plot .mid{text-anchor:middle}
.weft-plot .right{text-anchor:end}
.weft-plot .small{font-size:11px}
.weft-plot .halo{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}
.weft-plot .grid,.weft-plot .axis{stroke-width:1;fill:none;shape-rendering:crispEdges}
.weft-plot .bound{stroke-width:1.5;stroke-dasharray:5 4;fill:none}
.weft-plot .curve,.weft-plot .arrow,.weft-plot .leader{stroke:currentColor;fill:none;stroke-linejoin:round;stroke-linecap:round}
.weft-plot .curve{stroke-width:2.25}
.weft-plot .arrow{stroke-width:1.75}
.weft-plot .leader{stroke-width:1;opacity:.6}
.weft-plot .dash{stroke-dasharray:6 5;stroke-linecap:butt}
.weft-plot .mark{fill:currentColor;stroke-width:1.5;stroke-linejoin:round}
.weft-plot .solid,.weft-plot .head{fill:currentColor}
.weft-plot .ring{fill:none;stroke-width:1.5}
.weft-plot .touch{fill:transparent}
.weft-plot .series:hover .curve{stroke-width:4}
.weft-plot .send:hover .arrow{stroke-width:3.5}
.weft-plot .point:hover .mark{stroke:currentColor;stroke-width:4}
`

// css is what depends on the paper.
func (p paper) css(colour func(int) string) string {
	var out strings.Builder
	for _, rule := range [][2]string{
		{"text", "fill:" + p.ink}, {".muted", "fill:" + p.muted}, {".paper", "fill:" + p.back}, {".band", "fill:" + p.band},
		{".grid", "stroke:" + p.grid}, {".axis", "stroke:" + p.axis}, {".bound", "stroke:" + p.bound}, {".limit", "fill:" + p.bound},
		{".mark", "stroke:" + p.back}, {".halo", "stroke:" + p.back}, {".on", "fill:" + p.back}, {".hole", "fill:none;stroke:" + p.axis}, {".ring", "stroke:" + p.ink},
	} {
		fmt.Fprintf(&out, ".weft-plot %s{%s}\n", rule[0], rule[1])
	}
	for i := range palette {
		fmt.Fprintf(&out, ".weft-plot .c%d{color:%s}\n", i, colour(i))
	}
	return out.String()
}

// hues are the colours of a chart's series, counted from 0: first those that were asked for, each once, then the others in
// their order.
func (c *Chart) hues() []int {
	all, taken := make([]int, len(c.Series)), map[int]bool{}
	for i, s := range c.Series {
		if all[i] = s.Hue - 1; s.Hue == 0 || taken[all[i]] {
			all[i] = -1
		}
		taken[all[i]] = true
	}
	next := 0
	for i := range all {
		for all[i] < 0 && taken[next] {
			next++
		}
		if all[i] < 0 {
			all[i], taken[next] = next, true
		}
	}
	return all
}

// colour is the class of the i-th line, bar or block.
func colour(i int) string { return fmt.Sprintf("c%d", i%colours) }

// shapes are the markers, as paths around the origin: circle, square, triangle, diamond, triangle down, cross, plus, hexagon.
var shapes = [...]string{
	"m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
	"m-4-4h8v8h-8z",
	"m0-5.2l5 8.7h-10z",
	"m0-5.6l5.6 5.6l-5.6 5.6l-5.6-5.6z",
	"m0 5.2l5-8.7h-10z",
	"m-4.6-2.8l1.8-1.8l2.8 2.8l2.8-2.8l1.8 1.8l-2.8 2.8l2.8 2.8l-1.8 1.8l-2.8-2.8l-2.8 2.8l-1.8-1.8l2.8-2.8z",
	"m-1.4-5h2.8v3.6h3.6v2.8h-3.6v3.6h-2.8v-3.6h-3.6v-2.8h3.6z",
	"m0-5.2l4.5 2.6v5.2l-4.5 2.6l-4.5-2.6v-5.2z",
}

// mark draws the marker of the i-th series. Where colours begin again, markers are shifted by one.
func (c *canvas) mark(i int, x, y float64) {
	shape := shapes[(i+i/colours)%len(shapes)]
	fmt.Fprintf(&c.body, `<path class="mark" d="M%s %s%s"/>`, num(x), num(y), shape)
}

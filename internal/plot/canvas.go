package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/internal/printable"
)

// Drawing is what this package draws: a Chart, Bars or Steps.
type Drawing interface {
	Validate() error              // what is wrong with it, if anything
	WriteSVG(w io.Writer) error   // a complete SVG file, which can also stand within HTML; nothing if it is not valid
	draw() (c *canvas, err error) // the same, still to be written
}

// canvas collects the elements of a drawing. Coordinates are pixels at the drawing's natural size.
type canvas struct {
	body          bytes.Buffer
	title         string
	width, height float64
	narrowest     float64 // how narrow it may become on a page, which then has to scroll
}

// WriteAll draws several drawings below each other, as one SVG file.
func WriteAll(w io.Writer, drawings ...Drawing) error {
	if len(drawings) == 1 {
		return drawings[0].WriteSVG(w)
	}
	all := &canvas{}
	for _, d := range drawings {
		c, err := d.draw()
		if err != nil {
			return err
		}
		fmt.Fprintf(&all.body, `<svg y="%s" width="%s" height="%s">`+"\n", num(all.height), num(c.width), num(c.height))
		all.body.Write(c.body.Bytes())
		all.body.WriteString("</svg>\n")
		all.width, all.height = max(all.width, c.width), all.height+c.height
		all.narrowest = max(all.narrowest, c.narrowest)
		all.title = strings.TrimPrefix(all.title+"; "+c.title, "; ")
	}
	return all.write(w)
}

// writeSVG draws and writes.
func writeSVG(w io.Writer, d Drawing) error {
	c, err := d.draw()
	if err != nil {
		return err
	}
	return c.write(w)
}

// write puts the elements into an SVG file. It has no XML declaration, so that it can stand within HTML, too. Width and height are its
// natural size, and a page may say otherwise: the viewBox makes everything scale.
func (c *canvas) write(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" class="weft-plot" viewBox="0 0 %s %s" width="%s" height="%s" style="min-width:%spx" role="img" aria-label="%s">`,
		num(c.width), num(c.height), num(c.width), num(c.height), num(c.narrowest), escape(c.title))
	fmt.Fprintf(&out, "\n<style>\n%s</style>\n"+`<rect class="paper" width="100%%" height="100%%"/>`+"\n", style)
	out.Write(c.body.Bytes())
	out.WriteString("</svg>\n")
	_, err := w.Write(out.Bytes())
	return err
}

// open begins a group; every open has its end.
func (c *canvas) open(class string) { fmt.Fprintf(&c.body, `<g class="%s">`, class) }

func (c *canvas) end() { c.body.WriteString("</g>\n") }

// hover is what is shown while the pointer is over the group that was begun last.
func (c *canvas) hover(lines ...string) {
	fmt.Fprintf(&c.body, "<title>%s</title>", escape(strings.Join(lines, "\n")))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&c.body, `<path class="%s" d="M%s %sL%s %s"/>`, class, num(x1), num(y1), num(x2), num(y2))
}

// polyline joins points by straight lines.
func (c *canvas) polyline(class string, points []Point) {
	fmt.Fprintf(&c.body, `<path class="%s" d="`, class)
	for i, p := range points {
		fmt.Fprintf(&c.body, "%c%s %s", "ML"[min(i, 1)], num(p.X), num(p.Y))
	}
	c.body.WriteString(`"/>`)
}

func (c *canvas) rect(class string, x, y, width, height, radius float64) {
	fmt.Fprintf(&c.body, `<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="%s"/>`, class, num(x), num(y), num(width), num(height), num(radius))
}

// text writes words; the class says by which end they stand at x.
func (c *canvas) text(class string, x, y float64, words string) {
	fmt.Fprintf(&c.body, `<text class="%s" x="%s" y="%s">%s</text>`, class, num(x), num(y), escape(words))
}

// valued writes a value and, paler, what it is the value of; on top of a line it stays readable.
func (c *canvas) valued(x, y float64, value, name string) {
	fmt.Fprintf(&c.body, `<text class="halo" x="%s" y="%s">%s<tspan class="muted" dx="8">%s</tspan></text>`, num(x), num(y), escape(value), escape(name))
}

// heading writes the title and the note in as many lines as they take, and returns where what follows may begin.
func (c *canvas) heading(title, note string) (y float64) {
	c.title, y = title, 8
	for _, line := range printable.Wrap(title, int((c.width-2*edge)/9)) {
		y += 20
		c.text("title", edge, y, line)
	}
	for _, line := range printable.Wrap(note, int((c.width-2*edge)/7)) {
		y += lineHeight
		c.text("muted", edge, y, line)
	}
	return y
}

// edge is how far everything stays away from the border.
const edge = 16

// num prints a coordinate.
func num(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64) }

// escape makes text fit for XML: what XML cannot have becomes a replacement character.
func escape(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // memory takes everything
	return out.String()
}

// textWidth is about how wide words are at 13 pixels: fonts differ, so it is rather too much.
func textWidth(words string) float64 { return 7.4 * float64(len([]rune(words))) }

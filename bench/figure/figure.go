package figure

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Claim is one thing that a figure must show.
type Claim struct {
	Text     string `json:"text"`     // "127, 255 and 511 copies cost nearly the same"
	Measured string `json:"measured"` // "56.5, 56.9, 57.3 ms: 1.01 ×"
	Spread   string `json:"-"`        // of a row of a contest: "between 0.9 and 1.1"
	Holds    bool   `json:"holds"`
	Why      string `json:"why,omitempty"` // it does not hold, as far as that is known; shown only then
}

// Found is what was measured, with its spread.
func (c Claim) Found() string {
	if c.Spread == "" {
		return c.Measured
	}
	return c.Measured + ", " + c.Spread
}

// Reason is why the claim does not hold; empty if it does.
func (c Claim) Reason() string {
	if c.Holds {
		return ""
	}
	return cmp.Or(c.Why, "not known")
}

// Table is what was measured, as it is printed. Every row has as many cells as there are columns.
type Table struct {
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Figure is what one experiment shows.
type Figure struct {
	Name   string       `json:"name"`             // fig4a: small letters, digits and hyphens
	Title  string       `json:"title"`            // one line
	Source string       `json:"source,omitempty"` // "RDMC, section 5.2, figure 4a", or "measured on this machine"
	Text   string       `json:"text,omitempty"`   // what was done, in a sentence or two: nodes, rate, sizes
	Notes  []string     `json:"notes,omitempty"`  // what was found out on the way, a line each
	Charts []plot.Chart `json:"charts,omitempty"`
	Bars   []plot.Bars  `json:"bars,omitempty"`
	Steps  []plot.Steps `json:"steps,omitempty"`
	Table  *Table       `json:"table,omitempty"`
	Claims []Claim      `json:"claims,omitempty"`
}

// Holds reports whether all claims hold.
func (f *Figure) Holds() bool {
	return !slices.ContainsFunc(f.Claims, func(c Claim) bool { return !c.Holds })
}

// titled is a drawing with the line that stands above it.
type titled struct {
	plot.Drawing
	title string
}

// drawings are all that the figure has to draw.
func (f *Figure) drawings() (all []titled) {
	for _, c := range f.Charts {
		c.Series = hued(c.Series)
		all = append(all, titled{&c, c.Title})
	}
	for i := range f.Bars {
		all = append(all, titled{&f.Bars[i], f.Bars[i].Title})
	}
	for i := range f.Steps {
		all = append(all, titled{&f.Steps[i], f.Steps[i].Title})
	}
	return all
}

// hued gives the lines that are named after an algorithm the colour that it has in all figures.
func hued(series []plot.Series) []plot.Series {
	series = slices.Clone(series)
	for i := range series {
		if a, err := schedule.ParseAlgorithm(series[i].Name); err == nil {
			series[i].Hue = int(a) + 1
		}
	}
	return series
}

// numeric reports whether a column of the table has numbers, each with a unit at most. They stand at the right.
func (t *Table) numeric(column int) bool {
	return len(t.Rows) > 0 && !slices.ContainsFunc(t.Rows, func(row []string) bool {
		cell := row[column]
		return cell != "" && cell != "–" && (!strings.ContainsRune("0123456789+-", rune(cell[0])) || len(strings.Fields(cell)) > 2)
	})
}

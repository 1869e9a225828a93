package sweep

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weft-fabric/weft/internal/units"
)

// Column is a column of the table of rows.
type Column struct {
	Head  string
	Width int // characters that the head and nearly every cell have room in
	Cell  func(*Row) string
	Left  bool // words, not numbers
}

// tableWidth is what a table may have, with a space between columns.
const tableWidth = 80

// Columns are those that the rows of a plan need: what is the same in all is not among them. If there are too many for a
// terminal the rate is left out, which the time tells.
func (p *Plan) Columns() []Column {
	all := append(p.settings(), p.results()...)
	if width(all) > tableWidth {
		all = slices.DeleteFunc(all, func(c Column) bool { return c.Head == "Gbit/s" })
	}
	return all
}

// settings are what was simulated.
func (p *Plan) settings() (all []Column) {
	if len(p.Nodes) > 1 {
		all = append(all, Column{Head: "nodes", Width: 5, Cell: func(r *Row) string { return strconv.Itoa(r.Nodes) }})
	}
	if len(p.Sizes) > 1 {
		all = append(all, Column{Head: "size", Width: 7, Cell: func(r *Row) string { return units.Size(r.Size).String() }})
	}
	return append(all,
		Column{Head: "algorithm", Width: p.nameWidth(), Cell: (*Row).name, Left: true},
		Column{Head: "block", Width: 8, Cell: func(r *Row) string { return units.Size(r.Block).String() }},
		Column{Head: "s/c", Width: 4, Cell: (*Row).window})
}

// PaceMark stands behind the stripes and credits of rows whose blocks are paced.
const PaceMark = "~"

// window is the stripes and credits of a row, and whether it has a pace.
func (r *Row) window() string {
	text := fmt.Sprintf("%d/%d", r.Stripes, r.Credits)
	if r.Pace > 0 {
		text += PaceMark
	}
	return text
}

// results are what came of it.
func (p *Plan) results() []Column {
	all := []Column{
		{Head: "time", Width: 7, Cell: func(r *Row) string { return units.Seconds(r.Seconds) }},
		{Head: "× bound", Width: 7, Cell: func(r *Row) string { return times(r.OverBound()) }},
		{Head: "× copy", Width: 6, Cell: func(r *Row) string { return times(r.OverCopy()) }},
		{Head: "Gbit/s", Width: 6, Cell: func(r *Row) string { return units.Digits(r.Rate / 1e9) }},
		{Head: "skew", Width: 7, Cell: func(r *Row) string { return units.Seconds(r.Skew) }},
	}
	if len(p.Fabric.Racks) > 1 {
		all = append(all, Column{Head: "crossed", Width: 7, Cell: func(r *Row) string { return strconv.Itoa(r.CrossRack) }})
	}
	return all
}

func width(columns []Column) (sum int) {
	for _, c := range columns {
		sum += c.Width + 1
	}
	return sum - 1
}

// name is the algorithm's, and who has chosen it.
func (r *Row) name() string {
	if r.Auto {
		return "auto " + r.Algorithm.String()
	}
	return r.Algorithm.String()
}

// nameWidth is that of the longest name there can be.
func (p *Plan) nameWidth() int {
	longest := len("algorithm")
	for _, a := range p.Algorithms {
		longest = max(longest, len(a.String()))
	}
	for _, a := range All(p.Fabric.Racks) {
		if p.Auto {
			longest = max(longest, len("auto "+a.String()))
		}
	}
	return longest
}

// times prints a ratio, with more digits where the difference to 1 matters.
func times(ratio float64) string {
	if ratio < 10 {
		return strconv.FormatFloat(ratio, 'f', 3, 64)
	}
	return units.Digits(ratio)
}

package figure

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/weft-fabric/weft/internal/plot"
)

// Claim is one thing that a figure must show.
type Claim struct {
	Text     string `json:"text"`     // "127, 255 and 511 copies cost nearly the same"
	Measured string `json:"measured"` // "56.5, 56.9, 57.3 ms: 1.01 ×"
	Holds    bool   `json:"holds"`
}

// Table is what was measured, as it is printed. Every row has as many cells as there are columns.
type Table struct {
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Figure is what one experiment shows.
type Figure struct {
	Name   string       `json:"name"`             // fig4a: letters, digits and hyphens
	Title  string       `json:"title"`            // one line
	Source string       `json:"source,omitempty"` // "RDMC, section 5.2, figure 4a", or "measured on this machine"
	Text   string       `json:"text,omitempty"`   // what was done, in a sentence or two: nodes, rate, sizes
	Charts []plot.Chart `json:"charts,omitempty"`
	Bars   []plot.Bars  `json:"bars,omitempty"`
	Table  *Table       `json:"table,omitempty"`
	Claims []Claim      `json:"claims,omitempty"`
}

// Holds reports whether all claims hold.
func (f *Figure) Holds() bool {
	for _, c := range f.Claims {
		if !c.Holds {
			return false
		}
	}
	return true
}

// Print prints the figure for a terminal: its title, its table, and each claim with its verdict.
func (f *Figure) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s\n", f.Name, f.Title)
	if f.Table != nil {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, row := range append([][]string{f.Table.Columns}, f.Table.Rows...) {
			fmt.Fprintln(table, strings.Join(row, "\t")+"\t")
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	for _, c := range f.Claims {
		if _, err := fmt.Fprintf(w, "%v %s: %s\n", c.Holds, c.Text, c.Measured); err != nil {
			return err
		}
	}
	return nil
}

package figure

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/weft-fabric/weft/internal/printable"
)

// columns of a terminal that text is wrapped to.
const columns = 80

// Print prints the figure for a terminal: its title, its table, and each claim with its verdict.
func (f *Figure) Print(w io.Writer) error {
	if err := f.Validate(); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	wrapped(out, "", f.Name+": "+f.Title)
	wrapped(out, "", f.Source)
	if f.Text != "" {
		wrapped(out, "  ", f.Text)
	}
	for _, note := range f.Notes {
		wrapped(out, "  - ", note)
	}
	if f.Table != nil {
		fmt.Fprintln(out)
		f.Table.print(out)
	}
	if len(f.Claims) > 0 {
		fmt.Fprintln(out)
	}
	for _, c := range f.Claims {
		wrapped(out, mark(c.Holds)+" ", verdict(c.Holds)+c.Text)
		wrapped(out, "  ", c.Measured)
		if reason := c.Reason(); reason != "" {
			wrapped(out, "  ", "why: "+reason)
		}
	}
	return out.Flush()
}

// PrintAll prints lines about the figures, and one figure below the other.
func PrintAll(w io.Writer, about []string, figures []*Figure) error {
	out := bufio.NewWriter(w)
	for _, line := range about {
		wrapped(out, "", line)
	}
	for i, f := range figures {
		if i > 0 || len(about) > 0 {
			fmt.Fprintln(out)
		}
		if err := f.Print(out); err != nil {
			return err
		}
	}
	return out.Flush()
}

func mark(holds bool) string {
	if holds {
		return "✓"
	}
	return "✗"
}

// verdict is what stands in front of a claim that does not hold, for those who do not see the mark.
func verdict(holds bool) string {
	if holds {
		return ""
	}
	return "DOES NOT HOLD: "
}

// wrapped prints text in lines, the first behind a prefix and the others below it.
func wrapped(out *bufio.Writer, prefix, text string) {
	indent := utf8.RuneCountInString(prefix)
	for _, line := range printable.Wrap(text, columns-indent) {
		fmt.Fprintf(out, "%s%s\n", prefix, line)
		prefix = strings.Repeat(" ", indent)
	}
}

// Print prints the table for a terminal.
func (t *Table) Print(w io.Writer) error {
	if err := t.validate(); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	t.print(out)
	return out.Flush()
}

// print prints the table: numbers at the right of their column, words at the left.
func (t *Table) print(out *bufio.Writer) {
	widths := make([]int, len(t.Columns))
	all := append([][]string{t.Columns}, t.Rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range all {
		line := ""
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.numeric(i) {
				line += "  " + space + cell
			} else {
				line += "  " + cell + space
			}
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
}

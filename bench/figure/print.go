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
		wrapped(out, "  ", c.Found())
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
	all := append(t.heads(), t.Rows...)
	widths := widthsOf(all)
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

// heads are the names of the columns, in as many lines as it takes for the table to fit a terminal, or to be as narrow as it
// can be.
func (t *Table) heads() [][]string {
	lines := [][]string{t.Columns}
	for limit := columns; limit > 0 && !t.fits(lines); limit-- {
		lines = t.wrappedHeads(limit)
	}
	return lines
}

// fits reports whether a terminal is wide enough for the table below such heads.
func (t *Table) fits(heads [][]string) bool {
	total := 0
	for _, width := range widthsOf(append(heads, t.Rows...)) {
		total += 2 + width
	}
	return total <= columns
}

// wrappedHeads are the names in lines of at most so many runes, or of their longest word, each at the bottom.
func (t *Table) wrappedHeads(limit int) [][]string {
	var names [][]string
	height := 1
	for _, name := range t.Columns {
		least := limit
		for _, word := range strings.Fields(name) {
			least = max(least, utf8.RuneCountInString(word))
		}
		names = append(names, printable.Wrap(name, least))
		height = max(height, len(names[len(names)-1]))
	}
	lines := make([][]string, height)
	for i := range lines {
		lines[i] = make([]string, len(names))
	}
	for column, parts := range names {
		for i, part := range parts {
			lines[height-len(parts)+i][column] = part
		}
	}
	return lines
}

// widthsOf is how wide each column is.
func widthsOf(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

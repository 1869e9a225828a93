package figure

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Markdown writes the figures as a document that shows the drawings of DrawEach, which lie in the folder images; no name: it
// shows none. What was missed stands at its head.
func Markdown(w io.Writer, title string, about []string, figures []*Figure, images string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s\n", plain(title))
	markdownMisses(out, figures)
	markdownList(out, "What was run:", about)
	anchors, files := unique{}, unique{}
	for _, f := range figures {
		if err := f.Validate(); err != nil {
			return err
		}
		fmt.Fprintf(out, "\n<a id=\"%s\"></a>\n\n## %s\n", anchors.next(f.Name), plain(f.Title))
		f.markdownTexts(out)
		if images != "" {
			f.markdownDrawings(out, images, files)
		}
		f.markdownNumbers(out)
	}
	return out.Flush()
}

// markdownMisses says how many claims hold, and lists the others with the way to their figures.
func markdownMisses(out *bufio.Writer, figures []*Figure) {
	if summary := Summary(figures); summary != "" {
		fmt.Fprintf(out, "\n**%s**\n", summary)
	}
	for i, m := range Misses(figures) {
		if i == 0 {
			fmt.Fprint(out, "\nMissed:\n\n")
		}
		fmt.Fprintf(out, "- [%s](#%s): %s – %s\n", m.Figure, m.Figure, plain(m.Text), plain(m.outcome()))
	}
}

// markdownList writes lines as a list below a title, if there are any.
func markdownList(out *bufio.Writer, title string, lines []string) {
	for i, line := range lines {
		if i == 0 {
			fmt.Fprintf(out, "\n%s\n\n", title)
		}
		fmt.Fprintf(out, "- %s\n", plain(line))
	}
}

func (f *Figure) markdownTexts(out *bufio.Writer) {
	for _, text := range []string{f.Source, f.Text} {
		if text != "" {
			fmt.Fprintf(out, "\n%s\n", plain(text))
		}
	}
	markdownList(out, "Notes:", f.Notes)
}

func (f *Figure) markdownDrawings(out *bufio.Writer, images string, files unique) {
	for _, d := range f.drawings() {
		fmt.Fprintf(out, "\n![%s](%s/%s.svg)\n", plain(d.title), images, files.next(f.Name))
	}
}

func (f *Figure) markdownNumbers(out *bufio.Writer) {
	if len(f.Claims) > 0 {
		claims := Table{Columns: []string{"claim", "measured", ""}}
		for _, c := range f.Claims {
			claims.Rows = append(claims.Rows, []string{c.Text, c.outcome(), map[bool]string{true: "✓", false: "✗"}[c.Holds]})
		}
		claims.markdown(out)
	}
	if f.Table != nil {
		fmt.Fprint(out, "\n<details><summary>the numbers</summary>\n")
		f.Table.markdown(out)
		fmt.Fprint(out, "\n</details>\n")
	}
}

func (t *Table) markdown(out *bufio.Writer) {
	fmt.Fprint(out, "\n|")
	for _, name := range t.Columns {
		fmt.Fprintf(out, " %s |", plain(name))
	}
	fmt.Fprint(out, "\n|")
	for i := range t.Columns {
		fmt.Fprint(out, map[bool]string{true: "---:|", false: "---|"}[t.numeric(i)])
	}
	for _, row := range t.Rows {
		fmt.Fprint(out, "\n|")
		for _, cell := range row {
			fmt.Fprintf(out, " %s |", plain(cell))
		}
	}
	fmt.Fprintln(out)
}

// plain is text that Markdown has nothing to do with.
func plain(text string) string { return plainText.Replace(text) }

var plainText = strings.NewReplacer("\n", " ", `\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "&", "&amp;", "[", `\[`, "#", `\#`)

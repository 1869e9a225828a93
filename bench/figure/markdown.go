package figure

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Markdown writes the figures as a document that shows the drawings of DrawEach, which lie in the folder images.
func Markdown(w io.Writer, title string, about []string, figures []*Figure, images string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s\n", plain(title))
	for _, line := range about {
		fmt.Fprintf(out, "\n%s\n", plain(line))
	}
	if summary := Summary(figures); summary != "" {
		fmt.Fprintf(out, "\n**%s**\n", summary)
	}
	names := unique{}
	for _, f := range figures {
		if err := f.Validate(); err != nil {
			return err
		}
		f.markdown(out, images, names)
	}
	return out.Flush()
}

func (f *Figure) markdown(out *bufio.Writer, images string, names unique) {
	fmt.Fprintf(out, "\n## %s\n", plain(f.Title))
	for _, text := range []string{f.Source, f.Text} {
		if text != "" {
			fmt.Fprintf(out, "\n%s\n", plain(text))
		}
	}
	for _, d := range f.drawings() {
		fmt.Fprintf(out, "\n![%s](%s/%s.svg)\n", plain(d.title), images, names.next(f.Name))
	}
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

// outcome is what was measured, with the reason behind it if the claim does not hold.
func (c Claim) outcome() string {
	if reason := c.Reason(); reason != "" {
		return c.Measured + " – " + reason
	}
	return c.Measured
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

package figure

import (
	"strings"
	"testing"

	"github.com/weft-fabric/weft/internal/plot"
)

// The document names the files that DrawEach writes, and its words stay words.
func TestMarkdown(t *testing.T) {
	chart := plot.Chart{Title: "a | chart", Series: []plot.Series{{Name: "s", Points: []plot.Point{{X: 1, Y: 1}, {X: 2, Y: 2}}}}}
	f := &Figure{Name: "fig1", Title: "one_two", Charts: []plot.Chart{chart, chart}, Claims: []Claim{{Text: "a|b", Measured: "*2*", Why: "so"}},
		Table: &Table{Columns: []string{"name", "value"}, Rows: [][]string{{"x", "3 ms"}}}}
	var out strings.Builder
	if err := Markdown(&out, "title", []string{"about"}, []*Figure{f}, "images"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# title\n\nabout\n", "**0 of 1 claims hold.**", `## one\_two`, `![a \| chart](images/fig1.svg)`,
		"(images/fig1-2.svg)", `| a\|b | \*2\* – so | ✗ |`, "|---|---:|\n| x | 3 ms |\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

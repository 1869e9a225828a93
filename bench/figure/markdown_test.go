package figure

import (
	"strings"
	"testing"

	"github.com/weft-fabric/weft/internal/plot"
)

// document is the figures as Markdown.
func document(t *testing.T, images string, figures ...*Figure) string {
	t.Helper()
	var out strings.Builder
	if err := Markdown(&out, "title", []string{"about", "more"}, figures, images); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// drawn is a figure with words that mean something in Markdown.
func drawn(claims ...Claim) *Figure {
	chart := plot.Chart{Title: "a | chart", Series: []plot.Series{{Name: "s", Points: []plot.Point{{X: 1, Y: 1}, {X: 2, Y: 2}}}}}
	return &Figure{Name: "fig1", Title: "one_two", Charts: []plot.Chart{chart, chart}, Claims: claims, Notes: []string{"first", "*second*"},
		Table: &Table{Columns: []string{"name", "value"}, Rows: [][]string{{"x", "3 ms"}}}}
}

// The document names the files that DrawEach writes, and its words stay words.
func TestMarkdown(t *testing.T) {
	f := drawn(Claim{Text: "a|b", Measured: "*2*", Why: "so"}, Claim{Text: "c", Measured: "3", Holds: true, Why: "never said"})
	text := document(t, "images", f, f)
	for _, want := range []string{"**2 of 4 claims hold.**", `## one\_two`, `![a \| chart](images/fig1.svg)`, "(images/fig1-4.svg)",
		`| a\|b | \*2\*. Why: so | ✗ |`, "| c | 3 | ✓ |", "|---|---:|\n| x | 3 ms |\n", "\n- about\n- more\n", "\n- first\n- \\*second\\*\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "never said") {
		t.Error("a claim that holds has a reason why it does not")
	}
}

// What was missed stands at the head, before anything else, with the way to where it is.
func TestMarkdownBeginsWithMisses(t *testing.T) {
	f := drawn(Claim{Text: "a", Measured: "2", Why: "so"}, Claim{Text: "b", Measured: "3"}, Claim{Text: "c", Holds: true})
	const head = "# title\n\n**2 of 6 claims hold.**\n\nMissed:\n\n- [fig1](#fig1): a – 2. Why: so\n- [fig1](#fig1): b – 3. Why: not known\n" +
		"- [fig1-2](#fig1-2): a – 2. Why: so\n- [fig1-2](#fig1-2): b – 3. Why: not known\n\nWhat was run:\n"
	text := document(t, "", f, f)
	if !strings.HasPrefix(text, head) || !strings.Contains(text, `<a id="fig1-2"></a>`) {
		t.Errorf("it begins with\n%.400s", text)
	}
	if text := document(t, "", drawn(Claim{Text: "c", Holds: true})); !strings.Contains(text, "**All 1 claims hold: nothing was missed.**\n\nWhat was run:") {
		t.Errorf("it begins with\n%.200s", text)
	}
}

// Without a folder there are no drawings.
func TestMarkdownWithoutDrawings(t *testing.T) {
	if text := document(t, "", drawn()); strings.Contains(text, "![") || !strings.Contains(text, "| x | 3 ms |") {
		t.Error(text)
	}
}

func TestVerdict(t *testing.T) {
	good, bad := drawn(Claim{Holds: true}), drawn(Claim{})
	if err := Verdict([]*Figure{good, bad}); err == nil || err.Error() != "not all claims hold: see fig1" {
		t.Error(err)
	}
	if err := Verdict([]*Figure{good}); err != nil {
		t.Error(err)
	}
}

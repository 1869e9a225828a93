package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var update = flag.Bool("update", false, "write testdata anew")

// scaling is a chart with everything: logarithmic axes, a dashed line, lines that lie on each other.
func scaling() *Chart {
	c := &Chart{Title: "256 MB to 2 to 512 members", X: Axis{Label: "members", Log: true},
		Y: Axis{Label: "time until the last has all", Unit: "s", Log: true}}
	for _, line := range []struct {
		name string
		time func(log, members float64) float64 // in steps
	}{
		{"pipeline", func(log, _ float64) float64 { return 255 + log }}, {"chain", func(_, n float64) float64 { return 254 + n }},
		{"tree", func(log, _ float64) float64 { return 256 * log }}, {"bound", func(log, _ float64) float64 { return 255 + log }},
	} {
		s := Series{Name: line.name, Dashed: line.name == "bound"}
		for log := 1.0; log <= 9; log++ {
			s.Points = append(s.Points, Point{math.Exp2(log), 0.0002 * line.time(log, math.Exp2(log))})
		}
		c.Series = append(c.Series, s)
	}
	return c
}

func contest() *Bars {
	return &Bars{Title: "256 MiB to some receivers", Y: Axis{Label: "time, one copy is 1", Unit: "ratio"}, Bound: 1.05,
		Groups: []string{"3 receivers", "7 receivers"}, Series: []BarSeries{{"weft", []float64{1.01, 1.02}}, {"others", []float64{1.2, 2.5}}}}
}

// figure3 is figure 3 of the paper, its pipeline.
func figure3(t testing.TB) *Steps {
	steps, err := schedule.Whole(schedule.Config{Members: 8}, 3)
	if err != nil {
		t.Fatal(err)
	}
	s := &Steps{Title: "Figure 3: 8 members, 3 blocks", Members: strings.Fields("0 1 2 3 4 5 6 7"), Blocks: 3, Racks: []int{0, 0, 0, 0, 1, 1, 1, 1}}
	for _, sends := range steps {
		var row []Transfer
		for _, send := range sends {
			row = append(row, Transfer(send))
		}
		s.Steps = append(s.Steps, row)
	}
	return s
}

// The drawings themselves: look at them in testdata, and draw anew with -update.
func TestDrawings(t *testing.T) {
	for name, d := range map[string]Drawing{"chart": scaling(), "bars": contest(), "figure3": figure3(t)} {
		got := drawn(t, d)
		if again := drawn(t, d); again != got {
			t.Errorf("%s: drawn twice, it differs", name)
		}
		path := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || got != string(want) {
			t.Errorf("%s is not what is drawn now (%v): go test -update, and look at it", path, err)
		}
	}
}

// No bound runs through the text behind a bar: that is before it, or behind.
func TestTextsAreBesideTheBound(t *testing.T) {
	b := &Bars{Bound: 100}
	value := &axis{hi: 200, to: 200}
	width := textWidth("text")
	for end, want := range map[float64]float64{10: 17, 93 - width: 100 - width, 94 - width: 107, 99: 107, 100: 107, 101: 108, 150: 157} {
		if got := b.beside(value, end, "text"); got != want {
			t.Errorf("behind a bar that ends at %v it begins at %v, want %v", end, got, want)
		}
	}
	b.Bound = 0
	if got := b.beside(value, 99, "text"); got != 106 {
		t.Errorf("without a bound it begins at %v", got)
	}
}

// drawn draws, and sees that it is XML.
func drawn(t testing.TB, drawings ...Drawing) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteAll(&out, drawings...); err != nil {
		t.Fatal(err)
	}
	if err := wellFormed(out.Bytes()); err != nil {
		t.Fatalf("%v in\n%s", err, out.Bytes())
	}
	return out.String()
}

// wellFormed is an error for what is no XML, has a script, or numbers that are none.
func wellFormed(text []byte) error {
	for _, never := range []string{"NaN", "Inf"} {
		if bytes.Contains(text, []byte(never)) {
			return errors.New("it contains " + never)
		}
	}
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if start, ok := token.(xml.StartElement); ok && !strings.Contains(" svg style rect g title path text tspan ", " "+start.Name.Local+" ") {
			return fmt.Errorf("nobody draws a <%s>", start.Name.Local)
		}
	}
}

// A note stands below the title, and is wrapped as that is.
func TestNotes(t *testing.T) {
	c, b := scaling(), contest()
	c.Note, b.Note = "4 racks of 4, oversubscribed 4:1", strings.Repeat("racks and nodes ", 8)
	if text := drawn(t, c); !strings.Contains(text, `<text class="muted" x="16" y="46">4 racks of 4, oversubscribed 4:1</text>`) {
		t.Errorf("no note in\n%.3000s", text)
	}
	if text := drawn(t, b); strings.Count(text, ">racks and nodes") != 1 || strings.Count(text, `<text class="muted" x="16" `) != 2 {
		t.Errorf("no note of two lines in\n%.3000s", text)
	}
}

func TestSeveralInOne(t *testing.T) {
	text := drawn(t, scaling(), contest(), figure3(t))
	if n := strings.Count(text, "<style>"); n != 1 {
		t.Errorf("%d styles", n)
	}
	for _, title := range []string{"256 MB to 2 to 512 members", "256 MiB to some receivers", "Figure 3: 8 members, 3 blocks"} {
		if !strings.Contains(text, ">"+title+"<") {
			t.Errorf("%q is missing", title)
		}
	}
}

// What is at a point, and at an arrow, is told when the pointer is there.
func TestHovers(t *testing.T) {
	for says, d := range map[string]Drawing{
		"pipeline&#xA;members: 512&#xA;time until the last has all: 52.8 ms": scaling(),
		"7 receivers&#xA;others: 2.5 ×":                                      contest(),
		"step 3: 7 sends block 0 to 6":                                       figure3(t),
	} {
		if text := drawn(t, d); !strings.Contains(text, "<title>"+says+"</title>") {
			t.Errorf("nothing says %q", says)
		}
	}
}

func TestRefused(t *testing.T) {
	chart := func(change func(*Chart)) Drawing { c := scaling(); change(c); return c }
	bars := func(change func(*Bars)) Drawing { b := contest(); change(b); return b }
	steps := func(change func(*Steps)) Drawing { s := figure3(t); change(s); return s }
	for says, d := range map[string]Drawing{
		"series \"chain\" has hue 9: 1 to 8":                             chart(func(c *Chart) { c.Series[1].Hue = 9 }),
		"there is nothing to draw":                                       &Chart{},
		"series \"pipeline\": there is nothing":                          chart(func(c *Chart) { c.Series[0].Points = nil }),
		"point 2: NaN is no number":                                      chart(func(c *Chart) { c.Series[1].Points[2].Y = math.NaN() }),
		"point 0: +Inf is no number":                                     chart(func(c *Chart) { c.Series[1].Points[0].X = math.Inf(1) }),
		"point 1: 0 cannot be on a logarithmic axis":                     chart(func(c *Chart) { c.Series[1].Points[1].X = 0 }),
		"1e+300 is no number that can be drawn":                          chart(func(c *Chart) { c.Series[0].Points[0].X = 1e300 }),
		"20036 points are too many":                                      chart(func(c *Chart) { c.Series[0].Points = append(c.Series[0].Points, make([]Point, 20_000)...) }),
		"25 series are too many":                                         chart(func(c *Chart) { c.Series = []Series{24: {}}; fill(c.Series) }),
		"more than 300 bytes":                                            chart(func(c *Chart) { c.Y.Label = strings.Repeat("y", 301) }),
		"bars \"none\": there is nothing":                                &Bars{Title: "none"},
		"series \"weft\" has 1 values for 2 groups":                      bars(func(b *Bars) { b.Series[0].Values = []float64{1} }),
		"group \"7 receivers\": -1 is negative":                          bars(func(b *Bars) { b.Series[1].Values[1] = -1 }),
		"-Inf is no number":                                              bars(func(b *Bars) { b.Series[1].Values[1] = math.Inf(-1) }),
		"the bound NaN cannot be drawn":                                  bars(func(b *Bars) { b.Bound = math.NaN() }),
		"the bound -2 cannot be drawn":                                   bars(func(b *Bars) { b.Bound = -2 }),
		"400 bars are too many":                                          bars(func(b *Bars) { b.Groups = make([]string, 200) }),
		"schedule \"\": there is nothing":                                &Steps{},
		"65 members, 5 steps and 21 transfers are too many":              steps(func(s *Steps) { s.Members = make([]string, 65) }),
		"step 1: from 0 to 8, block 1: there are 8 members":              steps(func(s *Steps) { s.Steps[1][0].To = 8 }),
		"step 0: from 0 to 1, block 3: there are 8 members and 3 blocks": steps(func(s *Steps) { s.Steps[0][0].Block = 3 }),
		"step 0: from 0 to 1, block -1":                                  steps(func(s *Steps) { s.Steps[0][0].Block = -1 }),
		"step 0: from 1 to 1":                                            steps(func(s *Steps) { s.Steps[0][0].From = 1 }),
		"racks of 1 members are known, and there are 8":                  steps(func(s *Steps) { s.Racks = []int{0} }),
		"chart \"256 MB to 2 to 512 members\": series \"tree\", point 8": chart(func(c *Chart) { c.Series[2].Points[8].Y = -1 }),
	} {
		var out bytes.Buffer
		err := WriteAll(&out, contest(), d)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") || out.Len() > 0 {
			t.Errorf("%v and %d bytes, not %q", err, out.Len(), says)
		}
	}
}

func fill(series []Series) {
	for i := range series {
		series[i].Points = []Point{{1, 1}}
	}
}

// FuzzTexts: whatever a text is, the drawing is XML and has nothing in it but what is drawn.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{"", "plain", "a < b & c > \"d\"", "</title><script>alert(1)</script>", "]]>", "\x00\x1b\xff", "two\nlines", "<!--"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, b, s := scaling(), contest(), figure3(t)
		c.Title, c.Note, c.X.Label, c.Y.Label, c.Y.Unit, c.Series[0].Name = text, text, text, text, text, text
		b.Title, b.Note, b.Groups[0], b.Series[0].Name, b.Y.Label = text, text, text, text, text
		s.Title, s.Members[2] = text, text
		for _, d := range []Drawing{c, b, s} {
			var out bytes.Buffer
			if err := d.WriteSVG(&out); err != nil {
				if len(text) <= MaxText {
					t.Error(err)
				}
				continue
			}
			// The text itself may say NaN.
			if err := wellFormed(out.Bytes()); err != nil && !strings.Contains(err.Error(), "contains") {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

// FuzzValues: whatever the values are, it is refused or drawn with finite numbers and not without end.
func FuzzValues(f *testing.F) {
	f.Add(1.0, 2.0, 3.0, 4.0, true, "s")
	f.Add(0.0, 0.0, 0.0, 0.0, false, "bytes")
	f.Add(1e18, 1e18-1e3, 1e-15, 5e-324, true, "")
	f.Add(-1e18, 1e18, math.NaN(), math.Inf(1), false, "bits/s")
	f.Add(1024.0, 1048576.0, 0.999, 1.001, true, "bytes")
	f.Fuzz(func(t *testing.T, x1, x2, y1, y2 float64, log bool, unit string) {
		c := &Chart{Title: "t", X: Axis{Label: "x", Log: log, Unit: unit}, Y: Axis{Log: log, Unit: unit}, Series: []Series{{Points: []Point{{x1, y1}, {x2, y2}}}}}
		b := &Bars{Y: Axis{Log: log, Unit: unit}, Groups: []string{"a", "b"}, Series: []BarSeries{{Values: []float64{x1, x2}}}, Bound: y1}
		for _, d := range []Drawing{c, b} {
			var out bytes.Buffer
			if d.WriteSVG(&out) != nil {
				continue
			}
			if err := wellFormed(out.Bytes()); err != nil && !strings.Contains(unit, "NaN") && !strings.Contains(unit, "Inf") || out.Len() > 100_000 {
				t.Errorf("%v, %d bytes: %+v", err, out.Len(), d)
			}
		}
	})
}

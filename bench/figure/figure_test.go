package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/internal/plot"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// copies is a figure with everything.
func copies() *Figure {
	return &Figure{
		Name: "fig8", Title: "256 MB to up to 511 receivers", Source: "RDMC, section 5.2.2, figure 8",
		Text: "One message in blocks of 1 MiB, on NICs of 40 Gbit/s.", Notes: []string{"pipeline is the best of four", "chains are slow"},
		Charts: []plot.Chart{{Title: "256 MB to up to 511 receivers", X: plot.Axis{Label: "members", Log: true}, Y: plot.Axis{Label: "time", Unit: "s"},
			Series: []plot.Series{{Name: "pipeline", Points: []plot.Point{{X: 128, Y: 0.0565}, {X: 512, Y: 0.0573}}}}}},
		Bars:  []plot.Bars{{Title: "beside", Y: plot.Axis{Unit: "ratio"}, Groups: []string{"all"}, Series: []plot.BarSeries{{Name: "weft", Values: []float64{1}}}}},
		Steps: []plot.Steps{{Title: "two", Members: []string{"0", "1"}, Blocks: 1, Steps: [][]plot.Transfer{{{From: 0, To: 1, Block: 0}}}}},
		Table: &Table{Columns: []string{"members", "pipeline", "remark"}, Rows: [][]string{{"128", "56.5 ms", "first"}, {"512", "57.3 ms", "last"}}},
		Claims: []Claim{{Text: "127 and 511 copies cost nearly the same", Measured: "56.5 and 57.3 ms: 1.01 ×", Holds: true, Why: "never said"},
			{Text: "a sequential send does, too", Measured: "no: 27 s", Why: "it sends to one after the other"}},
	}
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	if err := copies().Print(&out); err != nil {
		t.Fatal(err)
	}
	const want = `fig8: 256 MB to up to 511 receivers
RDMC, section 5.2.2, figure 8
  One message in blocks of 1 MiB, on NICs of 40 Gbit/s.
  - pipeline is the best of four
  - chains are slow

  members  pipeline  remark
      128   56.5 ms  first
      512   57.3 ms  last

✓ 127 and 511 copies cost nearly the same
  56.5 and 57.3 ms: 1.01 ×
✗ DOES NOT HOLD: a sequential send does, too
  no: 27 s
  why: it sends to one after the other
`
	if out.String() != want {
		t.Errorf("it prints\n%swant\n%s", &out, want)
	}
}

// Figures stand below each other, with what is to say about all of them above.
func TestPrintAll(t *testing.T) {
	figures := []*Figure{{Name: "a", Title: "one"}, {Name: "b", Title: "two"}}
	for want, about := range map[string][]string{"a: one\n\nb: two\n": nil, "here\nnow\n\na: one\n\nb: two\n": {"here", "now"}} {
		var out strings.Builder
		if err := PrintAll(&out, about, figures); err != nil || out.String() != want {
			t.Errorf("%v: %q, want %q", err, &out, want)
		}
	}
}

func TestHolds(t *testing.T) {
	f := copies()
	if f.Holds() {
		t.Error("with a claim that does not, it holds")
	}
	f.Claims = f.Claims[:1]
	if !f.Holds() {
		t.Error("with a claim that does, it does not hold")
	}
}

// An algorithm has one colour, whatever else is drawn, and a figure is not changed by being drawn.
func TestAlgorithmsHaveColours(t *testing.T) {
	for _, names := range [][]string{{"sequential", "pipeline"}, {"bound", "pipeline", "tree"}} {
		f := copies()
		f.Charts = []plot.Chart{{Title: "t"}}
		for _, name := range names {
			f.Charts[0].Series = append(f.Charts[0].Series, plot.Series{Name: name, Points: []plot.Point{{X: 1, Y: 1}}})
		}
		var out bytes.Buffer
		if err := drawAll(&out, []*Figure{f}); err != nil || !strings.Contains(out.String(), `<g class="series c0"><title>pipeline</title>`) {
			t.Errorf("%v: %v in\n%s", names, err, &out)
		}
		if f.Charts[0].Series[1].Hue != 0 {
			t.Error("drawing has changed the figure")
		}
	}
}

// The heads of a table that is too wide stand in several lines, at the bottom; those of one that fits are left alone.
func TestHeadsAreWrapped(t *testing.T) {
	long := strings.Repeat("x", 52)
	table := Table{Columns: []string{"", "without the pause", "with it"}, Rows: [][]string{{long, "54555.4 µs", "7 µs"}, {"short", "1 µs", "8 µs"}}}
	gap := strings.Repeat(" ", 54)
	want := gap + "  without the\n" + gap + "        pause  with it\n  " + long + "   54555.4 µs     7 µs\n"
	var out strings.Builder
	if err := table.Print(&out); err != nil || !strings.HasPrefix(out.String(), want) {
		t.Errorf("%v: it prints\n%swant\n%s", err, &out, want)
	}
	table.Rows[0][0] = ""
	out.Reset()
	if err := table.Print(&out); err != nil || !strings.Contains(out.String(), "  without the pause  with it\n") {
		t.Errorf("%v: it prints\n%s", err, &out)
	}
}

func TestLongLinesAreWrapped(t *testing.T) {
	f := &Figure{Name: "long", Title: strings.Repeat("word ", 50), Text: strings.Repeat("text ", 100), Claims: []Claim{{Text: strings.Repeat("claim ", 60)}}}
	var out strings.Builder
	if err := f.Print(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > columns {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// A record is the same after it was kept.
func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "run.json")
	r := NewRecord("1.2.3", "weft sim paper fig8")
	r.Figures = []*Figure{copies()}
	if err := Save(path, r); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%v: kept was\n%+v and read\n%+v", err, r, got)
	}
}

// What was measured for minutes is not lost because an error of several lines was a warning.
func TestWarningsOfSeveralLines(t *testing.T) {
	r := NewRecord("1", "test")
	r.Figures, r.Warnings = []*Figure{copies()}, []string{"no links:\nnot root\x1b[2J"}
	path := filepath.Join(t.TempDir(), "run.json")
	if err := Save(path, r); err != nil {
		t.Fatal(err)
	}
	kept, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	about, _ := Page([]string{path}, []*Record{kept})
	if text := strings.Join(about, "|"); !strings.Contains(text, "no links: not root") || strings.ContainsAny(text, "\n\x1b") {
		t.Errorf("%q", about)
	}
}

// A machine that is not a real one is called so; older records do not say.
func TestAboutVirtualMachines(t *testing.T) {
	for virtual, want := range map[string]string{"": "2 cores, linux", "yes": "2 cores of a virtual machine, linux", "Acme": "2 cores of a virtual machine (Acme), linux"} {
		r := &Record{Record: contest.Record{Machine: contest.Machine{Cores: 2, OS: "linux", Virtual: virtual}}}
		if got := r.about()[0]; !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", virtual, got, want)
		}
	}
}

func TestRecordsThatAreNone(t *testing.T) {
	for text, says := range map[string]string{
		"":                             "unexpected end",
		"[]":                           "cannot unmarshal",
		"{}":                           "neither figures nor results",
		`{"figures":[null]}`:           "figure 0 is not there",
		`{"figures":[{}]}`:             `figure "": a name has small letters`,
		`{"figures":[{"name":"A/b"}]}`: `figure "A/b": a name has small letters`,
		`{"figures":[{"name":"a","title":"\u001b[2J"}]}`:                                             "not printable",
		`{"figures":[{"name":"a","charts":[{}]}]}`:                                                   "nothing to draw",
		`{"figures":[{"name":"a","table":{"columns":["x"],"rows":[["1","2"]]}}]}`:                    "not as many cells",
		`{"figures":[{"name":"a","table":{}}]}`:                                                      "0 columns and 0 rows",
		`{"figures":[{"name":"a","claims":[{"why":"\u001b[2J"}]}]}`:                                  "not printable",
		`{"figures":[{"name":"a","notes":["` + strings.Repeat("x", MaxText+1) + `"]}]}`:              "allowed are 4000",
		`{"figures":[{"name":"a","notes":[` + strings.Repeat(`"",`, MaxNotes) + `""]}]}`:             "201 notes",
		`{"figures":[{"name":"a"}],"machine":{"cpu":"\u0007"}}`:                                      "not printable",
		`{"figures":[{"name":"a","claims":[{"text":"` + strings.Repeat("x", MaxText+1) + `"}]}]}`:    "allowed are 4000",
		`{"figures":[` + strings.Repeat(`{"name":"a"},`, MaxFigures) + `{"name":"a"}]}`:              "501 figures",
		`{"figures":[{"name":"a","title":"` + strings.Repeat("long ", 100) + `"}]}`:                  "has 500 bytes",
		`{"figures":[{"name":"a","charts":[{"series":[{"points":[{"x":1e999,"y":1}]}]}]}]}`:          "cannot unmarshal",
		`{"figures":[{"name":"a","bars":[{"groups":["g"],"series":[{"name":"s","values":[-1]}]}]}]}`: "is negative",
	} {
		path := filepath.Join(t.TempDir(), "run.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80s: %v, want %q", text, err, says)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestSaveRefusesWhatLoadWould(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	r := &Record{Figures: []*Figure{copies()}}
	r.Figures[0].Charts[0].Series[0].Points[0].Y = math.NaN()
	if err := Save(path, r); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("NaN: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("something was written")
	}
}

// reported makes a page, and sees that it needs nothing else.
func reported(t testing.TB, title string, about []string, figures ...*Figure) string {
	t.Helper()
	var out bytes.Buffer
	if err := Report(&out, title, about, figures); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, out.Bytes())
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if name := start.Name.Local; strings.Contains(" script link img iframe object base ", " "+name+" ") {
			t.Errorf("there is a <%s>", name)
		}
		for _, a := range start.Attr {
			if a.Name.Local == "src" || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
				t.Errorf("<%s> leads to %s", start.Name.Local, a.Value)
			}
		}
	}
	return out.String()
}

func TestReport(t *testing.T) {
	page := reported(t, "What <was> measured", []string{"here & now"}, copies(), copies())
	for _, want := range []string{"<title>What &lt;was&gt; measured</title>", "here &amp; now", "2 of 4 claims hold.", `href="#fig8-2"`, `id="fig8-2"`,
		"<li>chains are slow</li>", `<li><a class="name" href="#fig8-2">fig8-2</a> a sequential send does, too – <b>no: 27 s</b>`,
		"RDMC, section 5.2.2, figure 8", "127 and 511 copies cost nearly the same", "56.5 and 57.3 ms: 1.01 ×", "does not hold", "Why: it sends to one after the other", `<td class="n">57.3 ms</td>`,
		"<td>last</td>", `<figure class="same">`} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(page, "never said") {
		t.Error("a claim that holds has a reason why it does not")
	}
	if n := strings.Count(page, "<svg xmlns"); n != 6 {
		t.Errorf("%d drawings", n)
	}
}

func TestReportRefuses(t *testing.T) {
	bad := copies()
	bad.Charts[0].Series = nil
	for says, figures := range map[string][]*Figure{"nothing to draw": {copies(), bad}, "501 figures": make([]*Figure, 501)} {
		var out bytes.Buffer
		if err := Report(&out, "", nil, figures); err == nil || !strings.Contains(err.Error(), says) || out.Len() > 0 {
			t.Errorf("%v and %d bytes, want %q", err, out.Len(), says)
		}
	}
}

func TestDraw(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"all.svg", "page.html", "each"} {
		if err := Draw(at(name), "title", nil, copies(), copies()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"all.svg", "page.html", "each/fig8.svg", "each/fig8-2.svg", "each/fig8-6.svg"} {
		if info, err := os.Stat(at(name)); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for path, says := range map[string]string{at("a.png"): "FILE.svg", "": "FILE.svg", "-": "FILE.svg", at("none/a.svg"): "there is no directory", at("tables.svg"): "tables only"} {
		if err := Draw(path, "", nil, &Figure{Name: "a"}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", path, err, says)
		}
	}
}

// Rows of a contest are shown, and those with a bound are claims.
func TestPageOfAContest(t *testing.T) {
	r := &Record{Record: contest.Record{Notes: []string{"a note"}, Warnings: []string{"busy"}, Results: []contest.Result{
		{What: "time", Unit: "×", Value: 1.02, Bound: 1.05, AtMost: true, Peer: "one copy", Pairs: []contest.Pair{{Peer: 1, Ours: 1.02}}, Low: 1.01, High: 1.03},
		{What: "beside", Unit: "s", Value: 3}, {What: "broken", Failed: "it did not\nstart", Others: 0.5}, {What: "rate", Value: 1, Bound: 2, Why: "it is\nslow"},
		{What: "late", Value: 2, AtMost: true, Others: 0.5},
	}}, Figures: []*Figure{copies()}}
	about, figures := Page([]string{"some/Multi_Cast.json"}, []*Record{r})
	if len(about) != 2 || !strings.HasPrefix(about[0], "Multi_Cast: ") || about[1] != "Warning: busy" {
		t.Errorf("about: %q", about)
	}
	f := figures[0]
	if err := f.Validate(); err != nil || f.Name != "multi-cast" || !slices.Equal(f.Notes, []string{"a note"}) || len(f.Table.Rows) != 5 || figures[1].Name != "fig8" {
		t.Fatalf("%v: %+v", err, f)
	}
	want := []Claim{{Text: "time, against one copy: ≤ 1.05 ×", Measured: "1.020 ×", Spread: "between 1.010 and 1.030", Holds: true},
		{Text: "broken *", Measured: "failed", Why: "it did not start"}, {Text: "rate: ≥ 2", Measured: "1", Why: "it is slow"},
		{Text: "late *: ≤ 0", Measured: "2", Why: "others used 0.5 cores of the machine meanwhile: it has to be measured again"}}
	if !reflect.DeepEqual(f.Claims, want) {
		t.Errorf("claims: %+v, want %+v", f.Claims, want)
	}
}

// What is simulated does not stand among what was measured, and each part says how it was done.
func TestPageOfWhatIsSimulated(t *testing.T) {
	r := &Record{Method: "on\nlinks", Simulated: []string{"at 40 Gbit/s"}}
	r.Notes, r.Results = []string{"a note"}, []contest.Result{{What: "real", Value: 1, Bound: 1}, {What: "simulated: large", Value: 1, Bound: 1}}
	_, figures := Page([]string{"a.json"}, []*Record{r})
	if len(figures) != 2 {
		t.Fatalf("%d figures", len(figures))
	}
	for i, want := range []Figure{{Name: "a", Source: "measured", Text: "on links", Notes: []string{"a note"}}, {Name: "a-simulated", Source: "simulated", Notes: []string{"at 40 Gbit/s"}}} {
		if f := figures[i]; f.Name != want.Name || f.Source != want.Source || f.Text != want.Text || !slices.Equal(f.Notes, want.Notes) || len(f.Claims) != 1 || len(f.Table.Rows) != 1 {
			t.Errorf("%+v, want %+v", f, want)
		}
	}
}

// A bound that some rounds miss is met by the median only.
func TestClaimsMetByTheMedian(t *testing.T) {
	c := contest.Contest{What: "time", Peer: "MPI", Unit: "s", Bound: 1, AtMost: true}
	for want, last := range map[string]float64{"0.8 ×, between 0.5 and 1.2: met by the median, not by all rounds": 1.2, "0.8 ×, between 0.5 and 0.9": 0.9} {
		r := &Record{}
		r.Results = []contest.Result{c.Judge([]contest.Pair{{Peer: 1, Ours: 0.5}, {Peer: 1, Ours: 0.8}, {Peer: 1, Ours: last}})}
		_, figures := Page([]string{"a.json"}, []*Record{r})
		if got := figures[0].Claims[0].Found(); got != want || !figures[0].Holds() {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What a record does not tell is said.
func TestAboutVersions(t *testing.T) {
	r := &Record{}
	r.Machine.Aria2, r.Machine.UDPCast = "1.36.0", "20120424"
	for version, want := range map[string]string{"": "Weft of a version that was not recorded, udpcast 20120424, aria2 1.36.0", "v1": "Weft v1, udpcast"} {
		r.Version = version
		if got := r.about()[0]; !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What is too much for a page is counted there, and what is missed among it is not forgotten.
func TestPageOfALongContest(t *testing.T) {
	r := &Record{Record: contest.Record{Notes: slices.Repeat([]string{"a note"}, MaxNotes+1),
		Results: slices.Repeat([]contest.Result{{What: "rate", Value: 2, Bound: 1}}, MaxClaims+1)}}
	page := func() *Figure {
		_, figures := Page([]string{"a.json"}, []*Record{r})
		if err := figures[0].Validate(); err != nil {
			t.Fatal(err)
		}
		return figures[0]
	}
	f := page()
	if got := f.Notes[MaxNotes-1]; got != "2 more notes are in the record only" {
		t.Error(got)
	}
	if got, want := f.Claims[MaxClaims-1], (Claim{Text: "2 more rows of the table", Measured: "0 of them are missed", Holds: true, Why: "see the table"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.Results[MaxClaims].Value = 0
	if f := page(); f.Holds() || f.Claims[MaxClaims-1].Measured != "1 of them are missed" {
		t.Errorf("%+v", f.Claims[MaxClaims-1])
	}
}

// What was recorded before there were figures can be shown.
func TestRecordedResults(t *testing.T) {
	paths, err := filepath.Glob("../results/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, paths)
	}
	for _, path := range paths {
		r, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		about, figures := Page([]string{path}, []*Record{r})
		reported(t, path, about, figures...)
	}
}

// FuzzLoad: whatever a file has, it is refused, or can be printed and shown without harm.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{"{}", `{"figures":[{"name":"a","title":"</title><script>"}]}`, `{"results":[{"what":"\u0000<b>","bound":1,"pairs":[{"peer":0,"ours":0}]}]}`,
		`{"figures":[{"name":"b","bars":[{"groups":["g"],"series":[{"name":"s","values":[3]}],"bound":1}],"claims":[{"text":"a","measured":"b"}]}]}`,
		`{"figures":[{"name":"c","steps":[{"members":["0","1"],"blocks":1,"steps":[[{"from":0,"to":1,"block":0}]]}],"table":{"columns":["x"],"rows":[["&"]]}}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parse(text)
		if err != nil {
			return
		}
		about, figures := Page([]string{"fuzz.json"}, []*Record{r})
		reported(t, "fuzz", about, figures...)
		if err := Markdown(io.Discard, "fuzz", about, figures, "images"); err != nil {
			t.Error(err)
		}
		for _, figure := range figures {
			if err := figure.Print(io.Discard); err != nil {
				t.Error(err)
			}
		}
	})
}

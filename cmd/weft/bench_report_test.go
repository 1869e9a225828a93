package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/bench/simulated"
	"github.com/weft-fabric/weft/internal/plot"
)

// recorded keeps a run with a claim that holds and one that does not.
func recorded(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.json")
	r := figure.NewRecord(version, "weft sim paper")
	r.Figures = []*figure.Figure{{Name: "fig8", Title: "Copies", Claims: []figure.Claim{{Text: "it is fast", Measured: "1 s", Holds: true}, {Text: "it is free", Measured: "1 €", Why: "nothing is"}},
		Table:  &figure.Table{Columns: []string{"copies", "time"}, Rows: [][]string{{"1", "2 s"}}},
		Charts: []plot.Chart{{Title: "time", Series: []plot.Series{{Name: "pipeline", Points: []plot.Point{{X: 1, Y: 1}, {X: 2, Y: 1}}}}}}}}
	if err := figure.Save(path, r); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBenchReport(t *testing.T) {
	dir := t.TempDir()
	page, drawings := filepath.Join(dir, "report.html"), filepath.Join(dir, "figures")
	status, out, errs := weft("bench", "report", recorded(t), "../../bench/results/multicast.json", "--html", page, "--svg", drawings)
	if status != 0 || !strings.Contains(out, "claims hold.\n") || !strings.Contains(out, "✗ fig8: it is free – 1 €. Why: nothing is\n") {
		t.Fatalf("status %d, %s\n%s", status, errs, out)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="fig8"`, `id="multicast"`, "Repeat it with: weft sim paper", "it is fast", "one plain TCP copy",
		"Hosts are network namespaces", `id="multicast-simulated"`, "links of 40 Gbit/s, 5µs a message"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %q on the page", want)
		}
	}
	if countElements(t, filepath.Join(drawings, "fig8.svg"), "series") != 1 {
		t.Error("fig8.svg has no line")
	}
}

// The commands that a page says repeat what is simulated are commands.
func TestSimulatedRowsCanBeRepeated(t *testing.T) {
	for _, line := range simulated.Settings() {
		_, command, _ := strings.Cut(line, "with: weft ")
		args := strings.Fields(command)
		if !strings.Contains(command, "--racks") {
			args = append(args, "--help") // the others take longer: their flags are read
		}
		if status, _, errs := weft(args...); status != 0 {
			t.Errorf("weft %s: status %d, %s", command, status, errs)
		}
	}
}

// Without a file to write it prints everything.
func TestBenchReportPrints(t *testing.T) {
	status, out, errs := weft("bench", "report", recorded(t), "--about", "by hand")
	if status != 0 || errs != "" || !strings.HasPrefix(out, "by hand\nrun: ") {
		t.Fatalf("status %d, %s\n%s", status, errs, out)
	}
	const end = `
fig8: Copies

  copies  time
       1   2 s

✓ it is fast
  1 s
✗ DOES NOT HOLD: it is free
  1 €
  why: nothing is

1 of 2 claims hold.
✗ fig8: it is free – 1 €. Why: nothing is
`
	if !strings.HasSuffix(out, end) {
		t.Errorf("it prints\n%s", out)
	}
}

// A document alone has no drawings, and one with drawings has the way to them.
func TestBenchReportWritesMarkdown(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, args := range map[string][]string{"alone.md": nil, "drawn.md": {"--svg", at("figures")}} {
		status, out, errs := weft(append([]string{"bench", "report", recorded(t), "--markdown", at(name), "--about", "Repeat it with: make"}, args...)...)
		text, err := os.ReadFile(at(name))
		if status != 0 || err != nil || strings.Contains(out, "copies") || !strings.Contains(string(text), "\n- Repeat it with: make\n- run: ") {
			t.Fatalf("%s: status %d, %s%s, %v\n%s", name, status, errs, out, err, text)
		}
		if shows := strings.Contains(string(text), "(figures/fig8.svg)"); shows != (args != nil) {
			t.Errorf("%s shows drawings: %t", name, shows)
		}
	}
}

func TestBenchReportRefuses(t *testing.T) {
	good := recorded(t)
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"figures":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		status int
		says   string
	}{
		"":                           {exitUsage, "which runs?"},
		good + " --html a.svg":       {exitUsage, "--html a.svg: the name of a page ends in .html"},
		good + " --html no/a.html":   {exitUsage, "there is no directory no"},
		good + " --markdown a.json":  {exitUsage, "--markdown a.json: the name of a document ends in .md"},
		good + " --markdown no/a.md": {exitUsage, "there is no directory no"},
		good + " --svg " + good:      {exitUsage, "is a file: name a directory"},
		good + " " + good:            {exitUsage, "are the same file: name each run once"},
		good + " " + link:            {exitUsage, "link.json are the same file"},
		broken + " --svg x":          {exitFailed, "broken.json is no recorded run"},
		"nowhere.json --html a.svg":  {exitFailed, "nowhere.json: no such file"}, // before anything else
		broken + " nowhere.json":     {exitFailed, "nowhere.json: no such file"},
	} {
		status, _, errs := weft(append([]string{"bench", "report"}, strings.Fields(args)...)...)
		if status != want.status || !strings.Contains(errs, want.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %q, want %d and %q", args, status, errs, want.status, want.says)
		}
	}
}

// A run is not overwritten by what is written of it, and nothing waits for a pipe that nobody writes to.
func TestBenchReportSparesRuns(t *testing.T) {
	run := recorded(t)
	dir := filepath.Dir(run)
	link, pipe, out := filepath.Join(dir, "run.html"), filepath.Join(dir, "pipe.json"), filepath.Join(dir, "pipe.html")
	if err := errors.Join(os.Symlink(run, link), syscall.Mkfifo(pipe, 0o600), syscall.Mkfifo(out, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{run, "--html", link}, "is one of the runs"},
		{[]string{pipe}, "pipe.json is a named pipe"},
		{[]string{run, "--html", out}, "pipe.html is a named pipe"},
		{[]string{run, "--about", "x\x1b[31m"}, "--about"},
		{[]string{run, "--title", "x\n"}, "--title"},
	} {
		status, _, errs := weft(append([]string{"bench", "report"}, c.args...)...)
		if status != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%q: status %d, %s", c.args, status, errs)
		}
	}
	if _, err := figure.Load(run); err != nil {
		t.Error(err)
	}
}

// Names of files do not reach the terminal as they are.
func TestErrorsArePrintable(t *testing.T) {
	if _, _, errs := weft("bench", "report", "no\x1b[31m.json"); strings.Contains(errs, "\x1b") || !strings.Contains(errs, "no [31m.json") {
		t.Errorf("%q", errs)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
)

// recorded keeps a run with a claim that holds and one that does not.
func recorded(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.json")
	r := figure.NewRecord(version, "weft sim paper")
	r.Figures = []*figure.Figure{{Name: "fig8", Title: "Copies", Claims: []figure.Claim{{Text: "it is fast", Measured: "1 s", Holds: true}, {Text: "it is free", Measured: "1 €"}},
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
	if status != 0 || !strings.Contains(out, "claims hold.\n") || !strings.Contains(out, "✗ fig8: it is free: 1 €\n") {
		t.Fatalf("status %d, %s\n%s", status, errs, out)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="fig8"`, `id="multicast"`, "Repeat it with: weft sim paper", "it is fast", "one plain TCP copy"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %q on the page", want)
		}
	}
	if countElements(t, filepath.Join(drawings, "fig8.svg"), "series") != 1 {
		t.Error("fig8.svg has no line")
	}
}

func TestBenchReportRefuses(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"figures":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		status int
		says   string
	}{
		"":                           {exitUsage, "which runs?"},
		broken:                       {exitUsage, "where to?"},
		broken + " --html a.svg":     {exitUsage, "ends in .html"},
		broken + " --html no/a.html": {exitUsage, "there is no directory no"},
		broken + " --svg x":          {exitFailed, "broken.json is no recorded run"},
		"nowhere.json --svg x":       {exitFailed, "nowhere.json: no such file"},
	} {
		status, _, errs := weft(append([]string{"bench", "report"}, strings.Fields(args)...)...)
		if status != want.status || !strings.Contains(errs, want.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %q, want %d and %q", args, status, errs, want.status, want.says)
		}
	}
}

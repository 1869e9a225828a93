package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/bench/paper"
)

func TestSimPaperUsage(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"fig99", `the paper has no experiment "fig99": there are fig4a`},
		{"fig8 fig99", `the paper has no experiment "fig99"`},
		{"all fig99", `the paper has no experiment "fig99"`},
		{"--plot x.svg", "which experiment? Name one, or all"},
		{"--out x.json", "which experiment? Name one, or all"},
		{"fig8 --plot x.png", `--plot "x.png": write FILE.svg`},
		{"fig8 --out x.svg", `--out "x.svg": write FILE.json`},
		{"fig8 --seed x", `invalid argument "x" for "--seed"`},
	} {
		status, out, errs := weft(append([]string{"sim", "paper"}, strings.Fields(c.args)...)...)
		if status != exitUsage || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 || out != "" {
			t.Errorf("weft sim paper %s: status %d, %s%s; want %q", c.args, status, out, errs, c.says)
		}
	}
}

// Without a name it lists the experiments, each with what it must show.
func TestSimPaperLists(t *testing.T) {
	status, out, errs := weft("sim", "paper")
	for _, s := range paper.Scenarios() {
		if !strings.Contains(out, "\n"+s.Name+" ") && !strings.HasPrefix(out, s.Name+" ") {
			t.Errorf("no %s: status %d, %s%s", s.Name, status, out, errs)
		}
	}
	narrow(t, out)
	if _, out, _ := weft("sim", "paper", "--json"); strings.Count(out, `"claim":"`) != len(paper.Scenarios()) || strings.Count(out, "\n") != 1 {
		t.Error(out)
	}
}

// An experiment is shown, drawn and kept.
func TestSimPaper(t *testing.T) {
	dir := t.TempDir()
	plot, record := filepath.Join(dir, "fig4b.html"), filepath.Join(dir, "paper.json")
	status, out, errs := weft("sim", "paper", "fig4b", "table1", "--short", "--plot", plot, "--out", record)
	if status != 0 || errs != "weft: wrote "+record+"\nweft: wrote "+plot+"\n" || strings.Index(out, "fig4b: ") != 0 || !strings.Contains(out, "\ntable1: ") || !strings.Contains(out, "✓ ") {
		t.Fatalf("status %d, %s%s", status, out, errs)
	}
	r, err := figure.Load(record)
	if err != nil || len(r.Figures) != 2 || r.Command != "weft sim paper fig4b table1 --short" || r.Figures[0].Name != "fig4b" {
		t.Errorf("%v: %+v", err, r)
	}
	narrow(t, out)
	if page, err := os.ReadFile(plot); err != nil || !strings.Contains(string(page), "table1") {
		t.Errorf("%v: %.100s", err, page)
	}
}

func TestSimPaperSpeaksJSON(t *testing.T) {
	status, out, errs := weft(strings.Fields("sim paper table1 --short --json --quiet")...)
	if status != 0 || errs != "" || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"holds":true,"interrupted":false`) {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}

// All is all, also beside names.
func TestSimPaperAllAndMore(t *testing.T) {
	all, err := new(simPaperOptions).scenarios([]string{"fig4a", "all", "fig4a"})
	if err != nil || len(all) != len(paper.Scenarios()) {
		t.Error(err, len(all))
	}
}

// A claim that does not hold is an error, which names the experiment.
func TestSimPaperVerdict(t *testing.T) {
	broken := &figure.Figure{Name: "fig99", Title: "nothing", Claims: []figure.Claim{{Text: "it is fast", Measured: "it is not"}}}
	scenarios := []paper.Scenario{{Name: "fig99", Run: func(context.Context, paper.Options) (*figure.Figure, error) { return broken, nil }}}
	for _, asJSON := range []bool{false, true} {
		var out strings.Builder
		show := &paperShow{out: &out, asJSON: asJSON}
		show.progress = newProgress(&out, true, show.far.line)
		if err := show.run(context.Background(), scenarios, &simPaperOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := show.verdict(); err == nil || err.Error() != "not all claims hold: see fig99" {
			t.Error(err)
		}
		if asJSON != strings.Contains(out.String(), `"holds":false,"interrupted":false`) || !strings.Contains(out.String(), "it is not") {
			t.Error(&out)
		}
	}
}

func TestSimPaperInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs strings.Builder
	dir := t.TempDir()
	plot, record := filepath.Join(dir, "a.svg"), filepath.Join(dir, "a.json")
	status := run(ctx, append(strings.Fields("sim paper all --quiet --json"), "--plot", plot, "--out", record), &out, &errs)
	said := "interrupted: 0 of 12 experiments were done; " + record + " was not written; " + plot + " was not written"
	if status < exitSignal || !strings.Contains(out.String(), `"interrupted":true,"error":"`+said+`"`) || failed(t, errs.String()).Error != said {
		t.Errorf("status %d, %s%s", status, &out, &errs)
	}
}

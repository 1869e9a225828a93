package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
)

func TestBenchWaitingRefusesBadFlags(t *testing.T) {
	for args, says := range map[string]string{
		"now":                        `waiting takes no argument "now"`,
		"--rounds 0":                 "--rounds 0: from 1 to 1000",
		"--rounds x":                 "invalid argument",
		"--plot picture.png":         "--plot",
		"--plot no-such-dir/x.svg":   "no directory",
		"--out no-such-dir/x.json":   "no directory",
		"--out=bench_waiting.go/a.b": "no directory",
	} {
		status, out, errs := weft(append([]string{"bench", "waiting"}, strings.Fields(args)...)...)
		if status != exitUsage || !strings.Contains(errs, says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %s%s", args, status, out, errs)
		}
	}
}

// What was measured is printed, drawn and kept, also if a claim does not hold, which is an error, as in weft sim paper.
func TestBenchWaitingShows(t *testing.T) {
	record := figure.NewRecord("v1", "weft bench waiting")
	record.Figures = []*figure.Figure{{Name: "waiting", Title: "What waiting costs", Table: &figure.Table{Columns: []string{"a"}, Rows: [][]string{{"b"}}},
		Bars:   []plot.Bars{{Title: "bars", Groups: []string{"g"}, Series: []plot.BarSeries{{Name: "s", Values: []float64{1}}}}},
		Claims: []figure.Claim{{Text: "it is so", Measured: "it is not"}}}}
	dir := t.TempDir()
	o := benchWaitingOptions{rounds: 1, plot: filepath.Join(dir, "w.html"), out: filepath.Join(dir, "w.json")}
	var table, object strings.Builder
	if err := o.show(&table, record); err == nil || err.Error() != "not all claims hold: see waiting" || !strings.Contains(table.String(), "DOES NOT HOLD: it is so") {
		t.Errorf("%v: %s", err, &table)
	}
	page, err := os.ReadFile(o.plot)
	if err != nil || !strings.Contains(string(page), "What waiting costs") {
		t.Errorf("%v: %s", err, page)
	}
	kept, err := figure.Load(o.out)
	if err != nil || len(kept.Figures) != 1 || kept.Figures[0].Holds() {
		t.Errorf("%v: %+v", err, kept)
	}
	o = benchWaitingOptions{asJSON: true}
	var said figure.Record
	record.Figures[0].Claims[0].Holds = true
	if err := o.show(&object, record); err != nil || json.Unmarshal([]byte(object.String()), &said) != nil || said.Version != "v1" {
		t.Errorf("%v: %s", err, &object)
	}
}

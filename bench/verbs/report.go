package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// record is one run, as it is kept.
type record struct {
	Time    time.Time `json:"time"`
	Machine machine   `json:"machine"`
	Results []result  `json:"results"`
}

type machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
	OS    string `json:"os"`
}

// report prints the results beside the last recorded ones, keeps them, and fails if a bound is missed.
func report(out string, results []result) error {
	last, err := load(out)
	if err != nil {
		return err
	}
	printTable(results, last)
	if out != "" {
		if err := keep(out, record{time.Now().UTC().Truncate(time.Second), thisMachine(), results}); err != nil {
			return err
		}
	}
	for _, r := range results {
		if !r.met() {
			err = errors.Join(err, fmt.Errorf("%s: %.4g %s, the bound is %.4g", r.What, r.Value, r.Unit, r.Bound))
		}
	}
	return err
}

func printTable(results []result, last record) {
	before := map[string]float64{}
	for _, r := range last.Results {
		before[r.What] = r.Value
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\tmeasured\tbound\tlast run")
	for _, r := range results {
		bound, difference := "", ""
		if r.Bound != 0 || r.AtMost {
			bound = map[bool]string{true: "≤ ", false: "≥ "}[r.AtMost] + fmt.Sprintf("%.4g", r.Bound) +
				map[bool]string{true: "  met", false: "  MISSED"}[r.met()]
		}
		if old, ok := before[r.What]; ok && old != 0 {
			difference = fmt.Sprintf("%.4g (%+.0f %%)", old, 100*(r.Value/old-1))
		}
		fmt.Fprintf(table, "%s\t%.4g %s\t%s\t%s\n", r.What, r.Value, r.Unit, bound, difference)
	}
	_ = table.Flush()
}

// load reads the last recorded run, if there is one.
func load(path string) (last record, err error) {
	if path == "" {
		return last, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return last, nil
	}
	if err != nil {
		return last, err
	}
	if err := json.Unmarshal(text, &last); err != nil {
		return last, fmt.Errorf("%s is no recorded run (%w); move it away", path, err)
	}
	return last, nil
}

func keep(path string, r record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func thisMachine() machine {
	m := machine{CPU: "unknown", Cores: runtime.NumCPU(), Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH}
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m
	}
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	return m
}

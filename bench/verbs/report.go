package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

// report prints the results beside the last recorded ones, keeps them, and fails if a bound is missed.
func report(out string, r *record) error {
	last, err := load(out)
	if err != nil {
		return err
	}
	printTable(r.Results, last)
	for _, w := range r.Warnings {
		fmt.Println("warning:", w)
	}
	if out != "" {
		if err := keep(out, r); err != nil {
			return err
		}
	}
	return misses(r.Results)
}

// misses is an error with a line for each row that is not as it has to be.
func misses(results []result) (err error) {
	for _, r := range results {
		switch {
		case r.Failed != "":
			err = errors.Join(err, fmt.Errorf("%s: %s", r.What, r.Failed))
		case !r.met():
			err = errors.Join(err, fmt.Errorf("%s: %s, the bound is %.4g", r.What, r.measured(), r.Bound))
		}
	}
	return err
}

func printTable(results []result, last record) {
	before := map[string]float64{}
	for _, r := range last.Results {
		before[r.key()] = r.Value
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\tmeasured\tspread\tbound\tours\tpeer\tlast run")
	for _, r := range results {
		ours, theirs := r.sides()
		fmt.Fprintln(table, strings.Join([]string{r.What, r.measured(), r.spread(), r.verdict(), ours, theirs,
			r.change(before[r.key()])}, "\t"))
	}
	_ = table.Flush()
}

// key names the row for the comparison with an earlier run.
func (r result) key() string { return r.What + "|" + r.Peer }

func (r result) measured() string {
	if r.Failed != "" {
		return "-"
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g %s", r.Value, r.Unit))
}

func (r result) spread() string {
	if len(r.Pairs) == 0 || r.Failed != "" {
		return ""
	}
	return fmt.Sprintf("%.3g..%.3g", r.Low, r.High)
}

func (r result) verdict() string {
	if r.Failed != "" {
		return "FAILED"
	}
	if !r.bounded() {
		return ""
	}
	return fmt.Sprintf("%s %.4g  %s", map[bool]string{true: "≤", false: "≥"}[r.AtMost], r.Bound,
		map[bool]string{true: "met", false: "MISSED"}[r.met()])
}

// sides are the medians of what a contest compared.
func (r result) sides() (ours, theirs string) {
	if len(r.Pairs) == 0 || r.Failed != "" {
		return "", r.Peer
	}
	ours = fmt.Sprintf("%.3g %s", median(column(r.Pairs, func(p pair) float64 { return p.Ours })), r.PairUnit)
	theirs = fmt.Sprintf("%.3g %s  %s", median(column(r.Pairs, func(p pair) float64 { return p.Peer })), r.PairUnit, r.Peer)
	return ours, theirs
}

func (r result) change(old float64) string {
	if old == 0 || r.Failed != "" {
		return ""
	}
	return fmt.Sprintf("%.3g (%+.0f %%)", old, 100*(r.Value/old-1))
}

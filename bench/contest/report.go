package contest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// Print prints the results beside those of the last run, which is in a file; no name: there is none.
func (r *Record) Print(last string) error {
	before, err := load(last)
	if err != nil {
		return err
	}
	printTable(os.Stdout, r.Results, before)
	if slices.ContainsFunc(r.Results, Result.disturbed) {
		fmt.Println("* others used the machine meanwhile: measure again when it is quiet")
	}
	return nil
}

// Missed is an error with a line for each row that is not as it has to be.
func (r *Record) Missed() error { return misses(r.Results) }

func misses(results []Result) (err error) {
	for _, r := range results {
		switch {
		case r.Failed != "":
			err = errors.Join(err, fmt.Errorf("%s: %s", r.What, r.Failed))
		case !r.met():
			err = errors.Join(err, fmt.Errorf("%s: %s, the bound is %s%s", r.subject(), r.measured(), number(r.Bound), r.because()))
		}
	}
	return err
}

// subject is what was compared with whom.
func (r Result) subject() string {
	if r.Peer == "" {
		return r.What
	}
	return r.What + ", against " + r.Peer
}

// because is the reason behind a miss.
func (r Result) because() string {
	if r.Why == "" {
		return ""
	}
	return ": " + r.Why
}

func printTable(w io.Writer, results []Result, last Record) {
	before := map[string]float64{}
	for _, r := range last.Results {
		before[r.key()] = r.Value
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(append(Columns(), "last run"), "\t"))
	for _, r := range results {
		fmt.Fprintln(table, strings.Join(append(r.Row(), r.change(before[r.key()])), "\t"))
	}
	_ = table.Flush()
}

// Columns are what Row has.
func Columns() []string { return []string{"what", "measured", "spread", "bound", "ours", "against"} }

// Row is the result as a row of a table.
func (r Result) Row() []string {
	ours, theirs := r.sides()
	return []string{r.name(), r.measured(), r.spread(), r.verdict(), ours, theirs}
}

// Judged reports whether the result has to reach something, and whether it does. What failed does not.
func (r Result) Judged() (bounded, met bool) { return r.bounded() || r.Failed != "", r.met() }

// key names the row for the comparison with an earlier run.
func (r Result) key() string { return r.What + "|" + r.Peer }

// disturbed reports whether others used the machine meanwhile.
func (r Result) disturbed() bool { return r.Others > 0 }

func (r Result) name() string {
	if r.disturbed() {
		return r.What + " *"
	}
	return r.What
}

func (r Result) measured() string {
	if r.Failed != "" {
		return "-"
	}
	return strings.TrimSpace(number(r.Value) + " " + r.Unit)
}

func (r Result) spread() string {
	if len(r.Pairs) == 0 || r.Failed != "" {
		return ""
	}
	return number(r.Low) + ".." + number(r.High)
}

func (r Result) verdict() string {
	if r.Failed != "" {
		return "FAILED"
	}
	if !r.bounded() {
		return ""
	}
	doubt := ""
	if r.disturbed() {
		doubt = "?"
	}
	return fmt.Sprintf("%s %s  %s%s", map[bool]string{true: "≤", false: "≥"}[r.AtMost], number(r.Bound),
		map[bool]string{true: "met", false: "MISSED"}[r.met()], doubt)
}

// sides are the medians of what a contest compared.
func (r Result) sides() (ours, theirs string) {
	if len(r.Pairs) == 0 || r.Failed != "" {
		return "", r.Peer
	}
	ours = number(Median(column(r.Pairs, func(p Pair) float64 { return p.Ours }))) + " " + r.PairUnit
	theirs = number(Median(column(r.Pairs, func(p Pair) float64 { return p.Peer }))) + " " + r.PairUnit
	return ours, theirs + "  " + r.Peer
}

func (r Result) change(old float64) string {
	if old == 0 || r.Failed != "" {
		return ""
	}
	return fmt.Sprintf("%s (%+.0f %%)", number(old), 100*(r.Value/old-1))
}

// number prints a value with the three digits that a measurement has, and never as a power of ten. Just above 1 it has as
// many behind the point as just below: there the ratios are that are told apart.
func number(v float64) string {
	switch {
	case v >= 1 && v < 1.1:
		return fmt.Sprintf("%.4g", v)
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

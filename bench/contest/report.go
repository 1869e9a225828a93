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
			err = errors.Join(err, fmt.Errorf("%s: %s", r.subject(), r.Failed))
		case !r.met():
			err = errors.Join(err, fmt.Errorf("%s: %s, the bound is %s%s", r.subject(), r.measured(), number(r.Bound, noDecimals), r.because()))
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

// decimals are how many the row's numbers have, if it takes more than their digits to see on which side of the bound they
// are, or of 1 if it is a ratio without one.
func (r Result) decimals() int {
	switch {
	case r.bounded():
		return decimalsBeside(r.Value, r.Bound)
	case len(r.Pairs) > 0:
		return decimalsBeside(r.Value, 1)
	}
	return noDecimals
}

func (r Result) measured() string {
	if r.Failed != "" {
		return "-"
	}
	return strings.TrimSpace(number(r.Value, r.decimals()) + " " + r.Unit)
}

func (r Result) spread() string {
	if len(r.Pairs) == 0 || r.Failed != "" {
		return ""
	}
	return number(r.Low, r.decimals()) + ".." + number(r.High, r.decimals())
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
	return fmt.Sprintf("%s %s  %s%s", map[bool]string{true: "≤", false: "≥"}[r.AtMost], number(r.Bound, noDecimals), r.judgement(), doubt)
}

func (r Result) judgement() string {
	switch {
	case r.MetByMedianOnly():
		return "met by the median"
	case r.met():
		return "met"
	}
	return "MISSED"
}

// sides are the medians of what a contest compared.
func (r Result) sides() (ours, theirs string) {
	if len(r.Pairs) == 0 || r.Failed != "" {
		return "", r.Peer
	}
	ours = side(Median(column(r.Pairs, func(p Pair) float64 { return p.Ours }))) + " " + r.PairUnit
	theirs = side(Median(column(r.Pairs, func(p Pair) float64 { return p.Peer }))) + " " + r.PairUnit
	return ours, theirs + "  " + r.Peer
}

func (r Result) change(old float64) string {
	if old == 0 || r.Failed != "" {
		return ""
	}
	return fmt.Sprintf("%s (%+.0f %%)", number(old, noDecimals), 100*(r.Value/old-1))
}

package contest

import (
	"errors"
	"fmt"
	"os"
	"regexp"
)

// Step measures some rows.
type Step struct {
	Name string // what Options.Only is matched with
	Run  func() ([]Result, error)
}

// Options is how a run goes.
type Options struct {
	Out  string         // the file that the run is kept in, and that has the last one; empty: none
	Only *regexp.Regexp // measure only the steps that it matches
}

// Run takes the steps that were asked for, prints the table, and keeps it. A step that fails is a row too, so that the others
// are not lost. It fails if a bound is missed.
func (r *Record) Run(o Options, steps []Step) error {
	watch, err := newWatch()
	if err != nil {
		return err
	}
	r.Warn(watch.before()...)
	for _, s := range steps {
		if o.Only.MatchString(s.Name) {
			r.Results = append(r.Results, s.take(watch)...)
		}
	}
	if len(r.Results) == 0 {
		return errors.New("-only matches no row")
	}
	return report(o.Out, r)
}

// take measures a step and looks whether it was disturbed.
func (s Step) take(watch *watch) []Result {
	fmt.Fprintf(os.Stderr, "measuring %s\n", s.Name)
	rows, err := s.Run()
	if err != nil {
		rows = s.failure(rows, err)
	}
	if others := watch.others(); others > quiet {
		for i := range rows {
			rows[i].Others = others
		}
	}
	return rows
}

// failure is what stands in the table for a step that could not be measured.
func (s Step) failure(rows []Result, err error) []Result {
	r := Result{What: s.Name}
	if len(rows) > 0 {
		r = rows[0]
	}
	r.Failed = err.Error()
	return []Result{r}
}

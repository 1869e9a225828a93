package contest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
)

// Step measures some rows.
type Step struct {
	Name    string // what Options.Only is matched with
	Run     func() ([]Result, error)
	Watches bool // it looks itself whether others use the machine
}

// Run takes the steps that were asked for, prints the table, and keeps it. It fails if a bound is missed.
func (r *Record) Run(o Options, steps []Step) error {
	if err := r.Take(context.Background(), o.Only, steps); err != nil {
		return err
	}
	if err := r.Print(o.Out); err != nil {
		return err
	}
	if o.Out != "" {
		if err := keep(o.Out, r); err != nil {
			return err
		}
	}
	return r.Missed()
}

// Take measures the steps whose names match, until the context ends. A step that fails is a row too, so that the others are
// not lost.
func (r *Record) Take(ctx context.Context, only *regexp.Regexp, steps []Step) error {
	watch, err := newWatch()
	if err != nil {
		return err
	}
	r.Warn(watch.before()...)
	for _, s := range steps {
		if only.MatchString(s.Name) {
			r.Results = append(r.Results, s.take(watch)...)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if len(r.Results) == 0 {
		return errors.New("there is no such row to measure")
	}
	return nil
}

// take measures a step and looks whether it was disturbed.
func (s Step) take(watch *watch) []Result {
	fmt.Fprintf(os.Stderr, "measuring %s\n", s.Name)
	rows, err := s.Run()
	if err != nil {
		rows = s.failure(rows, err)
	}
	if others := watch.others(); others > quiet && !s.Watches {
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

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/bench/sweep"
	"github.com/weft-fabric/weft/internal/units"
)

// sweepReport is what weft sim multicast tells programs.
type sweepReport struct {
	Version     string          `json:"weft"`
	Rate        float64         `json:"rate"` // of a link, in bits a second
	Fabric      cast.Fabric     `json:"fabric"`
	Offload     bool            `json:"offload"`
	Seed        uint64          `json:"seed"`
	Results     []*sweep.Row    `json:"results"`
	Best        []int           `json:"best"` // index of the fastest result for each group and size
	Omitted     []sweep.Omitted `json:"omitted,omitempty"`
	Interrupted bool            `json:"interrupted"`
	Error       string          `json:"error,omitempty"`
}

// sweepShow shows how a sweep goes: rows of a table as they come, or one JSON object in the end.
type sweepShow struct {
	plan     *sweep.Plan
	out      io.Writer
	errs     io.Writer
	asJSON   bool
	verbose  bool
	progress *progress
	far      sweepProgress
	omitted  []sweep.Omitted
	rows     []*sweep.Row
	err      error // the first failure to print
}

func newSweepShow(cmd *cobra.Command, o *simMulticastOptions, plan *sweep.Plan) *sweepShow {
	s := &sweepShow{plan: plan, out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), asJSON: o.asJSON, verbose: o.verbose}
	s.progress = newProgress(cmd.ErrOrStderr(), o.mute, s.far.line)
	return s
}

// runAll simulates one case after the other.
func (s *sweepShow) runAll(ctx context.Context, cases []sweep.Case) error {
	for i, c := range cases {
		s.far.next(i, c)
		row, err := s.plan.Run(ctx, c, cast.Watch{Begin: s.far.begin})
		if err != nil {
			return err
		}
		s.row(row)
	}
	return nil
}

// head stands above everything.
func (s *sweepShow) head() {
	for _, line := range s.plan.About() {
		s.printf("%s\n", line)
	}
	s.printf("\n")
	s.line(func(c sweep.Column) string { return c.Head })
}

// row shows one result.
func (s *sweepShow) row(r *sweep.Row) {
	s.rows = append(s.rows, r)
	s.line(func(c sweep.Column) string { return c.Cell(r) })
	if s.verbose {
		s.printf("  %s, at best %d; predicted %s; first receiver %s\n", counted(r.Steps, "step"), r.BoundSteps,
			seconds(r.Predicted), seconds(slices.Min(r.Members[1:])))
		if r.Pace > 0 {
			s.printf("  a pace of %s between blocks of a member\n", seconds(r.Pace))
		}
		s.printf("  simulated in %s: %d events, %v of memory\n", seconds(r.Wall), r.Events, units.Size(r.PeakMemory>>20<<20))
	}
}

// line prints one line of the table: words at the left of their column, numbers at the right.
func (s *sweepShow) line(cell func(sweep.Column) string) {
	var words []string
	for _, c := range s.plan.Columns() {
		text := cell(c)
		space := strings.Repeat(" ", max(0, c.Width-utf8.RuneCountInString(text)))
		if c.Left {
			words = append(words, text+space)
		} else {
			words = append(words, space+text)
		}
	}
	s.printf("%s\n", strings.TrimRight(strings.Join(words, " "), " "))
}

// finish prints what is left to print: the object, or what was best.
func (s *sweepShow) finish(failed error) error {
	if s.asJSON {
		return s.object(failed)
	}
	if len(s.rows) > 0 {
		s.printf("\n")
	}
	for _, r := range sweep.Winners(s.rows) {
		s.printf("%s\n", s.plan.Praise(r))
	}
	s.notes()
	return s.err
}

// notes say what is not in the table, and explain what is.
func (s *sweepShow) notes() {
	for _, o := range s.omitted {
		s.printf("%v to %d is left out: %d transfers of a block take minutes.\nBy its formula it takes %s. Name it to have it simulated.\n", o.Algorithm, o.Nodes, o.Transfers, seconds(o.Seconds))
	}
	if s.plan.All && len(s.plan.Fabric.Racks) > 0 && !sweep.TwoLevels(s.plan.Fabric.Racks) {
		s.printf("Those for racks are left out: they need two racks, and two nodes in one of them.\n")
	}
	if len(s.rows) == 0 {
		return
	}
	if slices.ContainsFunc(s.rows, func(r *sweep.Row) bool { return r.Pace > 0 }) {
		s.printf("%s\n", sweep.PaceNote)
	}
	s.printf("s/c: stripes and credits; bound and copy: see --help\n")
}

func (s *sweepShow) object(failed error) error {
	p := s.plan
	r := sweepReport{Version: version, Rate: p.Rate, Fabric: p.Fabric.Used(), Offload: p.Offload, Seed: p.Seed, Results: []*sweep.Row{}, Best: []int{}, Omitted: s.omitted}
	for _, row := range s.rows {
		if !s.verbose {
			row.Members = nil
		}
		r.Results = append(r.Results, row)
	}
	for _, row := range sweep.Best(s.rows) {
		r.Best = append(r.Best, slices.Index(s.rows, row))
	}
	if failed != nil {
		r.Interrupted, r.Error = isInterrupt(failed), failed.Error()
	}
	return json.NewEncoder(s.out).Encode(r)
}

func (s *sweepShow) printf(format string, args ...any) {
	if s.asJSON {
		return
	}
	s.progress.hide(func() {
		if _, err := fmt.Fprintf(s.out, format, args...); s.err == nil {
			s.err = err
		}
	})
}

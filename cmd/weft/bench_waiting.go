package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/bench/waiting"
)

// benchWaitingOptions are the flags of weft bench waiting.
type benchWaitingOptions struct {
	rounds       int
	plot, out    string
	asJSON, mute bool
}

func newBenchWaiting() *cobra.Command {
	o := &benchWaitingOptions{}
	cmd := &cobra.Command{
		Use:   "waiting",
		Short: "What polling, sleeping and NICs that relay cost, in rate and time",
		Long: `Multicasts between processes of this machine, whose members poll, sleep, or poll
for a moment and then sleep; and whose blocks are sent on by their loops, or by
their NICs, with requests that are chained to arrivals (RDMC, section 5.2.3,
figures 11 and 12). Over shared memory, TCP and, for root, links that are
limited to 400 Mbit/s.

All ways take turns in every round, and ratios are taken within a round. It ends
within five minutes, and leaves out rounds if it must. What else runs on the
machine shows in the numbers.

Exit status 1 if a claim does not hold or could not be measured.`,
		Example: `  weft bench waiting
  weft bench waiting --rounds 1 --plot waiting.html
  weft bench waiting --out waiting.json        for weft bench report`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	f.IntVar(&o.rounds, "rounds", 5, "`N` samples of everything, at most")
	f.StringVar(&o.plot, "plot", "", "draw to `FILE`.svg, FILE.html, or a directory")
	f.StringVar(&o.out, "out", "", "record the run in `FILE`.json")
	f.BoolVar(&o.asJSON, "json", false, "print the record as one JSON object")
	f.BoolVarP(&o.mute, "quiet", "q", false, "no progress line")
	return cmd
}

func (o *benchWaitingOptions) run(cmd *cobra.Command, args []string) error {
	if err := errors.Join(noMore(cmd, args), o.check()); err != nil {
		return usageError{err}
	}
	record := figure.NewRecord(version, "weft bench waiting")
	measured, err := o.measure(cmd.Context(), cmd.ErrOrStderr(), record)
	if err != nil {
		return err
	}
	record.Figures = measured
	return o.show(cmd.OutOrStdout(), record)
}

// check says early what would otherwise be found out after minutes.
func (o *benchWaitingOptions) check() error {
	if o.rounds < 1 || o.rounds > waiting.MaxRounds {
		return fmt.Errorf("--rounds %d: from 1 to %d", o.rounds, waiting.MaxRounds)
	}
	if o.plot != "" {
		if err := figure.CheckPath(o.plot); err != nil {
			return fmt.Errorf("--plot %w", err)
		}
	}
	if o.out != "" && !isDirectory(filepath.Dir(o.out)) {
		return fmt.Errorf("--out %s: there is no directory %s", o.out, filepath.Dir(o.out))
	}
	return nil
}

// measure runs it, with a progress line.
func (o *benchWaitingOptions) measure(ctx context.Context, errs io.Writer, record *figure.Record) ([]*figure.Figure, error) {
	var done, all atomic.Int64
	line := newProgress(errs, o.mute, func(gone time.Duration) string {
		share := float64(done.Load()) / float64(max(1, all.Load()))
		return fmt.Sprintf("measuring [%s] %.0f %%, %v", bar(share), 100*share, gone)
	})
	line.start()
	defer line.stop()
	warn := func(text string) {
		line.hide(func() { fmt.Fprintln(errs, "weft:", text) })
		record.Warnings = append(record.Warnings, text)
	}
	for _, doubt := range contest.Look() {
		warn(doubt)
	}
	return waiting.Run(ctx, waiting.Options{Rounds: o.rounds, Warn: warn,
		Progress: func(d, a int) { done.Store(int64(d)); all.Store(int64(a)) }})
}

// show prints, draws and keeps the record, whichever was asked for, and fails if a claim does not hold.
func (o *benchWaitingOptions) show(out io.Writer, record *figure.Record) error {
	var failed []error
	if o.asJSON {
		failed = append(failed, json.NewEncoder(out).Encode(record))
	} else {
		failed = append(failed, figure.PrintAll(out, nil, record.Figures))
	}
	if o.plot != "" {
		about, figures := figure.Page([]string{"waiting"}, []*figure.Record{record})
		failed = append(failed, figure.Draw(o.plot, record.Figures[0].Title, about, figures...))
	}
	if o.out != "" {
		failed = append(failed, figure.Save(o.out, record))
	}
	return errors.Join(append(failed, figure.Verdict(record.Figures))...)
}

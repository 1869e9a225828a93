package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/bench/paper"
)

// paperReport is what weft sim paper tells programs.
type paperReport struct {
	Version     string           `json:"weft"`
	Seed        uint64           `json:"seed"`
	Short       bool             `json:"short"`
	Figures     []*figure.Figure `json:"figures"`
	Holds       bool             `json:"holds"` // all claims of all experiments that were to be done
	Interrupted bool             `json:"interrupted"`
	Error       string           `json:"error,omitempty"`
}

// paperShow shows how experiments go: figures as they come, or one JSON object in the end.
type paperShow struct {
	out      io.Writer
	asJSON   bool
	progress *progress
	far      paperProgress
	report   paperReport
	err      error // the first failure to print
}

// run does one experiment after the other, and prints what comes of it, also if it is interrupted.
func (s *paperShow) run(ctx context.Context, scenarios []paper.Scenario, o *simPaperOptions) error {
	s.far.all = len(scenarios)
	s.progress.start()
	defer context.AfterFunc(ctx, s.progress.giveWay)()
	err := s.runAll(ctx, scenarios, paper.Options{Seed: o.seed, Short: o.short, Progress: s.far.advance})
	s.progress.stop()
	err = orStopped(ctx, err, fmt.Sprintf("%d of %s were done", len(s.report.Figures), counted(len(scenarios), "experiment")), o.record, o.plot)
	return errors.Join(err, s.finish(err))
}

func (s *paperShow) runAll(ctx context.Context, scenarios []paper.Scenario, options paper.Options) error {
	for i, scenario := range scenarios {
		s.far.next(i, scenario.Name)
		f, err := scenario.Run(ctx, options)
		if err != nil {
			return fmt.Errorf("%s: %w", scenario.Name, err)
		}
		s.add(f)
	}
	return nil
}

// add shows a figure.
func (s *paperShow) add(f *figure.Figure) {
	s.report.Figures = append(s.report.Figures, f)
	if s.asJSON {
		return
	}
	s.progress.hide(func() {
		if len(s.report.Figures) > 1 {
			fmt.Fprintln(s.out)
		}
		s.err = errors.Join(s.err, f.Print(s.out))
	})
}

// finish prints the object, if that is wanted.
func (s *paperShow) finish(failed error) error {
	r := &s.report
	r.Holds = failed == nil && s.verdict() == nil
	if !s.asJSON {
		return s.err
	}
	if failed != nil {
		r.Interrupted, r.Error = isInterrupt(failed), failed.Error()
	}
	return json.NewEncoder(s.out).Encode(r)
}

// verdict names the experiments of which a claim does not hold.
func (s *paperShow) verdict() error { return figure.Verdict(s.report.Figures) }

// paperProgress is how far experiments are. Any goroutine may use it.
type paperProgress struct {
	all int // experiments; set before anything else

	mu         sync.Mutex
	number     int // of the experiment, from 1
	name       string
	done, size int // its parts; size 0: none is done
}

// next is told which experiment begins.
func (p *paperProgress) next(i int, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number, p.name, p.done, p.size = i+1, name, 0, 0
}

// advance is told that a part of it is done.
func (p *paperProgress) advance(done, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.size = done, size
}

// line says how far it is, after some time.
func (p *paperProgress) line(gone time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	share := 0.0
	if p.size > 0 {
		share = float64(p.done) / float64(p.size)
	}
	return fmt.Sprintf("%d of %d: %s [%s] %.0f %%, %v", p.number, p.all, p.name, bar(share), 100*share, gone)
}

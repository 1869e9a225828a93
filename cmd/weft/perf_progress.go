package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/weft-fabric/weft/bench/perftest"
)

// perfProgress is how far a client of weft perf is.
type perfProgress struct {
	mu       sync.Mutex
	expected time.Duration // zero: not known
	runs     int
	pairs    int
	index    int // of the run; below zero: none has begun
	run      perftest.Run
}

// expect is told what there is to do.
func (p *perfProgress) expect(plan perftest.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs, p.pairs, p.expected = len(plan.Runs()), plan.Pairs, 0
	if plan.Iterations == 0 {
		p.expected = time.Duration(p.runs) * (plan.Duration + plan.WarmUp)
	}
}

// begin is told which run is next.
func (p *perfProgress) begin(index int, run perftest.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index, p.run = index, run
}

// line says how far it is, after some time.
func (p *perfProgress) line(gone time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.index < 0 {
		return fmt.Sprintf("setting up %s, %v", counted(p.pairs, "queue pair"), gone)
	}
	line := fmt.Sprintf("%d of %d: %v, %v", p.index+1, p.runs, p.run, gone)
	if p.expected > 0 {
		line += fmt.Sprintf(" of about %v", max(gone, p.expected.Round(time.Second)))
	}
	return line
}

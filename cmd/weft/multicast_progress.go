package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/internal/units"
)

// barWidth is how many characters the bar of a progress line has.
const barWidth = 24

// castProgress is how far a multicast is. Any goroutine may use it.
type castProgress struct {
	mu      sync.Mutex
	size    uint64
	members int
	run     int // below zero: the plain copy
	runs    int // zero: none has begun
	blocks  int
	advance func() int // blocks of the run that are through
}

// expect is told what there is to do.
func (p *castProgress) expect(job *cast.Job) {
	p.size, p.members = job.Size, len(job.Members)
}

// formed is told in how many blocks that will be.
func (p *castProgress) formed(blocks int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocks = blocks
}

// begin is told that a run begins.
func (p *castProgress) begin(run, runs int, advance func() int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run, p.runs, p.advance = run, runs, advance
}

// line says how far it is, after some time.
func (p *castProgress) line(gone time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == 0 {
		return fmt.Sprintf("bringing %d members together, %v", p.members, gone)
	}
	what := "one copy"
	if p.run >= 0 {
		what = fmt.Sprintf("run %d of %d", p.run+1, p.runs)
	}
	share := float64(p.advance()) / float64(p.blocks)
	full := int(share * barWidth)
	return fmt.Sprintf("%s [%s%s] %.0f %% of %v, %v", what, strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), 100*share, units.Size(p.size), gone)
}

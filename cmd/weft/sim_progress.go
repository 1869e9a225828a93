package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/bench/sweep"
	"github.com/weft-fabric/weft/internal/units"
)

// sweepProgress is how far a sweep is. Any goroutine may use it.
type sweepProgress struct {
	all int // cases; set before anything else

	mu      sync.Mutex
	number  int // of the case, from 1; 0: none has begun
	at      sweep.Case
	advance func() int // blocks of it that are through; nil: its group is not there yet
}

// next is told which case begins.
func (p *sweepProgress) next(i int, c sweep.Case) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number, p.at, p.advance = i+1, c, nil
}

// begin is told that the message is sent.
func (p *sweepProgress) begin(_, _ int, advance func() int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance = advance
}

// line says how far it is, after some time.
func (p *sweepProgress) line(gone time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.number == 0:
		return fmt.Sprintf("%d to simulate, %v", p.all, gone)
	case p.advance == nil:
		return fmt.Sprintf("%d of %d: bringing %d nodes together, %v", p.number, p.all, p.at.Nodes, gone)
	}
	share := float64(p.advance()) / float64(p.at.Blocks())
	return fmt.Sprintf("%d of %d: %v [%s] %.0f %% of %v to %d nodes, %v", p.number, p.all, p.at.Algorithm, bar(share), 100*share,
		units.Size(p.at.Size), p.at.Nodes, gone)
}

// bar draws a share of 1.
func bar(share float64) string { return wideBar(share, barWidth) }

func wideBar(share float64, columns int) string {
	full := min(max(int(share*float64(columns)), 0), columns)
	return strings.Repeat("=", full) + strings.Repeat(" ", columns-full)
}

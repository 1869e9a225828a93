package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/bench/perftest"
)

// When a progress line appears, and how often it changes on a terminal and elsewhere.
const (
	progressAfter  = time.Second
	progressEvery  = 200 * time.Millisecond
	progressSeldom = 10 * time.Second
)

// progress says on standard error how far a client is, if it takes longer than a second. On a terminal it is one line
// that is written over, elsewhere a line now and then.
type progress struct {
	out      io.Writer
	terminal bool
	mute     bool
	started  time.Time
	stopped  chan struct{} // closed by stop
	running  sync.WaitGroup

	mu       sync.Mutex
	expected time.Duration // zero: not known
	runs     int
	pairs    int
	index    int // of the run; below zero: none has begun
	run      perftest.Run
	shown    bool // a line stands on the terminal
}

func newProgress(out io.Writer, mute bool) *progress {
	return &progress{out: out, terminal: isTerminal(out), mute: mute}
}

// isTerminal reports whether a person looks at it.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

func (p *progress) start(plan perftest.Plan) {
	p.started, p.stopped, p.index = time.Now(), make(chan struct{}), -1
	p.expect(plan)
	if !p.mute {
		p.running.Go(p.runTicks)
	}
}

// expect is told what there is to do.
func (p *progress) expect(plan perftest.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs, p.pairs, p.expected = len(plan.Runs()), plan.Pairs, 0
	if plan.Iterations == 0 {
		p.expected = time.Duration(p.runs) * (plan.Duration + plan.WarmUp)
	}
}

// stop ends the line, and waits for its goroutine.
func (p *progress) stop() {
	close(p.stopped)
	p.running.Wait()
	p.hide(func() {})
}

// runTicks shows the line now and then, until stop.
func (p *progress) runTicks() {
	every, first := progressSeldom, progressSeldom
	if p.terminal {
		every, first = progressEvery, progressAfter
	}
	ticks := time.NewTimer(first)
	defer ticks.Stop()
	for {
		select {
		case <-p.stopped:
			return
		case <-ticks.C:
			p.show()
			ticks.Reset(every)
		}
	}
}

// begin is told which run is next.
func (p *progress) begin(index int, run perftest.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index, p.run = index, run
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.line(time.Since(p.started).Round(time.Second))
	if !p.terminal {
		fmt.Fprintln(p.out, line)
		return
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", line)
	p.shown = true
}

// line says how far it is, after some time.
func (p *progress) line(gone time.Duration) string {
	if p.index < 0 {
		return fmt.Sprintf("setting up %s, %v", counted(p.pairs, "queue pair"), gone)
	}
	line := fmt.Sprintf("%d of %d: %v, %v", p.index+1, p.runs, p.run, gone)
	if p.expected > 0 {
		line += fmt.Sprintf(" of about %v", max(gone, p.expected.Round(time.Second)))
	}
	return line
}

// hide takes the line away while print writes to the same terminal.
func (p *progress) hide(print func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
	print()
}

// isInterrupt reports whether an error only says that somebody wanted an end.
func isInterrupt(err error) bool { return errors.Is(err, context.Canceled) }

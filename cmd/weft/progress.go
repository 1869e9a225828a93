package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// When a progress line appears, and how often it changes on a terminal and elsewhere.
const (
	progressAfter  = time.Second
	progressEvery  = 200 * time.Millisecond
	progressSeldom = 10 * time.Second
)

// progress says on standard error how far a command is, if it takes longer than a second. On a terminal it is one line,
// or a few, that are written over, elsewhere a line now and then.
type progress struct {
	out      io.Writer
	terminal bool
	mute     bool
	after    time.Duration                   // when it appears on a terminal
	line     func(gone time.Duration) string // says how far it is, after some time
	started  time.Time
	stopped  chan struct{} // closed by stop
	running  sync.WaitGroup

	mu    sync.Mutex
	drawn []string // the lines that stand on the terminal
	over  bool     // there is nothing to show any more
}

func newProgress(out io.Writer, mute bool, line func(time.Duration) string) *progress {
	return &progress{out: out, terminal: isTerminal(out) && os.Getenv("TERM") != "dumb", mute: mute, after: progressAfter, line: line}
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

func (p *progress) start() {
	p.started, p.stopped = time.Now(), make(chan struct{})
	if !p.mute {
		p.running.Go(p.runTicks)
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
		every, first = progressEvery, p.after
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

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.line(time.Since(p.started).Round(time.Second))
	switch {
	case p.over:
	case p.terminal:
		p.draw(strings.Split(line, "\n"), width(p.out), "")
	default:
		fmt.Fprintln(p.out, line)
	}
}

// draw writes lines over those that stand there, in one go: what does not change does not flicker. What is above them stays. An empty list
// takes them away.
func (p *progress) draw(lines []string, columns int, above string) {
	text := toTop(p.drawn, columns) + strings.ReplaceAll(above, "\n", "\x1b[K\n")
	for i, line := range lines {
		lines[i] = fitting(line, columns)
		if i > 0 {
			text += "\n"
		}
		text += lines[i] + "\x1b[K"
	}
	p.drawn = lines
	fmt.Fprint(p.out, text+"\x1b[J")
}

// say writes a line, or several, that stays above what is written over.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.drawn) == 0 {
		fmt.Fprintln(p.out, text)
		return
	}
	p.draw(p.drawn, width(p.out), text+"\n")
}

// toTop moves the cursor from the end of lines to the beginning of the first.
func toTop(lines []string, columns int) string {
	rows := 0
	for _, line := range lines {
		rows += rowsOf(line, columns)
	}
	if rows < 2 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", rows-1)
}

// rowsOf is how many rows of the terminal a line takes: more than one, if the terminal was made narrower since it was written.
func rowsOf(line string, columns int) int {
	if columns == 0 {
		return 1
	}
	return 1 + max(0, utf8.RuneCountInString(line)-1)/columns
}

// width is how many columns a terminal has, or 0 if that is not known.
func width(out io.Writer) int {
	file, ok := out.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// fitting cuts a line so that it can be written over: one that is wider than the terminal would take two.
func fitting(line string, columns int) string {
	if runes := []rune(line); columns > 0 && len(runes) >= columns {
		return string(runes[:columns-1])
	}
	return line
}

// giveWay takes the line away for good: what comes now is the end.
func (p *progress) giveWay() { p.hide(func() { p.over = true }) }

// hide takes the line away while print writes to the same terminal.
func (p *progress) hide(print func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.drawn) > 0 {
		p.draw(nil, width(p.out), "")
	}
	print()
}

// isInterrupt reports whether an error only says that somebody wanted an end.
func isInterrupt(err error) bool {
	return errors.Is(err, context.Canceled) || errors.As(err, new(stoppedError))
}

package delivery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/weft-fabric/weft/push"
)

// pushing hears what a pusher says while it runs: an object a line. It is written to by one goroutine, and read when that has ended.
type pushing struct {
	Push
	kill, stop func()
	line       []byte // that has not ended
	killed     bool
	enough     bool
	report     *push.Report
	doneAt     map[string]time.Time
	done       map[string]time.Duration // by host, from the beginning
	took       time.Duration            // of its process
	broken     error
}

// Write takes what was said.
func (p *pushing) Write(b []byte) (int, error) {
	p.line = append(p.line, b...)
	for {
		line, rest, whole := bytes.Cut(p.line, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		p.hear(line)
		p.line = rest
	}
}

func (p *pushing) hear(line []byte) {
	var e push.Event
	if err := json.Unmarshal(line, &e); err != nil {
		p.broken = errors.Join(p.broken, fmt.Errorf("weft push says %.100q: %w", line, err))
		return
	}
	switch {
	case e.Kind == push.EventHostDone:
		p.doneAt[e.Host] = e.Time
	case e.Kind == push.EventReport && e.Report != nil:
		p.report = e.Report
		for host, at := range p.doneAt {
			p.done[host] = at.Sub(e.Time.Add(-e.Report.Elapsed))
		}
	case p.Kill > 0 && !p.killed && e.Kind == push.EventProgress && e.Progress != nil && e.Progress.Phase == "send" && 2*e.Progress.Done >= e.Progress.Total && e.Progress.Total > 0:
		p.killed = true
		p.kill()
	}
	if p.Enough != nil && p.Enough(e) && !p.enough { // it hears of the end, too: the next push may be another one's
		p.enough = true
		p.stop()
	}
}

// judge says whether a push ended as it should.
func (p *pushing) judge(ended error, said string) error {
	switch {
	case p.broken != nil:
		return p.broken
	case p.report == nil:
		return errors.Join(ended, errNoReport, errors.New(said))
	case p.enough:
		return nil
	}
	var exit *exec.ExitError
	if p.Kill > 0 && errors.As(ended, &exit) && exit.ExitCode() == push.ExitPartial && p.failed() == 1 {
		return nil
	}
	if p.Kill > 0 && ended == nil {
		return errors.New("an agent was to be killed, and nobody noticed")
	}
	return ended
}

// failed is how many hosts have failed.
func (p *pushing) failed() (n int) {
	for _, h := range p.report.Hosts {
		if h.Outcome != push.OutcomeVerified {
			n++
		}
	}
	return n
}

// Last is when the last host was done, of all but one.
func (p *Pushed) Last(except string) (last time.Duration) {
	for host, done := range p.Done {
		if host != except {
			last = max(last, done)
		}
	}
	return last
}

// First is when the last host had its first block.
func (p *Pushed) First() (first time.Duration, err error) {
	for _, h := range p.Report.Hosts {
		if h.First <= 0 {
			return 0, fmt.Errorf("host %s has had no block when the push ended: %s", h.Host, h.Text)
		}
		first = max(first, h.First)
	}
	return first, nil
}

// processTime is what a process has used of the cores, in seconds.
func processTime(pid int) (float64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	return parseProcessTime(string(text))
}

// parseProcessTime adds user and system time, which stand behind the program's name. That is in parentheses, and may have any in it.
func parseProcessTime(stat string) (float64, error) {
	const user, system, tick = 11, 12, 100 // USER_HZ is 100 on every Linux that Go runs on
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= system {
		return 0, fmt.Errorf("the state of a process is %q", stat)
	}
	sum := 0
	for _, i := range []int{user, system} {
		n, err := strconv.Atoi(fields[i])
		if err != nil || n < 0 {
			return 0, fmt.Errorf("a process has used %q ticks", fields[i])
		}
		sum += n
	}
	return float64(sum) / tick, nil
}

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
)

// How pushes of these tests go: slow enough that things can happen on the way, and in blocks that can be counted.
const (
	fleetBlock = 64 << 10
	fleetRate  = "2MB"
)

// underWay is a push that is a process, and tells events.
type underWay struct {
	t      *testing.T
	cmd    *exec.Cmd
	events *json.Decoder
	report *push.Report // nil: it has not ended, or without a word
	story  lines        // what happened, but for progress
	errs   lines
}

// pushLine is the command line of such a push.
func (f *fleet) pushLine() []string { return f.pushTo(".") }

// pushTo is one to another place.
func (f *fleet) pushTo(dest string) []string {
	return []string{"push", f.source, dest, "--keys", f.pusher, "-w", f.hostlist(), "--block", fmt.Sprint(fleetBlock), "--provider", cmp.Or(f.way, "tcp")}
}

// push starts to push the tree to all agents.
func (f *fleet) push(args ...string) *underWay {
	f.t.Helper()
	return f.begin(append(f.pushLine(), args...)...)
}

// begin starts a push by a command line.
func (f *fleet) begin(line ...string) *underWay {
	f.t.Helper()
	return f.beginTold(nil, line...)
}

// beginTold is begin, with something on standard input.
func (f *fleet) beginTold(in io.Reader, line ...string) *underWay {
	f.t.Helper()
	u := &underWay{t: f.t}
	u.cmd = f.command(0, append(line, "--json")...)
	u.cmd.Stdin = in
	u.cmd.Stderr = &u.errs
	out, err := u.cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := u.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	u.events = json.NewDecoder(out)
	return u
}

// plainly runs a command for people, and returns what they see.
func (f *fleet) plainly(line ...string) (status int, said string) {
	f.t.Helper()
	var out lines
	cmd := f.command(0, line...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	return ended(f.t, cmd), out.String()
}

// slowly has a push take its time.
func (f *fleet) slowly(args ...string) *underWay {
	f.t.Helper()
	return f.push(append(args, "--bwlimit", fleetRate)...)
}

// next is the next event; false: there are no more.
func (u *underWay) next() (e push.Event, more bool) {
	u.t.Helper()
	hung := time.AfterFunc(100*time.Second, func() { u.cmd.Process.Signal(syscall.SIGABRT) })
	defer hung.Stop()
	err := u.events.Decode(&e)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		u.t.Fatalf("%v: %s%s", err, &u.story, &u.errs)
	}
	if e.Kind == push.EventReport {
		u.report = e.Report
	}
	if e.Kind != push.EventProgress {
		text, _ := json.Marshal(e)
		u.story.Write(append(text, '\n'))
	}
	return e, err == nil
}

// until waits for something to happen, and reports whether it did.
func (u *underWay) until(happens func(push.Event) bool) bool {
	u.t.Helper()
	for {
		e, more := u.next()
		if !more || happens(e) {
			return more
		}
	}
}

// end waits for the end, which must be with a status. There is a report, unless the process was killed.
func (u *underWay) end(status int) *push.Report {
	u.t.Helper()
	u.until(func(push.Event) bool { return false })
	u.cmd.Wait()
	if got := u.cmd.ProcessState.ExitCode(); got != status || status >= 0 && (u.report == nil || u.report.Exit != status) {
		u.t.Fatalf("it ended with status %d, want %d: %s%s", got, status, &u.story, &u.errs)
	}
	return u.report
}

// begins is that a phase does.
func begins(phase string) func(push.Event) bool {
	return func(e push.Event) bool { return e.Kind == push.EventPhase && e.Phase == phase }
}

// happened is that something was told of a host.
func happened(kind push.EventKind, host string) func(push.Event) bool {
	return func(e push.Event) bool { return e.Kind == kind && e.Host == host }
}

// passes is that so much time has passed, by the push's own clock.
func passes(long time.Duration) func(push.Event) bool {
	after := time.Now().Add(long)
	return func(e push.Event) bool { return e.Time.After(after) }
}

// says expects that an agent has failed for a reason.
func says(t *testing.T, r *push.Report, a *fleetAgent, text string) {
	t.Helper()
	if h := outcomeOf(r, a); h.Outcome != push.OutcomeFailed || !strings.Contains(h.Text, text) {
		t.Errorf("of %s it says %s: %q, and not %q", a.name, h.Outcome, h.Text, text)
	}
}

// failedAs is says, with the class of the trouble.
func failedAs(t *testing.T, r *push.Report, a *fleetAgent, class control.Class, text string) {
	t.Helper()
	says(t, r, a, text)
	if h := outcomeOf(r, a); h.Class != class {
		t.Errorf("of %s it says %s, and not %s: %s", a.name, h.Class, class, h.Text)
	}
}

// long is the first number, or the second if there is time.
func long(short, full int) int {
	if isLong() {
		return full
	}
	return short
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/rig/softroce/machine"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestWrongUsage starts nothing.
func TestWrongUsage(t *testing.T) {
	for _, line := range []string{"", "--nonsense", "--tests x true", "--timeout soon true", "--tests /nowhere", "--machines 3 true"} {
		var out, errs bytes.Buffer
		status := run(t.Context(), strings.Fields(line), &out, &errs)
		if status != exitUsage || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("softroce %s: status %d, %q, %q", line, status, out.String(), errs.String())
		}
	}
}

func TestHelpIsForPeople(t *testing.T) {
	var out, help bytes.Buffer
	if status := run(t.Context(), []string{"--cpus", "4", "--help"}, &out, &help); status != 0 {
		t.Errorf("status %d", status)
	}
	if text := help.String(); strings.Contains(text, "inside") || !strings.Contains(text, "processors of a machine (default 2)") {
		t.Error(text)
	}
}

// TestAPanicIsTriedOnceMore has everything else, and a second panic, be what it is.
func TestAPanicIsTriedOnceMore(t *testing.T) {
	panicked, broken := fmt.Errorf("machine 1: %w", machine.ErrPanic), errors.New("broken")
	for _, c := range []struct {
		ends []error
		runs int
	}{{[]error{nil}, 1}, {[]error{broken}, 1}, {[]error{panicked, nil}, 2}, {[]error{panicked, broken}, 2}, {[]error{panicked, panicked}, 2}} {
		var log bytes.Buffer
		runs := 0
		_, err := twice(&log, func() (int, error) { runs++; return 0, c.ends[runs-1] })
		if want := c.ends[len(c.ends)-1]; !errors.Is(err, want) || runs != c.runs || (log.Len() > 0) != (runs > 1) {
			t.Errorf("%v: %d runs, %v, %q", c.ends, runs, err, log.String())
		}
	}
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{signalError{syscall.SIGINT}, 130},
		{signalError{syscall.SIGTERM}, 143},
		{fmt.Errorf("machine 1: %w", errTimeout), 124},
		{fmt.Errorf("%w: x", errUsage), 2},
		{machine.ErrUnavailable, 125},
		{errors.New("x"), 125},
	} {
		if got := exitStatus(c.err); got != c.want {
			t.Errorf("%v: %d, not %d", c.err, got, c.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	got := environment([]string{"PATH=/bin", "SECRET=1", "WEFT_SEED=a=b", "GOMAXPROCS=2", "HOME=/root", "LANG=C"})
	want := []string{"PATH=/bin:/usr/sbin:/sbin", "WEFT_SEED=a=b", "GOMAXPROCS=2", "HOME=/root"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestNotTestedIsLoud(t *testing.T) {
	var said bytes.Buffer
	if status := notTested(&said, machine.ErrUnavailable, false); status != 0 {
		t.Errorf("on a desk the status is %d", status)
	}
	if !strings.Contains(said.String(), "real verbs were NOT tested") {
		t.Errorf("it says %q", said.String())
	}
	if status := notTested(&said, machine.ErrUnavailable, true); status == 0 {
		t.Error("continuous integration does not notice")
	}
}

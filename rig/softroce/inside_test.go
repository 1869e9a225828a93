package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// jobOf is a job whose test binary is a shell script.
func jobOf(t *testing.T, script string) job {
	binary := filepath.Join(t.TempDir(), "x.test")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return job{Name: "./x", Folder: "/", Binary: binary, Flags: []string{"-test.run=X"}, Skips: []skip{{"Test[YZ]", "no "}}}
}

// runScripts runs jobs as the guest does.
func runScripts(t *testing.T, scripts ...string) (status int, out, log string) {
	t.Setenv("WEFT_PEER", "")
	var jobs []job
	for _, script := range scripts {
		jobs = append(jobs, jobOf(t, script))
	}
	plan := filepath.Join(t.TempDir(), "plan")
	if err := writeJobs(plan, jobs); err != nil {
		t.Fatal(err)
	}
	var o, l bytes.Buffer
	status = run(t.Context(), []string{"--timeout", "4m", "--inside", plan}, &o, &l)
	return status, o.String(), l.String()
}

const pass = "echo '--- PASS: TestX (0.00s)'\n"

func TestInsidePasses(t *testing.T) {
	status, out, log := runScripts(t, pass+`echo "$PWD $*"`, pass+skipped("TestY", "no atomics"))
	if status != 0 || strings.Count(out, "ok   ./x") != 2 || !strings.Contains(out, "     skipped: TestY: no atomics\n") {
		t.Errorf("status %d: %s", status, out)
	}
	if strings.Count(out, "no longer skipped, though the list allows it: Test[YZ]: no") != 1 {
		t.Errorf("it does not say of the first that a skip was allowed in vain: %s", out)
	}
	if !strings.Contains(log, "/ -test.v -test.timeout=4m0s -test.run=X\n") {
		t.Errorf("the log is %q", log)
	}
}

// skipped is a script that writes what a skipped test does.
func skipped(test, reason string) string {
	return fmt.Sprintf("echo '=== RUN   %s'\necho '    x_test.go:1: %s'\necho '--- SKIP: %s (0.00s)'\n", test, reason, test)
}

// TestInsideUnlistedSkip has tests skip themselves that may not at all, or not for this reason.
func TestInsideUnlistedSkip(t *testing.T) {
	for _, c := range []struct{ test, reason string }{{"TestNew", "no atomics"}, {"TestYes", "no atomics"}, {"TestY", "out of order"}} {
		status, out, _ := runScripts(t, pass+skipped(c.test, c.reason))
		if status != exitFailed || !strings.Contains(out, c.test+" skipped itself, and no skip line of the list allows that: "+c.reason) {
			t.Errorf("%+v: status %d: %s", c, status, out)
		}
	}
}

// TestInsideFails shows all that the failing one wrote, and goes on to the next.
func TestInsideFails(t *testing.T) {
	for _, script := range []string{pass + "echo why; exit 1", "echo why", pass + "echo why; kill -9 $$"} {
		status, out, _ := runScripts(t, script, pass)
		if status != exitFailed || !strings.Contains(out, "why\n") || !strings.Contains(out, "FAIL ./x") || !strings.Contains(out, "ok   ./x") {
			t.Errorf("%s: status %d: %s", script, status, out)
		}
	}
}

func TestInsideWithoutPlan(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run(t.Context(), []string{"--inside", "/nowhere"}, &out, &errs); status != exitBroken {
		t.Errorf("status %d", status)
	}
}

func TestMeeting(t *testing.T) {
	home := fmt.Sprintf("127.%d.%d.1", os.Getpid()>>8&0xff, os.Getpid()&0xff) // not that of another run
	first := make(chan *meet)
	go func() {
		m, err := meeting(t.Context(), "1", home, "anybody")
		if err != nil {
			t.Error(err)
		}
		first <- m
	}()
	m2, err := meeting(t.Context(), "2", "", home)
	if err != nil {
		t.Fatal(err)
	}
	m1 := <-first
	met := make(chan error)
	for range 3 {
		var here atomic.Bool
		go func() {
			time.Sleep(10 * time.Millisecond) // lets the other come first
			here.Store(true)
			met <- m1.await()
		}()
		if err := m2.await(); err != nil || !here.Load() {
			t.Errorf("both are here: %v, %v", here.Load(), err)
		}
		if err := <-met; err != nil {
			t.Error(err)
		}
	}
	m1.Close()
	if err := m2.await(); err == nil {
		t.Error("the other is gone, and nobody notices")
	}
	m2.Close()
}

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
	return job{Name: "./x", Folder: "/", Binary: binary, Flags: []string{"-test.run=X"}}
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
	status, out, log := runScripts(t, pass+`echo "$PWD $*"`, pass+"echo '--- SKIP: TestY (0.00s)'")
	if status != 0 || strings.Count(out, "ok   ./x") != 2 || !strings.Contains(out, "skipped: TestY") {
		t.Errorf("status %d: %s", status, out)
	}
	if !strings.Contains(log, "/ -test.v -test.timeout=4m0s -test.run=X\n") {
		t.Errorf("the log is %q", log)
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

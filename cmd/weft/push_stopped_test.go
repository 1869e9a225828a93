package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
)

// An agent that is told to end while it is pushed to says so, and ends well. The others have everything, and it has what had come.
func TestPushAgentStopped(t *testing.T) {
	t.Parallel()
	for i := range long(1, 3) {
		f := newFleet(t, 3, 1<<20)
		stopped := f.agents[(i+1)%3]
		r := f.toldToEnd(stopped, push.ExitPartial)
		failedAs(t, r, stopped, control.Unreachable, "is stopping")
		if verified(r) != 2 {
			t.Errorf("%+v", r.Hosts)
		}
		missed(t, f, stopped)
		f.rerun(r)
	}
}

// With some grace it gets all of it first.
func TestPushAgentStoppedWithGrace(t *testing.T) {
	t.Parallel()
	f := idleFleet(t, 3, 1<<20)
	f.agents[0].args = []string{"--grace", "30s"}
	f.clean(f.launch().toldToEnd(f.agents[0], push.ExitOK))
}

// toldToEnd pushes, and half way has an agent end, which it does well. The push ends with a status.
func (f *fleet) toldToEnd(a *fleetAgent, status int) *push.Report {
	f.t.Helper()
	u := f.slowly()
	f.await(u, half, a)
	a.signal(syscall.SIGTERM)
	r := u.end(status)
	f.ends(a)
	return r
}

// Who takes no data that is not encrypted is not pushed to in plain; the others are.
func TestPushPlainIsRefused(t *testing.T) {
	t.Parallel()
	f := idleFleet(t, 2, 1000)
	strict := f.agents[1]
	strict.args = []string{"--no-plain"}
	r := f.launch().push("--plain").end(push.ExitPartial)
	failedAs(t, r, strict, control.Preflight, "takes no data that is not encrypted")
	f.clean(r)
	f.rerun(r)
}

// Who wants no shared memory gets it by TCP, and with it all others.
func TestPushWithoutSharedMemory(t *testing.T) {
	t.Parallel()
	f := idleFleet(t, 2, 1000)
	f.way, f.agents[1].args = push.Auto, []string{"--no-shm"}
	r := f.launch().push().end(push.ExitOK)
	if r.Plan.Way != "tcp" {
		t.Errorf("%+v", r.Plan)
	}
	f.clean(r)
}

// A partial that nobody came back for is removed when it is as old as the agent was told, and not before.
func TestPushPartialIsSwept(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, 1<<20)
	f.halted()
	missed(t, f, f.agents...)
	for _, a := range f.agents {
		age(t, partialsOf(t, a.root)[0], 2*time.Minute)
	}
	f.agents[0].args = []string{"--sweep", "1m"}
	f.start(f.agents[0])
	f.start(f.agents[1])
	for deadline := time.Now().Add(time.Minute); len(partialsOf(t, f.agents[0].root)) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is still there: %s", &f.agents[0].log)
		}
	}
	missed(t, f, f.agents[1])
	f.rerun(nil)
}

// halted pushes, and half way has everybody end.
func (f *fleet) halted() {
	f.t.Helper()
	u := f.slowly()
	f.await(u, half, f.agents[0])
	for _, a := range f.agents[1:] {
		f.await(u, moment{name: half.name, percent: half.percent}, a)
	}
	_ = u.cmd.Process.Kill()
	for _, a := range f.agents {
		a.kill()
	}
	u.end(-1)
}

// age makes a folder, and what is in it, look as if nobody had touched it for a time.
func age(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	old := time.Now().Add(-by)
	for _, path := range append(files, dir) {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

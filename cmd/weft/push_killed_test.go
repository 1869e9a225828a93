package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
)

// isLong reports whether there is time for all of it.
func isLong() bool { return os.Getenv("WEFT_LONG") != "" }

// moment is one at which something happens to a push: something is told, or an agent has so many parts of a hundred on its disk.
type moment struct {
	name    string
	comes   func(push.Event) bool
	percent int
}

var moments = []moment{
	{"scan", begins("scan"), 0},
	{"connect", begins("connect"), 0},
	{"connected", func(e push.Event) bool { return e.Kind == push.EventConnected }, 0},
	{"plan", func(e push.Event) bool { return e.Kind == push.EventPlan }, 0},
	{"manifest", begins("manifest"), 0},
	{"examine", begins("examine"), 0},
	{"send", begins("send"), 0},
	{"first block", begins("send"), 1},
	{"early", begins("send"), 10},
	{"quarter", begins("send"), 25},
	half,
	{"late", begins("send"), 85},
	{"last block", begins("send"), 99},
	{"commit", begins("commit"), 0},
	{"done", func(e push.Event) bool { return e.Kind == push.EventHostDone }, 0},
}

// await waits for a moment of a push, by what an agent has.
func (f *fleet) await(u *underWay, m moment, a *fleetAgent) {
	f.t.Helper()
	if m.comes != nil && !u.until(m.comes) {
		f.t.Fatalf("%s did not come: %s", m.name, &u.story)
	}
	blocks := f.layout().Blocks()
	for deadline := time.Now().Add(time.Minute); f.held(a)*100 < blocks*m.percent; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("%s has %d of %d blocks, and gets no more", a.name, f.held(a), blocks)
		}
	}
}

var half = moment{"half", begins("send"), 50}

// usualMoments are those for which there is always time; for the others there is with WEFT_LONG=1.
var usualMoments = []string{"connected", "manifest", "examine", "early", "half", "late", "commit"}

// atMoments has a test for each of them.
func atMoments(t *testing.T, usual []string, do func(t *testing.T, m moment)) {
	for _, m := range moments {
		if isLong() || slices.Contains(usual, m.name) {
			t.Run(m.name, func(t *testing.T) { t.Parallel(); do(t, m) })
		}
	}
}

// give has an agent have the tree already, so that there is something to be examined.
func (f *fleet) give(a *fleetAgent) {
	f.t.Helper()
	if out, err := exec.Command("cp", "-r", f.source, a.root).CombinedOutput(); err != nil {
		f.t.Fatalf("%v: %s", err, out)
	}
}

// A relay that is killed, whichever it is and whenever, is named; the others have everything; and when it comes back it is sent what it lacks.
func TestPushRelayKilled(t *testing.T) {
	t.Parallel()
	atMoments(t, usualMoments, func(t *testing.T, m moment) {
		victims := []int{slices.Index(usualMoments, m.name) % 3}
		if isLong() {
			victims = []int{0, 1, 2}
		}
		for _, victim := range victims {
			t.Run(fmt.Sprint(victim), func(t *testing.T) { newFleet(t, 3, 1<<20).survives(m, victim) })
		}
	})
}

// Two at once are no worse than one.
func TestPushTwoRelaysKilled(t *testing.T) {
	t.Parallel()
	atMoments(t, []string{"manifest", "early", "half", "late", "commit"}, func(t *testing.T, m moment) {
		for _, pair := range [][2]int{{1, 3}, {0, 1}, {0, 2}, {2, 3}}[:long(1, 4)] {
			t.Run(fmt.Sprint(pair), func(t *testing.T) { newFleet(t, 4, 1<<20).survives(m, pair[:]...) })
		}
	})
}

// Blocks in shared memory, by which agents of one host pass them on, are no worse: who is killed leaves nobody waiting.
func TestPushRelayKilledInSharedMemory(t *testing.T) {
	t.Parallel()
	atMoments(t, []string{"manifest", "half", "commit"}, func(t *testing.T, m moment) {
		for victim, way := range []string{push.Auto, "shm", push.Auto}[:long(1, 3)] {
			f := newFleet(t, 3, 1<<20)
			f.way = way
			if r := f.survives(m, victim); r.Plan.Way != "shm" {
				t.Errorf("%s is %s", way, r.Plan.Way)
			}
		}
	})
}

// survives kills some agents at a moment of a push, and pushes again. It returns how the first ended.
func (f *fleet) survives(m moment, victims ...int) *push.Report {
	f.t.Helper()
	if m.name == "examine" {
		f.give(f.agents[(victims[0]+1)%len(f.agents)])
	}
	u := f.slowly()
	f.await(u, m, f.agents[victims[0]])
	had := f.keptSince(m, f.chosen(victims)...)
	for _, v := range victims {
		f.agents[v].signal(syscall.SIGKILL)
	}
	for _, v := range victims {
		f.agents[v].kill()
	}
	r := f.ended(u)
	f.keeps(had)
	for i, a := range f.agents {
		isKilled := slices.Contains(victims, i)
		if h := outcomeOf(r, a); (h.Outcome == push.OutcomeFailed) != isKilled && !(isKilled && slices.Contains([]string{"last block", "commit", "done"}, m.name)) {
			f.t.Errorf("%s: killed %v, %s: %s", a.name, isKilled, h.Outcome, h.Text)
		}
	}
	f.rerun(r)
	return r
}

// chosen are agents by their places.
func (f *fleet) chosen(places []int) (some []*fleetAgent) {
	for _, i := range places {
		some = append(some, f.agents[i])
	}
	return some
}

// keptSince is what some agents have at a moment and must keep, which is nothing before blocks come, and once there is a tree of them.
func (f *fleet) keptSince(m moment, some ...*fleetAgent) map[*fleetAgent]int {
	f.t.Helper()
	if m.percent == 0 || m.name == "last block" {
		return nil
	}
	return f.onDisk(some...)
}

// ended waits for a push that some hosts have not survived, unless they were done by then.
func (f *fleet) ended(u *underWay) *push.Report {
	f.t.Helper()
	u.until(func(push.Event) bool { return false })
	want := push.ExitPartial
	if u.report != nil && verified(u.report) == len(f.agents) {
		want = push.ExitOK
	}
	return u.end(want)
}

// When the pusher is gone, agents stop and keep what they have, and the next push goes on from there.
func TestPushPusherKilled(t *testing.T) {
	t.Parallel()
	atMoments(t, []string{"manifest", "early", "half", "commit"}, func(t *testing.T, m moment) { // agents wait for ten seconds
		f := newFleet(t, 2, 1<<20)
		if m.name == "examine" {
			f.give(f.agents[0])
		}
		u := f.slowly()
		f.await(u, m, f.agents[0])
		had := f.keptSince(m, f.agents...)
		u.cmd.Process.Kill()
		u.end(-1)
		for _, a := range f.agents {
			if begun, _ := filepath.Glob(filepath.Join(a.root, ".weft", "partial", "*")); len(begun) > 0 {
				a.log.await(t, "push is over")
			}
		}
		f.keeps(had)
		if m.name == "half" {
			missed(t, f, f.agents...)
		}
		f.rerun(nil)
	})
}

package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/target"
	"github.com/weft-fabric/weft/push/way"
)

// An agent sweeps when it starts, with the age that it was told.
func TestSweepAtTheStart(t *testing.T) {
	r := newRig(t, Config{PartialAge: 5 * time.Hour})
	r.serve(t)
	for waits := patient(t); len(r.disk.swept()) == 0 && waits.Err() == nil; {
		time.Sleep(time.Millisecond)
	}
	if got := r.disk.swept(); len(got) != 1 || got[0].age != 5*time.Hour || time.Since(got[0].now) > time.Minute {
		t.Errorf("%+v", got)
	}
}

// It sweeps again every hour, and partials are a day old if nobody has said how old they may be.
func TestSweepAgain(t *testing.T) {
	r := newRig(t, Config{})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		go r.agent.runSweeps(ctx)
		time.Sleep(150 * time.Minute)
		synctest.Wait()
		cancel()
		got := r.disk.swept()
		if len(got) != 3 {
			t.Fatalf("%+v", got)
		}
		for i, s := range got {
			if s.age != 24*time.Hour || s.now.Sub(began) != time.Duration(i)*time.Hour {
				t.Errorf("sweep %d: %+v", i, s)
			}
		}
	})
}

// Of what interrupted pushes have left on a real disk, an agent removes what is older than a day, and nothing else.
func TestRealSweep(t *testing.T) {
	dir := t.TempDir()
	old, young := leavePartial(t, dir, "a", 25*time.Hour), leavePartial(t, dir, "b", 23*time.Hour)
	c := newCluster(t)
	_, own := c.issue("node1", control.RoleAgent, "agent/node1")
	place := openPlace(t, way.Config{Listen: "127.0.0.1:0", Keys: own})
	stop := start(t, func(ctx context.Context, ready func()) error {
		return Run(ctx, Config{Place: place, Keys: own, Root: dir, Ready: ready})
	})
	for waits := patient(t); isThere(old) && waits.Err() == nil; {
		time.Sleep(time.Millisecond)
	}
	check(t, stop()) // after the first sweep
	if isThere(old) || !isThere(young) {
		t.Errorf("the old one is there: %t, the young one: %t", isThere(old), isThere(young))
	}
}

// leavePartial leaves what a push to a place does that was interrupted so long ago.
func leavePartial(t *testing.T, dir, dest string, age time.Duration) (path string) {
	t.Helper()
	root, err := target.OpenRoot(dir)
	check(t, err)
	owner, _ := newCluster(t).issue("ops", control.RolePusher)
	p := inventPush(t, owner, testBlock)
	before := partialsIn(t, dir)
	d, err := root.Begin(target.Order{ID: p.id, Dest: dest, Single: true, Manifest: p.order.Manifest, Block: testBlock})
	check(t, err)
	check(t, d.Keep())
	check(t, root.Close())
	made := slices.DeleteFunc(partialsIn(t, dir), func(path string) bool { return slices.Contains(before, path) })
	then := time.Now().Add(-age)
	for _, name := range []string{"info", "manifest", "map", ""} {
		check(t, os.Chtimes(filepath.Join(made[0], name), then, then))
	}
	return made[0]
}

func partialsIn(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, ".weft", "partial", "*"))
	check(t, err)
	return list
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

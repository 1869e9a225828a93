package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
)

// state is all that there is of a tree: names, modes, owners, times, and what files hold.
func state(t *testing.T, dir string) (all string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		s, _ := info.Sys().(*syscall.Stat_t)
		text, _ := os.ReadFile(path) // of a directory there is none
		all += fmt.Sprintf("%s %v %d:%d %v %d %x\n", path, info.Mode(), s.Uid, s.Gid, info.ModTime(), s.Ino, sha256.Sum256(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// states is all that there is at all agents.
func (f *fleet) states() (all string) {
	f.t.Helper()
	for _, a := range f.agents {
		all += state(f.t, a.root)
	}
	return all
}

// A dry run changes nothing, whatever is there: nothing, the same, something else, or a partial.
func TestPushDryRun(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 4, 1<<20)
	f.give(f.agents[1])
	put(t, filepath.Join(f.agents[2].root, "tree", "one"), "something else")
	u := f.slowly("-x", f.agents[1].name+","+f.agents[2].name)
	f.await(u, half, f.agents[3])
	u.cmd.Process.Signal(os.Interrupt)
	u.until(func(push.Event) bool { return false })
	_ = u.cmd.Wait()
	before := f.states()
	f.push("-n").end(push.ExitOK)
	f.push("-n", "-f").end(push.ExitOK)
	if after := f.states(); after != before {
		t.Errorf("something has changed:\n%s\n%s", before, after)
	}
}

// What is there and identical is left alone; what is different needs -f, and then only that is replaced; and a directory never
// takes the place of a file, nor a file that of a directory.
func TestPushToWhatIsThere(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, 1<<20)
	f.clean(f.push().end(push.ExitOK))
	there := filepath.Join(f.agents[0].root, "tree")
	before := state(t, there)
	r := f.push().end(push.ExitOK)
	f.clean(r)
	if h := outcomeOf(r, f.agents[0]); h.Written != 0 || h.Skipped != 3 || state(t, there) != before {
		t.Errorf("%+v: %s, and before %s", h, state(t, there), before)
	}
	put(t, filepath.Join(f.source, "below", "small"), "other")
	r = f.push().end(push.ExitPreflight)
	for _, a := range f.agents {
		failedAs(t, r, a, control.Preflight, "-f")
	}
	if state(t, there) != before {
		t.Error("without -f something has changed")
	}
	r = f.push("-f").end(push.ExitOK)
	f.clean(r)
	if h := outcomeOf(r, f.agents[0]); h.Written != 1 || h.Skipped != 2 {
		t.Errorf("%+v", h)
	}
	f.neverReplaced(filepath.Join("below", "small"), "one")
}

// neverReplaced has a directory be where a file belongs, and the other way round.
func (f *fleet) neverReplaced(file, other string) {
	f.t.Helper()
	a := f.agents[1]
	for _, name := range []string{file, other} {
		at := filepath.Join(a.root, "tree", name)
		if err := os.Remove(at); err != nil {
			f.t.Fatal(err)
		}
		put(f.t, filepath.Join(at, "inside"), "precious")
		for _, force := range []string{"--force=false", "-f"} {
			r := f.push(force).end(push.ExitPartial)
			failedAs(f.t, r, a, control.Preflight, "a directory is there")
		}
		if text, err := os.ReadFile(filepath.Join(at, "inside")); string(text) != "precious" || err != nil {
			f.t.Errorf("%q, %v", text, err)
		}
		if err := os.RemoveAll(at); err != nil {
			f.t.Fatal(err)
		}
	}
	below := filepath.Join(a.root, "tree", "below")
	if err := os.RemoveAll(below); err != nil {
		f.t.Fatal(err)
	}
	put(f.t, below, "precious")
	r := f.push("-f").end(push.ExitPartial)
	failedAs(f.t, r, a, control.Preflight, "not a directory")
	if text, err := os.ReadFile(below); string(text) != "precious" || err != nil {
		f.t.Errorf("%q, %v", text, err)
	}
	if err := os.Remove(below); err != nil {
		f.t.Fatal(err)
	}
	f.clean(f.push("-f").end(push.ExitOK))
}

// Owners and setuid arrive with -p where agents are root, and are dropped without.
func TestPushPreserves(t *testing.T) {
	if os.Geteuid() != 0 {
		lacking(t, "owners are for root")
	}
	t.Parallel()
	f := newFleet(t, 1, 1000)
	one := filepath.Join(f.source, "one")
	if err := os.Chown(one, 1234, 4321); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(one, 0o755|fs.ModeSetuid|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	look := func() string {
		t.Helper()
		info, err := os.Lstat(filepath.Join(f.agents[0].root, "tree", "one"))
		if err != nil {
			t.Fatal(err)
		}
		s, _ := info.Sys().(*syscall.Stat_t)
		return fmt.Sprintf("%v %d:%d", info.Mode(), s.Uid, s.Gid)
	}
	f.clean(f.push().end(push.ExitOK))
	if got := look(); got != "-rwxr-xr-x 0:0" {
		t.Errorf("without -p it is %s", got)
	}
	f.clean(f.push("-p").end(push.ExitOK))
	if got := look(); got != "ugrwxr-xr-x 1234:4321" {
		t.Errorf("with -p it is %s", got)
	}
}

// The hash that somebody expects decides whether anybody gets the file.
func TestPushExpects(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, 1<<20)
	f.source = filepath.Join(f.source, "one")
	text, err := os.ReadFile(f.source)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	right := fmt.Sprintf("sha256:%x", sum)
	wrong := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("else")))
	r := f.push("--expect", wrong).end(push.ExitIntegrity)
	if !strings.Contains(r.Error, right[7:]) {
		t.Errorf("it says %q", r.Error)
	}
	for _, a := range f.agents {
		if _, err := os.Lstat(filepath.Join(a.root, "one")); err == nil {
			t.Errorf("%s has it", a.name)
		}
	}
	f.clean(r)
	r = f.push("--expect", right).end(push.ExitOK)
	f.clean(r)
	if r.SHA256 != right[7:] {
		t.Errorf("it says %s", r.SHA256)
	}
	f.push("--expect", wrong).end(push.ExitIntegrity) // although everybody has it
}

// The hosts that failed are in a file, and the next push is for those.
func TestPushToFailedHosts(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, 1<<20)
	f.agents[0].kill()
	f.agents[2].kill()
	list := filepath.Join(t.TempDir(), "failed")
	r := f.push("--failed-hosts", list).end(push.ExitPartial)
	f.clean(r)
	if text, err := os.ReadFile(list); string(text) != f.agents[0].address+"\n"+f.agents[2].address+"\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	f.start(f.agents[0])
	f.start(f.agents[2])
	r = f.begin("push", f.source, ".", "--keys", f.pusher, "-w", "^"+list, "--failed-hosts", list).end(push.ExitOK)
	f.clean(r)
	if text, err := os.ReadFile(list); len(text) != 0 || err != nil || len(r.Hosts) != 2 {
		t.Errorf("%q, %v, %+v", text, err, r.Hosts)
	}
	for _, a := range f.agents {
		same(t, f.source, filepath.Join(a.root, "tree"))
	}
	told := f.beginTold(strings.NewReader(f.agents[1].address+"\n# nobody else\n"), "push", f.source, "there", "--keys", f.pusher, "-w", "-").end(push.ExitOK)
	if len(told.Hosts) != 1 || outcomeOf(told, f.agents[1]).Written != 3 {
		t.Errorf("%+v", told.Hosts)
	}
}

// Verification names the hosts that differ, and only those, also for the next push.
func TestVerifyNamesWhoDiffers(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, 1000)
	for _, a := range f.agents {
		f.give(a)
	}
	list, before := filepath.Join(t.TempDir(), "failed"), state(t, f.agents[0].root)
	verify := []string{"verify", f.source, ".", "--keys", f.pusher, "-w", f.hostlist(), "--failed-hosts", list}
	f.begin(verify...).end(push.ExitOK)
	put(t, filepath.Join(f.agents[1].root, "tree", "below", "small"), "olleh")
	r := f.begin(verify...).end(push.ExitPartial)
	failedAs(t, r, f.agents[1], control.Integrity, "small")
	if text, err := os.ReadFile(list); string(text) != f.agents[1].address+"\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if state(t, f.agents[0].root) != before || outcomeOf(r, f.agents[0]).Outcome != push.OutcomeVerified {
		t.Errorf("%+v", r.Hosts)
	}
	f.begin("push", f.source, ".", "--keys", f.pusher, "-w", "^"+list, "-f").end(push.ExitOK)
	f.begin(verify...).end(push.ExitOK)
	empty(t, f.temp)
}

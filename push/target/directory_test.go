package target

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// modeOf is all of a mode.
func modeOf(t *testing.T, path string) uint32 {
	t.Helper()
	return statOfPath(t, path).Mode & 0o7777
}

// Who may remove files in a directory, and to which group they go, stays as it is at the host, also in directories that come.
func TestDirectoriesKeepWhatThePushDoesNotSay(t *testing.T) {
	items := []item{folder("group", 0o755), file("group/a", nil), folder("group/new", 0o750), folder("plain", 0o3770), folder("tmp", 0o1777), file("tmp/a", nil)}
	r, dir := openTest(t)
	if err := errors.Join(os.Mkdir(dir+"/group", 0o700), os.Mkdir(dir+"/tmp", 0o700), unix.Chmod(dir+"/group", 0o2700), unix.Chmod(dir+"/tmp", 0o1700)); err != nil {
		t.Fatal(err)
	}
	p := pack(t, items...)
	mustDeliver(t, p, r, p.order("."))
	for name, want := range map[string]uint32{"group": 0o2755, "group/a": 0o640, "group/new": 0o2750, "plain": 0o770, "tmp": 0o1777, "tmp/a": 0o640} {
		if got := modeOf(t, dir+"/"+name); got != want {
			t.Errorf("%s has mode %o, not %o", name, got, want)
		}
	}
	before := changes(t, dir)
	waitTick()
	mustDeliver(t, p, r, p.order("."))
	for path, change := range changes(t, dir) {
		if change != before[path] {
			t.Errorf("%s was changed once more", path)
		}
	}
}

// changes are the times at which all below a directory was changed last.
func changes(t *testing.T, dir string) map[string]unix.Timespec {
	t.Helper()
	all := make(map[string]unix.Timespec)
	for _, path := range listing(t, dir) {
		all[path] = unix.Timespec(statOfPath(t, dir+"/"+path).Ctim)
	}
	return all
}

// With -p the push says it; where the agent is not root, only of the sticky bit.
func TestDirectoriesGetWhatThePushSays(t *testing.T) {
	for _, c := range []struct{ there, sent, want, ofRoot uint32 }{
		{0o1755, 0o755, 0o755, 0o755},
		{0o755, 0o1755, 0o1755, 0o1755},
		{0o2755, 0o755, 0o2755, 0o755},
		{0o755, 0o2755, 0o755, 0o2755},
	} {
		r, dir := openTest(t)
		if err := errors.Join(os.Mkdir(dir+"/d", 0o700), unix.Chmod(dir+"/d", c.there)); err != nil {
			t.Fatal(err)
		}
		d := folder("d", c.sent)
		d.UID, d.GID = uint32(os.Geteuid()), uint32(os.Getegid())
		p := pack(t, d)
		o := p.order(".")
		o.Preserve = true
		mustDeliver(t, p, r, o)
		want := c.want
		if os.Geteuid() == 0 {
			want = c.ofRoot
		}
		if got := modeOf(t, dir+"/d"); got != want {
			t.Errorf("%o there and %o sent make %o, not %o", c.there, c.sent, got, want)
		}
	}
}

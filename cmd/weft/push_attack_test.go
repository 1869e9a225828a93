package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
)

// outside is a folder beside the root of an agent that nobody may touch, with a file. What it returns checks that.
func outsideOf(t *testing.T, a *fleetAgent) (dir string, check func()) {
	t.Helper()
	dir = filepath.Join(filepath.Dir(a.root), "outside")
	put(t, filepath.Join(dir, "file"), "precious")
	look := func() (all string) {
		err := filepath.WalkDir(filepath.Dir(a.root), func(path string, _ os.DirEntry, err error) error {
			if err != nil || strings.HasPrefix(path, a.root) {
				return err
			}
			info, err := os.Lstat(path)
			all += path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n"
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "file"))
		if err != nil {
			t.Error(err)
		}
		return all + string(text)
	}
	before := look()
	return dir, func() {
		t.Helper()
		if after := look(); after != before {
			t.Errorf("outside of the root something has changed:\n%s\n%s", before, after)
		}
	}
}

// attacks are manifests that must not do what they say, by name.
func attacks(outside string) map[string]forgery {
	file := func(path string) manifest.Entry { return manifest.Entry{Path: path, Kind: manifest.File, Mode: 0o6777} }
	dir := func(path string) manifest.Entry {
		return manifest.Entry{Path: path, Kind: manifest.Directory, Mode: 0o755}
	}
	link := func(path, to string) manifest.Entry {
		return manifest.Entry{Path: path, Kind: manifest.Symlink, Link: to}
	}
	absolute := filepath.Join(outside, "file")
	likeAbsolute := strings.Repeat("A", len(absolute))
	return map[string]forgery{
		"above":                   {[]manifest.Entry{file("AAAAAAAAAAAAAAA")}, [][2]string{{"AAAAAAAAAAAAAAA", "../outside/file"}}},
		"a new name above":        {[]manifest.Entry{file("AAAA")}, [][2]string{{"AAAA", "../x"}}},
		"absolute":                {[]manifest.Entry{file(likeAbsolute)}, [][2]string{{likeAbsolute, absolute}}},
		"above below":             {[]manifest.Entry{dir("d"), file("d/AAAAAAAAAAAAAAAAAA")}, [][2]string{{"AAAAAAAAAAAAAAAAAA", "../../outside/file"}}},
		"a directory above":       {[]manifest.Entry{dir("AA"), file("AA/x")}, [][2]string{{"AA", ".."}}},
		"below a link":            {[]manifest.Entry{link("AAA", outside), file("C"), file("BBBBBBBB")}, [][2]string{{"BBBBBBBB", "AAA/file"}}},
		"a directory, then link":  {[]manifest.Entry{dir("AAA"), file("AAA/file"), file("C"), link("BBB", outside)}, [][2]string{{"BBB", "AAA"}}},
		"link to above":           {[]manifest.Entry{file("AAAAAAAAAAAAAAA"), {Path: "h", Kind: manifest.Hardlink, Link: "AAAAAAAAAAAAAAA"}}, [][2]string{{"AAAAAAAAAAAAAAA", "../outside/file"}}},
		"link to what is nowhere": {[]manifest.Entry{file("AAAA"), {Path: "h", Kind: manifest.Hardlink, Link: "AAAA"}}, [][2]string{{"AAAA", "none"}}},
		"twice":                   {[]manifest.Entry{file("a"), file("b"), file("a")}, nil},
		"a link, then a file":     {[]manifest.Entry{link("a", outside+"/file"), file("b"), file("a")}, nil},
		"a file for a directory":  {[]manifest.Entry{dir("d"), file("d/x"), file("e"), file("d")}, nil},
		"the agent's own":         {[]manifest.Entry{dir("AAAAA"), file("AAAAA/x")}, [][2]string{{"AAAAA", ".weft"}}},
	}
}

// A pusher whose certificate is in order, and whose manifest is not, is told so, and touches nothing.
func TestHostilePusher(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, 1000)
	outside, untouched := outsideOf(t, f.agents[0])
	for name, attack := range attacks(outside) {
		t.Run(name, func(t *testing.T) {
			trouble := f.newHostile(attack.write(t)).push()
			if trouble == nil && name != "twice" && name != "a link, then a file" { // of those the last one counts
				t.Error("the agent has nothing against it")
			}
			untouched()
			partialsOf(t, f.agents[0].root) // of pushes that might come back, and nothing else
			empty(t, f.temp)
			f.agents[0].clear(t)
		})
	}
	innocent := forgery{entries: []manifest.Entry{{Path: "d", Kind: manifest.Directory, Mode: 0o755}, {Path: "d/x", Kind: manifest.File, Mode: 0o644}}}
	if trouble := f.newHostile(innocent.write(t)).push(); trouble != nil { // it is not the pusher that is refused
		t.Error(trouble)
	}
}

// A link out of the root is not followed, by whatever name, and what it leads to stays as it is.
func TestPushMeetsLinks(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, 1<<20)
	a := f.agents[0]
	outside, untouched := outsideOf(t, a)
	plant := func(name, to string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(a.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	plant("out", outside)
	plant("up", "..")
	plant("tree", outside)
	if status, said := f.plainly(f.pushTo("../outside")...); status != push.ExitUsage || !strings.Contains(said, "a destination has no part that is ..") {
		t.Errorf("status %d: %s", status, said)
	}
	for _, dest := range []string{"out", "out/new", "up/outside", outside, "/etc/weft-test", "up"} {
		for _, force := range []string{"--force=false", "-f"} {
			r := f.begin(append(f.pushTo(dest), force)...).end(push.ExitPreflight)
			failedAs(t, r, a, control.Preflight, "")
			untouched()
		}
	}
	for _, force := range []string{"--force=false", "-f"} { // a link is where a directory belongs
		failedAs(t, f.push(force).end(push.ExitPreflight), a, control.Preflight, "never replaced")
		untouched()
	}
	if left := partialsOf(t, a.root); len(left) > 1 { // of the push whose link may be taken away
		t.Errorf("it keeps %q of one push", left)
	}
	empty(t, f.temp)
	if to, err := os.Readlink(filepath.Join(a.root, "tree")); err != nil || to != outside {
		t.Errorf("%s, %v", to, err)
	}
}

// Directories of the destination that somebody exchanges for links while a push runs lead nowhere.
func TestPushWhileLinksAreSwapped(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, 1<<20)
	a := f.agents[0]
	outside, untouched := outsideOf(t, a)
	for _, name := range []string{"a/one", "a/two", "b/c/three", "b/c/four", "file"} {
		put(t, filepath.Join(f.source, name), strings.Repeat(name, 50000))
	}
	for round := range long(3, 30) {
		u := f.begin(append(f.pushTo("there"), "-f", "--bwlimit", "4MB")...)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() { defer close(stopped); swap(filepath.Join(a.root, "there"), outside, round, stop) }()
		u.until(func(push.Event) bool { return false })
		status := ended(t, u.cmd)
		close(stop)
		<-stopped
		untouched()
		if status != push.ExitOK && status != push.ExitPreflight && status != push.ExitOther {
			t.Errorf("status %d: %s%s", status, &u.story, &u.errs)
		}
	}
	if err := os.RemoveAll(filepath.Join(a.root, "there")); err != nil {
		t.Fatal(err)
	}
	f.begin(append(f.pushTo("there"), "-f")...).end(push.ExitOK)
	same(t, f.source, filepath.Join(a.root, "there", "tree"))
	f.leavesNothing()
	untouched()
}

// swap exchanges directories below one for links, and back, until it is stopped.
func swap(there, outside string, round int, stop chan struct{}) {
	names := []string{"", "tree", "tree/a", "tree/b", "tree/b/c"}
	for {
		select {
		case <-stop:
			return
		default:
		}
		at := filepath.Join(there, names[round%len(names)])
		aside := at + ".aside"
		if os.Rename(at, aside) == nil {
			_ = os.Symlink(outside, at)
			_ = os.Remove(at)
			_ = os.Rename(aside, at)
		}
	}
}

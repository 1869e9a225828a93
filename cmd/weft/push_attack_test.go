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
func (a *agentProcess) outside() (dir string, check func()) {
	a.t.Helper()
	dir = filepath.Join(filepath.Dir(a.root), "outside")
	put(a.t, filepath.Join(dir, "file"), "precious")
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
			a.t.Fatal(err)
		}
		return all + string(contentOf(filepath.Join(dir, "file")))
	}
	before := look()
	return dir, func() {
		a.t.Helper()
		if after := look(); after != before {
			a.t.Errorf("outside of the root something has changed:\n%s\n%s", before, after)
		}
	}
}

// ownRoot gives an agent a root with nothing else beside it.
func (a *agentProcess) ownRoot() {
	a.root = filepath.Join(a.t.TempDir(), "root")
	if err := os.Mkdir(a.root, 0o755); err != nil {
		a.t.Fatal(err)
	}
}

// attacks are manifests that must not do what they say, by name.
func attacks(outside string) map[string]forgery {
	file := func(path string) manifest.Entry { return manifest.Entry{Path: path, Kind: manifest.File, Mode: 0o6777} }
	dir := func(path string) manifest.Entry { return manifest.Entry{Path: path, Kind: manifest.Directory, Mode: 0o755} }
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
	b := bareBed(t, 1)
	b.agents[0].ownRoot()
	outside, untouched := b.agents[0].outside()
	b.agents[0].start()
	for name, f := range attacks(outside) {
		t.Run(name, func(t *testing.T) {
			trouble := b.newHostile(f.write(t)).push()
			if trouble == nil && name != "twice" && name != "a link, then a file" { // of those the last one counts
				t.Error("the agent has nothing against it")
			}
			untouched()
			b.agents[0].clear()
		})
	}
	innocent := forgery{entries: []manifest.Entry{{Path: "d", Kind: manifest.Directory, Mode: 0o755}, {Path: "d/x", Kind: manifest.File, Mode: 0o644}}}
	if trouble := b.newHostile(innocent.write(t)).push(); trouble != nil { // it is not the pusher that is refused
		t.Error(trouble)
	}
}

// A link out of the root is not followed, by whatever name, and what it leads to stays as it is.
func TestPushMeetsLinks(t *testing.T) {
	b := bareBed(t, 1)
	a := b.agents[0]
	a.ownRoot()
	outside, untouched := a.outside()
	a.start()
	source := tree(t)
	plant := func(name, to string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(a.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	plant("out", outside)
	plant("up", "..")
	plant("tree", outside)
	b.push(push.ExitUsage, source, "../outside")
	for _, dest := range []string{"out", "out/new", "up/outside", outside, "/etc/weft-test", "up"} {
		for _, force := range []string{"--force=false", "-f"} {
			o := b.push(push.ExitPreflight, source, dest, force)
			if h := o.of(a); h.Class != control.Preflight {
				t.Errorf("%s %s: %+v", dest, force, h)
			}
			untouched()
		}
	}
	b.push(push.ExitPreflight, source, ".") // a link is where a directory belongs
	untouched()
	b.push(push.ExitPreflight, source, ".", "-f")
	untouched()
	if to, err := os.Readlink(filepath.Join(a.root, "tree")); err != nil || to != outside {
		t.Errorf("%s, %v", to, err)
	}
}

// Directories of the destination that somebody exchanges for links while a push runs lead nowhere.
func TestPushWhileLinksAreSwapped(t *testing.T) {
	b := bareBed(t, 1)
	a := b.agents[0]
	a.ownRoot()
	outside, untouched := a.outside()
	a.start()
	source := filepath.Join(t.TempDir(), "tree")
	for _, name := range []string{"a/one", "a/two", "b/c/three", "b/c/four", "file"} {
		put(t, filepath.Join(source, name), strings.Repeat(name, 50000))
	}
	for round := range long(3, 30) {
		r := b.start(source, "there", "-f")
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() { defer close(stopped); swap(filepath.Join(a.root, "there"), outside, round, stop) }()
		status := ended(t, r.cmd)
		close(stop)
		<-stopped
		untouched()
		if status != push.ExitOK && status != push.ExitPreflight && status != push.ExitOther {
			t.Errorf("status %d: %s%s", status, r.errs.String(), a.log)
		}
	}
	if err := os.RemoveAll(filepath.Join(a.root, "there")); err != nil {
		t.Fatal(err)
	}
	o := b.push(push.ExitOK, source, "there", "-f")
	b.agents[0].checkFolder(o)
	same(t, source, filepath.Join(a.root, "there", "tree"))
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

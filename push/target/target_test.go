package target

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/push/manifest"
)

// sparse is 1 MiB with two islands of data.
func sparse(path string) item {
	i := file(path, make([]byte, 1<<20))
	i.Extents = []manifest.Extent{{Offset: 4096, Length: 8192}, {Offset: 512 << 10, Length: 100 << 10}}
	for _, e := range i.Extents {
		copy(i.data[e.Offset:], noise(e.Offset, int(e.Length)))
	}
	return i
}

// tree has something of everything.
func tree() []item {
	return []item{
		folder("top", 0o755), file("top/large", noise(1, 5*testBlock+17)), file("top/small", []byte("small")), file("top/empty", nil),
		folder("top/closed", 0o500), file("top/closed/in", noise(2, 3000)), folder("top/closed/hollow", 0o711),
		symlink("top/link", "../nowhere/at all"), sparse("top/sparse"), hardlink("top/second", "top/large"),
		file("top/\xff\n name", noise(3, testBlock)), folder("top/void", 0o777),
	}
}

func TestTree(t *testing.T) {
	r, dir := openTest(t)
	items := tree()
	p := pack(t, items...)
	done := mustDeliver(t, p, r, p.order("here/below"))
	checkTree(t, filepath.Join(dir, "here/below"), items...)
	if done.Written != 8 || done.Skipped != 0 || done.sent != (len(p.content)+testBlock-1)/testBlock {
		t.Error(done)
	}
	if n := partialsOf(t, dir); n != 0 {
		t.Errorf("%d partials are left", n)
	}
	s, err := os.Stat(filepath.Join(dir, "here/below/top/sparse"))
	if err != nil || s.Sys().(*syscall.Stat_t).Blocks*512 > 512<<10 {
		t.Errorf("the holes are filled: %v %v", s, err)
	}
	again := mustDeliver(t, p, r, p.order(filepath.Join(dir, "here/below")))
	if again.sent != 0 || again.Written != 0 || again.Skipped != 8 {
		t.Errorf("the second time: %+v", again)
	}
	checkTree(t, filepath.Join(dir, "here/below"), items...)
}

// How far a commit is, can be asked.
func TestNamed(t *testing.T) {
	r, _ := openTest(t)
	p := pack(t, tree()...)
	d, err := p.start(r, p.order("here"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	if _, err := p.send(d); err != nil {
		t.Fatal(err)
	}
	if n := d.Named(); n != 0 {
		t.Errorf("%d entries have names before the commit", n)
	}
	if _, err := d.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := d.Named(); n != p.summary.Entries {
		t.Errorf("%d of %d entries have names", n, p.summary.Entries)
	}
}

func TestSingle(t *testing.T) {
	r, dir := openTest(t)
	p := pack(t, file("original", noise(1, 100)))
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for dest, want := range map[string]string{
		"named": "named", "folder": "folder/original", "new/": "new/original", "deep/er/named": "deep/er/named", dir + "/abs": "abs", ".": "original",
	} {
		o := p.order(dest)
		o.Single = true
		mustDeliver(t, p, r, o)
		want := filepath.Join(dir, want)
		checkTree(t, filepath.Dir(want), file(filepath.Base(want), noise(1, 100)))
		if again := mustDeliver(t, p, r, o); again.Skipped != 1 {
			t.Errorf("%s: the second time: %+v", dest, again)
		}
	}
	want := []string{"abs", "deep", "deep/er", "deep/er/named", "folder", "folder/original", "named", "new", "new/original", "original"}
	if got := listing(t, dir); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The same again and again, and each time there is nothing.
func TestAgainAndAgain(t *testing.T) {
	r, dir := openTest(t)
	p := pack(t, file("f", noise(1, 3*testBlock)))
	for range 300 {
		if done := mustDeliver(t, p, r, p.order(".")); done.Written != 1 {
			t.Fatalf("%+v", done)
		}
		if err := os.Remove(filepath.Join(dir, "f")); err != nil {
			t.Fatal(err)
		}
	}
}

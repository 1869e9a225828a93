package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/manifest"
)

// waitTick lets the coarse clock of files go on.
func waitTick() { time.Sleep(20 * time.Millisecond) }

func TestDestinationOutside(t *testing.T) {
	outside := t.TempDir()
	r, dir := openTest(t)
	for link, to := range map[string]string{
		"absolute": outside, "relative": "../" + filepath.Base(outside), "up": "..", "magic": "/proc/self/cwd", "loop": "loop",
		"inside": "real/deep", "second": "inside",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "real/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := pack(t, file("f", noise(1, 10)))
	for _, dest := range []string{
		outside, "/", "/etc", "..", "../x", "a/../../x", dir + "/../x", dir + "x", "", "a\x00b", "absolute", "absolute/new", "relative/new",
		"up/x", "magic", "magic/x", "inside/../../../x", "second/../../absolute/x", weftFolder, weftFolder + "/partial/x", "real/../.weft",
	} {
		if _, err := p.deliver(r, p.order(dest)); !errors.Is(err, ErrOutside) {
			t.Errorf("%q: %v", dest, err)
		}
		if err := r.Preflight(p.order(dest)); !errors.Is(err, ErrOutside) {
			t.Errorf("preflight of %q: %v", dest, err)
		}
	}
	if _, err := p.deliver(r, p.order("loop/x")); err == nil {
		t.Error("a loop of links is a destination")
	}
	for _, dest := range []string{"inside", "second/more", dir + "/second/again"} {
		mustDeliver(t, p, r, p.order(dest))
	}
	for _, path := range []string{"real/deep/f", "real/deep/more/f", "real/deep/again/f"} {
		checkTree(t, filepath.Dir(filepath.Join(dir, path)), file("f", noise(1, 10)))
	}
	if left := listing(t, outside); len(left) > 0 {
		t.Errorf("outside is %q", left)
	}
}

func TestOwnFolder(t *testing.T) {
	r, dir := openTest(t)
	p := pack(t, folder(weftFolder, 0o755), file(weftFolder+"/x", []byte("x")))
	o := p.order(".")
	if _, err := p.deliver(r, o); !errors.Is(err, ErrOutside) {
		t.Error(err)
	}
	p.summary.Tops, o.Manifest.Tops = nil, nil // who lies is found out by the manifest
	if _, err := p.deliver(r, o); err == nil {
		t.Error("delivered to our own folder")
	}
	var many []item
	for i := range maxTops {
		many = append(many, folder(fmt.Sprintf("%04d", i), 0o755))
	}
	q := pack(t, append(many, folder(weftFolder, 0o755))...)
	if _, err := q.deliver(r, q.order(".")); !errors.Is(err, ErrOutside) {
		t.Error("behind many others:", err)
	}
	mustDeliver(t, pack(t, folder(weftFolder, 0o755)), r, pack(t, folder(weftFolder, 0o755)).order("elsewhere"))
	for _, path := range []string{"", partialFolder} {
		if s, err := os.Stat(filepath.Join(dir, weftFolder, path)); err != nil || s.Mode().Perm() != 0o700 {
			t.Error(s.Mode(), err)
		}
	}
}

// Our own folder is believed in only when it is one.
func TestOwnFolderIsAnothers(t *testing.T) {
	outside := t.TempDir()
	for name, put := range map[string]func(path string) error{
		"link out": func(path string) error { return os.Symlink(outside, path) },
		"link in":  func(path string) error { return errors.Join(os.Mkdir(path+"x", 0o700), os.Symlink(".weftx", path)) },
		"file":     func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"stranger": func(path string) error { return errors.Join(os.Mkdir(path, 0o777), os.Chown(path, 12345, 12345)) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "stranger" && os.Geteuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			r, dir := openTest(t)
			if err := put(filepath.Join(dir, weftFolder)); err != nil {
				t.Fatal(err)
			}
			p := pack(t, file("f", noise(1, 10)))
			if _, err := p.deliver(r, p.order("d")); err == nil {
				t.Error("it was used")
			}
			if left := listing(t, outside); len(left) > 0 {
				t.Errorf("outside is %q", left)
			}
		})
	}
}

// trap is a directory outside the root that has all names of swapped below a/b, and must stay as it is.
func trap(t *testing.T) (dir string) {
	dir = t.TempDir()
	for _, i := range swapped() {
		if rel, ok := strings.CutPrefix(i.Path, "a/b/"); ok && i.data != nil {
			write(t, filepath.Join(dir, rel), []byte("untouched"))
		}
	}
	return dir
}

func checkTrap(t *testing.T, dir string) {
	t.Helper()
	left := listing(t, dir)
	if len(left) != 42 {
		t.Errorf("outside is %q", left)
	}
	for _, name := range left {
		path := filepath.Join(dir, name)
		if s, err := os.Stat(path); err != nil || s.ModTime().Equal(moment) {
			t.Errorf("%s was changed, %v", path, err)
		}
		if data, err := os.ReadFile(path); err == nil && string(data) != "untouched" {
			t.Errorf("%s is %q", path, data)
		}
	}
}

func swapped() []item {
	items := []item{folder("a", 0o755), folder("a/b", 0o755), folder("a/b/c", 0o755)}
	for i := range 40 {
		items = append(items, file("a/b/c/"+string(rune('A'+i)), noise(uint64(i), 2000)))
	}
	return append(items, file("a/b/victim", []byte("overwrite")), symlink("a/b/z", "/etc"))
}

// Somebody who may write below DEST swaps directories for links while files are placed: whatever comes of it, nothing is outside.
func TestDirectoriesAreSwapped(t *testing.T) {
	outside := trap(t)
	r, dir := openTest(t)
	items := swapped()
	p := pack(t, items...)
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() { swap(filepath.Join(dir, "a/b"), outside, stop) })
	good := 0
	for range 60 {
		o := p.order(".")
		o.Force = true
		if _, err := p.deliver(r, o); err == nil {
			good++
		}
	}
	close(stop)
	swapper.Wait()
	checkTrap(t, outside)
	t.Logf("%d of 60 pushes came through", good)
	mustDeliverForced(t, p, r)
	checkTree(t, dir, items...)
}

// meanwhile is a context in which something happens when it is asked the so many-th time: Commit asks before each entry.
type meanwhile struct {
	context.Context
	left *int
	do   func()
}

func (m meanwhile) Err() error {
	if *m.left--; *m.left == 0 {
		m.do()
	}
	return nil
}

// The same at every entry, once.
func TestDirectoryIsSwappedAtEachEntry(t *testing.T) {
	p := pack(t, swapped()...)
	for at := 1; at <= len(swapped()); at++ {
		outside := trap(t)
		r, dir := openTest(t)
		d, err := p.start(r, p.order("."))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.send(d); err != nil {
			t.Fatal(err)
		}
		left := at
		_, err = d.Commit(meanwhile{context.Background(), &left, func() {
			os.Rename(dir+"/a/b", dir+"/was")
			os.Symlink(outside, dir+"/a/b")
		}})
		if err == nil && at > 2 {
			t.Errorf("swapped at entry %d: nobody has noticed", at)
		}
		d.Keep()
		checkTrap(t, outside)
	}
}

func mustDeliverForced(t *testing.T, p *parcel, r *Root) {
	t.Helper()
	o := p.order(".")
	o.Force = true
	mustDeliver(t, p, r, o)
}

// swap puts a link where a directory is, and the directory back.
func swap(path, outside string, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		if os.Rename(path, path+".real") == nil {
			if os.Symlink(outside, path) == nil {
				os.Remove(path)
			}
			os.Rename(path+".real", path)
		}
	}
}

// A link that appears where a directory was when the manifest was checked.
func TestDirectoryBecomesLink(t *testing.T) {
	outside := t.TempDir()
	r, dir := openTest(t)
	if err := os.Mkdir(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := pack(t, folder("a", 0o700), file("a/f", noise(1, testBlock)))
	d, err := p.start(r, p.order("."))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	if _, err := p.send(d); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(dir+"/a"), os.Symlink(outside, dir+"/a")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(context.Background()); !errors.Is(err, ErrNotDirectory) {
		t.Error(err)
	}
	if left := listing(t, outside); len(left) > 0 {
		t.Errorf("outside is %q", left)
	}
	if s, err := os.Stat(outside); err != nil || s.Mode().Perm() == 0o700 && s.ModTime().Equal(moment) {
		t.Error("the directory outside was changed", err)
	}
}

// A hard link gives a second name to files of the push, and to nothing else: not to what another push is writing, and not to what lies in DEST.
func TestHardLinkOfSomethingElse(t *testing.T) {
	r, dir := openTest(t)
	victim := pack(t, file("victim", noise(1, 2*testBlock)))
	interrupted(t, victim, r, victim.order("."), 0)
	begun, err := filepath.Rel(dir, dataFiles(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/secret", []byte("secret"))
	for _, c := range []struct {
		items []item
		want  error
	}{
		{[]item{hardlink("x", begun)}, ErrOutside}, {[]item{file("f", nil), hardlink("x", begun)}, ErrOutside},
		{[]item{hardlink("x", "secret")}, manifest.ErrEntry}, {[]item{file("f", nil), hardlink("x", "secret")}, manifest.ErrEntry},
		{[]item{file("f", nil), hardlink("g", "f"), hardlink("x", "secret")}, manifest.ErrEntry},
		{[]item{symlink("secret", "f"), hardlink("x", "secret")}, manifest.ErrEntry},
		{[]item{folder("d", 0o755), hardlink("x", "d")}, manifest.ErrEntry},
		{[]item{file("f", nil), hardlink("g", "f"), hardlink("x", "g")}, manifest.ErrEntry},
		{[]item{hardlink("x", "f"), file("f", nil)}, manifest.ErrEntry},
	} {
		p, before := pack(t, c.items...), partialsOf(t, dir)
		for _, force := range []bool{false, true} {
			o := p.order(".")
			o.Force = force
			if _, err := p.deliver(r, o); !errors.Is(err, c.want) {
				t.Errorf("%s, another name of %s: %v", c.items[len(c.items)-1].Path, c.items[len(c.items)-1].Link, err)
			}
		}
		if n := partialsOf(t, dir); errors.Is(c.want, manifest.ErrEntry) && n != before {
			t.Errorf("%d partials are left of pushes of which nothing can come", n-before)
		}
		if _, err := os.Lstat(dir + "/x"); err == nil {
			t.Fatal("it has the name")
		}
	}
	mustDeliver(t, victim, r, victim.order("."))
	checkTree(t, dir, file("victim", noise(1, 2*testBlock)))
}

// Files are known by their paths, however many there are, and from wherever on there are hard links.
func TestManyHardLinks(t *testing.T) {
	r, dir := openTest(t)
	var items []item
	for i := range 600 { // several chunks of a manifest
		items = append(items, file(fmt.Sprint("f", i), []byte{byte(i)}))
	}
	for i := range 600 {
		items = append(items, file(fmt.Sprint("g", i), nil), hardlink(fmt.Sprint("h", i), fmt.Sprint("f", i)), hardlink(fmt.Sprint("i", i), fmt.Sprint("g", i)))
	}
	p := pack(t, items...)
	mustDeliver(t, p, r, p.order("."))
	checkTree(t, dir, items...)
}

// A manifest that names a path twice, to have a link followed.
func TestPathTwice(t *testing.T) {
	outside := t.TempDir()
	r, dir := openTest(t)
	for _, items := range [][]item{
		{symlink("a", outside), folder("a", 0o755), file("a/f", []byte("x"))},
		{file("a", []byte("y")), folder("a", 0o755), file("a/f", []byte("x"))},
	} {
		p := pack(t, items...)
		o := p.order(".")
		o.Force = true
		if _, err := p.deliver(r, o); !errors.Is(err, ErrNotDirectory) {
			t.Error(err)
		}
		os.Remove(filepath.Join(dir, "a"))
	}
	if left := listing(t, outside); len(left) > 0 {
		t.Errorf("outside is %q", left)
	}
}

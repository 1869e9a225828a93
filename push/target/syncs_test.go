package target

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// watched is what a crash would leave at the worst: files that were synced, and names in directories that were.
//
// Invariant: a file whose content was not synced has no name.
type watched struct {
	kernel
	t       *testing.T
	dest    string
	there   map[uint64]bool     // inodes that were there before
	files   map[uint64]bool     // that have been synced
	folders map[uint64][]string // by the inode of a directory: the names in it when it was synced
	all     []int               // how many new files had a name whenever the filesystem was synced
}

func watch(t *testing.T, r *Root, dest string) *watched {
	w := &watched{t: t, dest: dest, files: make(map[uint64]bool), folders: make(map[uint64][]string)}
	w.there = make(map[uint64]bool)
	for inode := range w.named() {
		w.there[inode] = true
	}
	r.syncs = w
	return w
}

// named are the regular files that have a name below DEST.
func (w *watched) named() map[uint64]string {
	found := make(map[uint64]string)
	filepath.WalkDir(w.dest, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == weftFolder {
			return fs.SkipDir
		}
		if err == nil && entry.Type().IsRegular() {
			found[statOfPath(w.t, path).Ino] = path
		}
		return nil
	})
	return found
}

// fresh are the names of those that were not there before.
func (w *watched) fresh() map[uint64]string {
	found := w.named()
	for inode := range w.there {
		delete(found, inode)
	}
	return found
}

func (w *watched) check() {
	w.t.Helper()
	for inode, path := range w.fresh() {
		if !w.files[inode] {
			w.t.Errorf("%s has its name, and its content was not synced", path)
		}
	}
}

func (w *watched) file(f *os.File) error {
	w.check()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	inode := statOf(info).Ino
	if !info.IsDir() {
		w.files[inode] = true
		return w.kernel.file(f)
	}
	list, err := os.ReadDir(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	w.folders[inode] = nil
	for _, entry := range list {
		w.folders[inode] = append(w.folders[inode], entry.Name())
	}
	return err
}

func (w *watched) filesystem(*os.File) error {
	w.all = append(w.all, len(w.fresh()))
	return nil
}

// checkFolders checks that all names in directories from one on were there when the directory was synced last.
func (w *watched) checkFolders(from string) {
	w.t.Helper()
	filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() == weftFolder {
			return fs.SkipDir
		}
		parent := statOfPath(w.t, filepath.Dir(path))
		if path != from && !slices.Contains(w.folders[parent.Ino], entry.Name()) {
			w.t.Errorf("%s was named, and its directory was not synced after that", path)
		}
		return nil
	})
}

// Before a name appears its content is durable, and when all is done the names are.
func TestDurable(t *testing.T) {
	for _, dest := range []string{".", "here/below"} {
		r, dir := openTest(t)
		at := filepath.Join(dir, dest)
		p := pack(t, tree()...)
		w := watch(t, r, at)
		mustDeliver(t, p, r, p.order(dest))
		w.check()
		w.checkFolders(dir)
		if len(w.files) != 6 || len(w.all) != 0 { // top/second is another name
			t.Errorf("%d files were synced one by one, and %d times all", len(w.files), len(w.all))
		}
	}
}

// The same for what replaces other files, and for copies of files that have names elsewhere.
func TestDurableReplacements(t *testing.T) {
	r, dir := openTest(t)
	items := []item{file("a", noise(1, 100)), file("b", noise(2, 2*testBlock)), hardlink("c", "b"), symlink("l", "a")}
	snapshot(t, dir+"/a", items[0].data)
	write(t, dir+"/b", append(noise(3, testBlock), items[1].data[testBlock:]...))
	p := pack(t, items...)
	w := watch(t, r, dir)
	mustDeliverForced(t, p, r)
	w.check()
	w.checkFolders(dir)
	if len(w.fresh()) != 2 {
		t.Errorf("%d files are new", len(w.fresh()))
	}
	checkTree(t, dir, items...)
}

// Of many files, all are synced at once: before the first has its name, and after the last.
func TestDurableAtOnce(t *testing.T) {
	r, dir := openTest(t)
	items := []item{folder("d", 0o755)}
	for i := range fewEntries {
		items = append(items, file(fmt.Sprint("d/", i), []byte{byte(i), 1}))
	}
	p := pack(t, items...)
	w := watch(t, r, dir)
	mustDeliver(t, p, r, p.order("."))
	if !slices.Equal(w.all, []int{0, fewEntries}) {
		t.Errorf("all was synced when so many had their names: %v", w.all)
	}
	if len(w.files) != 0 {
		t.Errorf("%d were synced one by one", len(w.files))
	}
}

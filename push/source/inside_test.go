package source

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// TestChangedInBetween changes a file between the look before a read and the one after it, and before the read gets so far.
func TestChangedInBetween(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"nothing":  func(string) error { return nil },
		"append":   func(path string) error { return os.Truncate(path, 101) },
		"truncate": func(path string) error { return os.Truncate(path, 10) },
		"rewrite":  func(path string) error { return os.WriteFile(path, make([]byte, 100), 0o644) },
		"chmod":    func(path string) error { return os.Chmod(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			err := changeInBetween(t, change)
			if name == "nothing" && err != nil || name != "nothing" && !errors.Is(err, ErrChanged) {
				t.Errorf("reading ends with %v", err)
			}
		})
	}
}

func changeInBetween(t *testing.T, change func(path string) error) error {
	t.Helper()
	path := t.TempDir() + "/file"
	if err := os.WriteFile(path, make([]byte, 100), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Scan(t.Context(), Config{Paths: []string{path}, Spool: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return s.index.Pieces(0, 100, func(p manifest.Piece) error {
		f, err := s.take(p.Number, p.Entry)
		if err != nil {
			return err
		}
		defer s.files.release(f)
		return f.steady(p.Entry, func() error {
			if err := change(path); err != nil {
				return err
			}
			return f.read(make([]byte, 100), 0)
		})
	})
}

// TestWaysBeneath checks both ways to open a file below a directory: neither follows links, or leaves descriptors open.
func TestWaysBeneath(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(dir+"/a/b", 0o755), os.WriteFile(dir+"/a/b/file", nil, 0o644),
		os.Symlink("b", dir+"/a/link"), os.Symlink("file", dir+"/a/b/end"), os.Symlink("/etc", dir+"/out"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := openAt(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(root)
	for name, open := range map[string]func(int, string, int) (int, error){"openat2": openBeneath, "steps": openStepwise} {
		before := descriptors(t)
		for path, good := range map[string]bool{
			"a/b/file": true, ".": true, "a": true, "a/link/file": false, "a/b/end": false, "out/passwd": false, "a/no/file": false,
		} {
			fd, err := open(root, path, unix.O_RDONLY)
			if good != (err == nil) {
				t.Errorf("%s: opening %s ends with %v", name, path, err)
			}
			if err == nil {
				shut(fd)
			}
		}
		if after := descriptors(t); after != before {
			t.Errorf("%s: %d descriptors were open, now %d", name, before, after)
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(open)
}

// TestLinksAreBounded: what does not fit is forgotten, and names that have all been seen make room.
func TestLinksAreBounded(t *testing.T) {
	l := newLinks(1000)
	for number := range uint64(1000) {
		l.first(linkedItem(number, 2))
	}
	if n := len(l.names); n == 0 || n > 10 || l.memory > 1000 {
		t.Fatalf("%d names in %d bytes", n, l.memory)
	}
	if entry, ok := l.first(linkedItem(0, 2)); !ok || entry != "entry 0" {
		t.Errorf("the first file is %q, %v", entry, ok)
	}
	if _, ok := l.first(linkedItem(999, 2)); !ok {
		if _, ok = l.first(linkedItem(999, 2)); !ok {
			t.Error("no room was made")
		}
	}
	for number := range uint64(1000) {
		l.first(linkedItem(number, 2))
	}
	if _, ok := l.first(linkedItem(5000, 1)); ok || l.memory < 0 {
		t.Errorf("a file with one name is known; %d bytes", l.memory)
	}
}

func linkedItem(number uint64, names int) *item {
	i := &item{entry: fmt.Sprint("entry ", number)}
	i.stat.Ino = number
	for range names {
		i.stat.Nlink++
	}
	return i
}

// TestExtentsAreBounded joins extents as they come: all data is covered, and the largest holes stay.
func TestExtentsAreBounded(t *testing.T) {
	for name, hole := range map[string]func(i uint64) uint64{
		"equal":   func(uint64) uint64 { return 4096 },
		"growing": func(i uint64) uint64 { return i + 1 },
		"mixed":   func(i uint64) uint64 { return 1 + i*i%997 },
	} {
		x := extents{limit: 10}
		var data []manifest.Extent
		end := uint64(0)
		for i := range uint64(1000) {
			start := end + hole(i)
			end = start + 1 + i%50
			x.add(start, end)
			data = append(data, manifest.Extent{Offset: start, Length: end - start})
		}
		x.finish()
		if len(x.list) != 10 || !covered(data, x.list) {
			t.Errorf("%s: %v", name, x.list)
		}
		if name == "growing" && x.list[9] != data[999] {
			t.Errorf("%s: the largest hole was filled: %v", name, x.list)
		}
	}
	x := extents{limit: 10}
	x.add(5, 5)
	x.add(7, 5)
	x.finish()
	if len(x.list) != 0 {
		t.Errorf("extents of nothing are %v", x.list)
	}
}

// covered reports whether all data lies in extents, which are in order and do not touch.
func covered(data, by []manifest.Extent) bool {
	for i := 1; i < len(by); i++ {
		if by[i].Offset <= by[i-1].Offset+by[i-1].Length {
			return false
		}
	}
	for _, d := range data {
		for len(by) > 0 && by[0].Offset+by[0].Length <= d.Offset {
			by = by[1:]
		}
		if len(by) == 0 || d.Offset < by[0].Offset || d.Offset+d.Length > by[0].Offset+by[0].Length {
			return false
		}
	}
	return true
}

// TestDifferences: each thing that is compared is enough to notice a change.
func TestDifferences(t *testing.T) {
	e := &manifest.Entry{Size: 5, ModTime: 6}
	seen := sight{device: 1, inode: 2, change: 3}
	same := unix.Stat_t{Dev: 1, Ino: 2, Size: 5, Mtim: unix.NsecToTimespec(6), Ctim: unix.NsecToTimespec(3)}
	if d := seen.difference(e, &same); d != "" {
		t.Errorf("the same differs: %s", d)
	}
	for name, change := range map[string]func(*unix.Stat_t){
		"device": func(s *unix.Stat_t) { s.Dev++ }, "inode": func(s *unix.Stat_t) { s.Ino++ },
		"size": func(s *unix.Stat_t) { s.Size++ }, "mtime": func(s *unix.Stat_t) { s.Mtim.Nsec++ },
		"ctime": func(s *unix.Stat_t) { s.Ctim.Nsec++ },
	} {
		other := same
		change(&other)
		if seen.difference(e, &other) == "" {
			t.Errorf("another %s is not noticed", name)
		}
	}
}

// TestKeyHasAllThatTells: each thing by which a change shows is in the key of the cache by itself. The times of change are set here: elsewhere whoever
// changes one of the others changes that too.
func TestKeyHasAllThatTells(t *testing.T) {
	same := unix.Stat_t{Dev: 1, Ino: 2, Size: 5, Blocks: 1, Nlink: 1, Mtim: unix.NsecToTimespec(6), Ctim: unix.NsecToTimespec(3)}
	was := keyOf(t, same)
	if keyOf(t, same) != was {
		t.Error("the same file has two keys")
	}
	for name, change := range map[string]func(*unix.Stat_t){
		"device": func(s *unix.Stat_t) { s.Dev++ }, "inode": func(s *unix.Stat_t) { s.Ino++ }, "size": func(s *unix.Stat_t) { s.Size++ },
		"mtime": func(s *unix.Stat_t) { s.Mtim.Sec++ }, "mtime, a little later": func(s *unix.Stat_t) { s.Mtim.Nsec++ },
		"ctime": func(s *unix.Stat_t) { s.Ctim.Sec++ }, "ctime, a little later": func(s *unix.Stat_t) { s.Ctim.Nsec++ },
	} {
		other := same
		if change(&other); keyOf(t, other) == was {
			t.Errorf("another %s is not noticed", name)
		}
	}
}

// keyOf is the key of a source that is a file, of which this was seen.
func keyOf(t *testing.T, seen unix.Stat_t) [32]byte {
	t.Helper()
	s := new(Source)
	defer s.Close()
	var err error
	for _, file := range []**os.File{&s.spool, &s.seen} {
		if *file, err = openSpool(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	w := &walker{ctx: t.Context(), source: s, out: manifest.NewWriter(s.spool), seen: newSightings(s.seen), links: newLinks(0)}
	if err := w.addFile(&item{directory: unix.AT_FDCWD, name: os.DevNull, entry: "file", stat: seen}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.open(w); err != nil {
		t.Fatal(err)
	}
	return s.cacheKey()
}

// TestOpenedTwice: of two who open a file at the same time, one closes his descriptor again.
func TestOpenedTwice(t *testing.T) {
	before := descriptors(t)
	var o files
	open := func() *file {
		fd, err := openAt(unix.AT_FDCWD, os.DevNull, unix.O_RDONLY)
		if err != nil {
			t.Fatal(err)
		}
		return o.insert(&file{number: 7, fd: fd})
	}
	if one, other := open(), open(); one != other || one.users != 2 || descriptors(t) != before+1 {
		t.Errorf("a file was opened twice: %v, %v", one, other)
	}
	o.close()
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors were open, now %d", before, after)
	}
}

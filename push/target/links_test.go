package target

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// statOfPath is what a name is, links not followed.
func statOfPath(t *testing.T, path string) syscall.Stat_t {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return *statOf(info)
}

func hard(t *testing.T, first string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Link(first, name); err != nil {
			t.Fatal(err)
		}
	}
}

// What a push does to one name of a file changes the ctime of the others, which nobody takes for a change of theirs.
func TestNamesOfOneFile(t *testing.T) {
	data, newer := noise(1, 2*testBlock), noise(2, 2*testBlock)
	for name, items := range map[string][]item{
		"replaced":                {file("a", newer), file("b", data), file("c", data)},
		"replaced, another size":  {file("a", newer[1:]), file("b", data), file("c", data)},
		"replaced twice":          {file("a", newer), file("b", newer), file("c", data)},
		"replaced by a symlink":   {symlink("a", "b"), file("b", data), file("c", data)},
		"replaced by a hard link": {file("a", newer), hardlink("b", "a"), file("c", data)},
		"gets another name":       {file("a", data), hardlink("aa", "a"), file("b", data), file("c", data)},
		"no longer one":           {file("a", data), file("b", newer), hardlink("bb", "a"), file("c", data)},
	} {
		for _, as := range []time.Time{moment, moment.Add(time.Hour)} { // nothing has to be set, or something has
			t.Run(name, func(t *testing.T) {
				r, dir := openTest(t)
				write(t, dir+"/a", data)
				hard(t, dir+"/a", dir+"/b", dir+"/c")
				if err := errors.Join(os.Chmod(dir+"/a", 0o640), os.Chtimes(dir+"/a", as, as)); err != nil {
					t.Fatal(err)
				}
				p := pack(t, items...)
				mustDeliverForced(t, p, r)
				checkTree(t, dir, items...)
			})
		}
	}
}

// Somebody else's change is still seen.
func TestOneOfSeveralNamesIsWritten(t *testing.T) {
	data := noise(1, 2*testBlock)
	for at := 1; at <= 2; at++ { // before the other name is replaced, and after
		r, dir := openTest(t)
		write(t, dir+"/a", data)
		hard(t, dir+"/a", dir+"/b", dir+"/c")
		p := pack(t, file("a", noise(2, 2*testBlock)), file("b", data), file("c", data))
		o := p.order(".")
		o.Force = true
		d, err := p.start(r, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.send(d); err != nil {
			t.Fatal(err)
		}
		left := at
		_, err = d.Commit(meanwhile{context.Background(), &left, func() {
			waitTick()
			damage(t, dir+"/c", 100)
		}})
		if !errors.Is(err, ErrChanged) {
			t.Error(err)
		}
		d.Keep()
	}
}

// snapshot puts a file below DEST that has another name outside of the root, and returns how that is.
func snapshot(t *testing.T, path string, data []byte) (outside string, was syscall.Stat_t) {
	t.Helper()
	write(t, path, data)
	outside = filepath.Join(t.TempDir(), "snapshot")
	hard(t, path, outside)
	return outside, statOfPath(t, outside)
}

// sameMetadata checks that nobody has given a file another mode, time or owner.
func sameMetadata(t *testing.T, path string, was syscall.Stat_t) {
	t.Helper()
	is := statOfPath(t, path)
	if is.Ino != was.Ino || is.Mode != was.Mode || is.Mtim != was.Mtim || is.Uid != was.Uid || is.Gid != was.Gid {
		t.Errorf("%s was changed: %+v, it was %+v", path, is, was)
	}
}

// What is set of an identical file is not set of its other names, wherever they are.
func TestMetadataStaysBelow(t *testing.T) {
	data, image := noise(1, 2*testBlock+5), sparse("s")
	for name, c := range map[string]struct {
		items []item
		names []string // in DEST, of the same file
	}{
		"file":            {[]item{file("a", data)}, nil},
		"empty":           {[]item{file("a", nil)}, nil},
		"sparse":          {[]item{{image.Entry, image.data}}, nil},
		"hard links":      {[]item{file("a", data), file("b", data), hardlink("c", "a"), hardlink("d", "b")}, []string{"c"}},
		"several entries": {[]item{file("a", data), file("b", data)}, []string{"b"}},
	} {
		for _, preserve := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				r, dir := openTest(t)
				first := &c.items[0]
				outside, was := snapshot(t, filepath.Join(dir, first.Path), first.data)
				for _, name := range c.names {
					hard(t, outside, filepath.Join(dir, name))
				}
				was.Nlink += uint64(len(c.names))
				for i := range c.items {
					c.items[i].UID, c.items[i].GID = 1234, 2345
				}
				p := pack(t, c.items...)
				o := p.order(".")
				o.Preserve = preserve
				if done := mustDeliver(t, p, r, o); done.Skipped < uint64(1+len(c.names)) {
					t.Errorf("%+v", done)
				}
				checkTree(t, dir, c.items...)
				sameMetadata(t, outside, was)
				if there, err := os.ReadFile(outside); err != nil || !bytes.Equal(there, first.data) {
					t.Error("the other name has other content", err)
				}
				again := statOfPath(t, filepath.Join(dir, first.Path))
				mustDeliver(t, p, r, o)
				if is := statOfPath(t, filepath.Join(dir, first.Path)); is.Ino != again.Ino {
					t.Error("the second time there is a copy again, and nothing to be set")
				}
			})
		}
	}
}

// A copy belongs to whom the file belonged, unless the push says whose it is.
func TestCopyKeepsItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	r, dir := openTest(t)
	outside, _ := snapshot(t, dir+"/a", noise(1, 100))
	if err := os.Chown(outside, 1234, 2345); err != nil {
		t.Fatal(err)
	}
	p := pack(t, file("a", noise(1, 100)))
	mustDeliver(t, p, r, p.order("."))
	if is := statOfPath(t, dir+"/a"); is.Uid != 1234 || is.Gid != 2345 || is.Ino == statOfPath(t, outside).Ino {
		t.Errorf("%+v", is)
	}
}

func TestMetadataOfSymlinksStaysBelow(t *testing.T) {
	r, dir := openTest(t)
	outside := filepath.Join(t.TempDir(), "snapshot")
	if err := errors.Join(os.Symlink("to", outside), os.Symlink("to", dir+"/alone")); err != nil {
		t.Fatal(err)
	}
	hard(t, outside, dir+"/l")
	was, alone := statOfPath(t, outside), statOfPath(t, dir+"/alone")
	items := []item{symlink("alone", "to"), symlink("l", "to")}
	for i := range items {
		items[i].UID, items[i].GID = 1234, 2345
	}
	p := pack(t, items...)
	o := p.order(".")
	o.Preserve = true
	for range 2 {
		if done := mustDeliver(t, p, r, o); done.Skipped != 2 {
			t.Errorf("%+v", done)
		}
		checkTree(t, dir, items...)
		sameMetadata(t, outside, was)
		if statOfPath(t, dir+"/alone").Ino != alone.Ino {
			t.Error("one that has no other name is made anew")
		}
	}
}

// interruption is a context that ends when it is asked the so many-th time.
type interruption struct {
	context.Context
	left *int
}

func (i interruption) Err() error {
	if *i.left--; *i.left <= 0 {
		return context.Canceled
	}
	return nil
}

// A commit is interrupted when one name of a file has the copy, and the other does not yet. The next goes on, and nobody has to say Force.
func TestInterruptedBetweenNames(t *testing.T) {
	data := noise(1, 2*testBlock)
	items := []item{file("a", data), hardlink("b", "a"), hardlink("c", "a")}
	for at := 1; at <= len(items); at++ {
		r, dir := openTest(t)
		outside, was := snapshot(t, dir+"/a", data)
		hard(t, outside, dir+"/b", dir+"/c")
		p := pack(t, items...)
		d, err := p.start(r, p.order("."))
		if err != nil {
			t.Fatal(err)
		}
		left := at
		if _, err := d.Commit(interruption{context.Background(), &left}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		d.Keep()
		if done := mustDeliver(t, p, r, p.order(".")); done.Written != 0 || done.Skipped != 3 {
			t.Errorf("%+v", done)
		}
		checkTree(t, dir, items...)
		sameMetadata(t, outside, was)
	}
}

// A name that has come to another content meanwhile is not replaced by a link.
func TestNameIsAnotherFileMeanwhile(t *testing.T) {
	r, dir := openTest(t)
	data, other := noise(1, 2*testBlock), noise(2, 2*testBlock)
	outside, _ := snapshot(t, dir+"/a", data)
	hard(t, outside, dir+"/b")
	p := pack(t, file("a", data), hardlink("b", "a"))
	d, err := p.start(r, p.order("."))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	left := 3 // the first name, its copy, and the second one
	_, err = d.Commit(meanwhile{context.Background(), &left, func() {
		os.Remove(dir + "/b")
		write(t, dir+"/b", other)
	}})
	if there, _ := os.ReadFile(dir + "/b"); !errors.Is(err, ErrExists) || !bytes.Equal(there, other) {
		t.Error("it was replaced", err)
	}
}

// Between the comparison and the moment of replacing, too, another file may come there, or none be left.
func TestOnlyTheSameIsReplaced(t *testing.T) {
	r, dir := openTest(t)
	write(t, dir+"/f", noise(1, 100))
	p := pack(t, file("f", noise(1, 100)))
	d, err := p.start(r, p.order("."))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	for _, name := range []string{"f", "gone"} {
		c, p := &commit{Delivery: d}, &placing{dir: d.place.dir, name: name}
		if err := c.replaceSame(p, "any", stamp{}); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLinks(t *testing.T) {
	const files = 1000
	r, _ := openTest(t)
	f, err := r.scratch()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := func(number int, ctime int64) *unix.Stat_t {
		return &unix.Stat_t{Dev: uint64(number % 2), Ino: uint64(number/2 + 1), Ctim: unix.NsecToTimespec(ctime)}
	}
	explains := func(l *links, number int, was, is int64) bool {
		ours, err := l.explains(stampOf(at(number, was)), stampOf(at(number, is)))
		if err != nil {
			t.Fatal(err)
		}
		return ours
	}
	l := &links{records: records[linked]{f}}
	for range 2 {
		if err := l.reset(files); err != nil {
			t.Fatal(err)
		}
		for i := range files {
			if err := errors.Join(l.add(stampOf(at(i, 0)).Inode), l.add(stampOf(at(i, 0)).Inode)); err != nil {
				t.Fatal(err)
			}
			if explains(l, i, 10, 20) {
				t.Fatal("nothing was noted")
			}
		}
		for i := range files {
			if err := errors.Join(l.note(at(i, 10), at(i, 20)), l.note(at(i, 20), at(i, int64(30+i)))); err != nil {
				t.Fatal(err)
			}
		}
		for i := range files {
			if !explains(l, i, 10, int64(30+i)) || explains(l, i, 20, int64(30+i)) || explains(l, i, 10, 20) {
				t.Fatal("what was noted is not what is found", i)
			}
		}
		if err := l.note(at(3, 500), at(3, 600)); err != nil || explains(l, 3, 10, 600) || !explains(l, 3, 500, 600) {
			t.Error("somebody else has changed it in between", err)
		}
		written := at(4, 600)
		written.Mtim.Sec++
		if err := l.note(at(4, 34), written); err != nil || explains(l, 4, 10, 600) {
			t.Error("it was written meanwhile", err)
		}
		if err := l.note(at(files+5, 1), at(files+5, 2)); err != nil || explains(l, files+5, 1, 2) {
			t.Error("one that is of no matter is noted", err)
		}
	}
}

func TestUnsettled(t *testing.T) {
	changed := time.Unix(1000, 5)
	for _, c := range []struct{ changed, age, want time.Duration }{
		{0, 0, fileTick}, {0, time.Millisecond, fileTick - time.Millisecond}, {0, fileTick, 0}, {0, time.Hour, 0}, {0, -time.Second, 0},
		{-5, 0, coarseTick}, {-5, time.Second, coarseTick - time.Second}, {-5, time.Hour, 0},
	} {
		at := changed.Add(c.changed)
		s := &unix.Stat_t{Ctim: unix.NsecToTimespec(at.UnixNano())}
		if got := unsettled(s, at.Add(c.age)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

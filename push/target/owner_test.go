package target

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// mapped puts a file that belongs to somebody, who keeps it mapped: he can write to it whatever its owner and its mode are later. It is dirty
// already, so that what he writes next does not change its ctime.
func mapped(t *testing.T, path string, data []byte) []byte {
	t.Helper()
	write(t, path, data)
	if err := errors.Join(os.Chown(path, somebody, somebody), os.Chmod(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	memory, err := unix.Mmap(int(f.Fd()), 0, len(data), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(memory) })
	copy(memory, data)
	return memory
}

// owned is a file with an owner and a mode, which a push keeps.
func owned(path string, data []byte, mode, owner uint32) item {
	i := file(path, data)
	i.Mode, i.UID, i.GID = mode, owner, owner
	return i
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
}

// Who has a file open that a push makes another's, or setuid, cannot write to what that one has, or runs.
func TestFileIsTakenOver(t *testing.T) {
	needsRoot(t)
	data := noise(1, 2*testBlock+5)
	small, alias := data[:100], hardlink("g", "f")
	alias.Mode = 0o755
	for name, c := range map[string]struct {
		items []item
		names []string // in DEST, of the same file
		sent  int
	}{
		"setuid":        {[]item{owned("f", data, 0o4755, 0)}, nil, 0},
		"owner":         {[]item{owned("f", data, 0o644, 1234)}, nil, 0},
		"group":         {[]item{owned("f", data, 0o2755, 0)}, nil, 0},
		"own setuid":    {[]item{owned("f", data, 0o4755, somebody)}, nil, 0},
		"several names": {[]item{owned("f", data, 0o4755, 0), alias}, []string{"g"}, 0},
		"among others":  {[]item{owned("e", noise(2, 100), 0o644, 0), owned("f", small, 0o4755, 0), owned("g", noise(3, 100), 0o644, 0)}, nil, 1},
	} {
		for _, force := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				r, dir := openTest(t)
				path := filepath.Join(dir, "f")
				content := data
				if name == "among others" {
					content = small
				}
				memory := mapped(t, path, content)
				for _, name := range c.names {
					hard(t, path, filepath.Join(dir, name))
				}
				p := pack(t, c.items...)
				o := p.order(".")
				o.Preserve, o.Force = true, force
				done := mustDeliver(t, p, r, o)
				if done.sent != c.sent || done.Skipped < uint64(1+len(c.names)) && !force {
					t.Errorf("%+v", done)
				}
				if done.moved < 2*uint64(len(content)) {
					t.Errorf("of %d bytes that were copied and compared it told of %d", len(content), done.moved)
				}
				memory[7]++
				checkTree(t, dir, c.items...)
				checkOwned(t, dir, c.items...)
				again := statOfPath(t, path)
				mustDeliver(t, p, r, o)
				if is := statOfPath(t, path); is.Ino != again.Ino {
					t.Error("the second time there is a copy again, and nothing to be set")
				}
			})
		}
	}
}

func checkOwned(t *testing.T, dir string, items ...item) {
	t.Helper()
	for _, i := range items {
		is := statOfPath(t, filepath.Join(dir, i.Path))
		if i.Link == "" && (is.Uid != i.UID || is.Gid != i.GID || is.Mode&0o7777 != i.Mode) {
			t.Errorf("%s belongs to %d:%d and has mode %o", i.Path, is.Uid, is.Gid, is.Mode)
		}
	}
}

// He writes after the file was found identical, and before it is copied: the copy is compared once more.
func TestFileIsWrittenBeforeItIsTakenOver(t *testing.T) {
	needsRoot(t)
	data := noise(1, 2*testBlock)
	last := append(data[:testBlock:testBlock], noise(2, testBlock)...)
	for name, sent := range map[string][]byte{"identical": data, "one block comes": last} {
		t.Run(name, func(t *testing.T) {
			r, dir := openTest(t)
			memory := mapped(t, dir+"/f", data)
			p := pack(t, owned("f", sent, 0o4755, 0))
			o := p.order(".")
			o.Preserve, o.Force = true, true
			d, err := p.start(r, o)
			if err != nil {
				t.Fatal(err)
			}
			memory[7]++
			if _, err := p.send(d); err != nil {
				t.Fatal(err)
			}
			for range 2 { // a second try is no better
				if _, err := d.Commit(context.Background()); !errors.Is(err, ErrChanged) {
					t.Error(err)
				}
			}
			d.Keep()
			if is := statOfPath(t, dir+"/f"); is.Uid != somebody || is.Mode&0o7000 != 0 {
				t.Errorf("it was taken over: %+v", is)
			}
			mustDeliver(t, p, r, o)
			checkTree(t, dir, owned("f", sent, 0o755, 0))
		})
	}
}

// Whose it was before does not show: a file that is to be setuid is not made so in place.
func TestFileWasAnothers(t *testing.T) {
	needsRoot(t)
	r, dir := openTest(t)
	data := noise(1, testBlock+100)
	memory := mapped(t, dir+"/f", data)
	if err := os.Chown(dir+"/f", 0, 0); err != nil {
		t.Fatal(err)
	}
	items := []item{owned("f", data, 0o4755, 0)}
	p := pack(t, items...)
	o := p.order(".")
	o.Preserve = true
	mustDeliver(t, p, r, o)
	memory[7]++
	checkTree(t, dir, items...)
	checkOwned(t, dir, items...)
}

// A file in place that nobody else can write to is not copied.
func TestOwnFileIsGivenAway(t *testing.T) {
	needsRoot(t)
	r, dir := openTest(t)
	data := noise(1, 100)
	write(t, dir+"/f", data)
	was := statOfPath(t, dir+"/f")
	p := pack(t, owned("f", data, 0o644, 1234))
	o := p.order(".")
	o.Preserve = true
	mustDeliver(t, p, r, o)
	checkOwned(t, dir, owned("f", data, 0o644, 1234))
	if is := statOfPath(t, dir+"/f"); is.Ino != was.Ino {
		t.Error("it was copied")
	}
}

// The copy takes space beside the file.
func TestNoSpaceToTakeOver(t *testing.T) {
	needsRoot(t)
	dir := t.TempDir()
	mountAt(t, dir, "size=1m", 0)
	data := noise(1, 600<<10)
	mapped(t, dir+"/f", data)
	r := openAt(t, dir)
	p := pack(t, owned("f", data, 0o4755, 0))
	o := p.order(".")
	o.Preserve = true
	d, err := p.start(r, o)
	if !errors.Is(err, ErrSpace) {
		t.Error(err)
	}
	d.Keep()
}

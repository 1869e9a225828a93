package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// mountAt mounts a filesystem of its own for the test.
func mountAt(t *testing.T, dir, options string, flags uintptr) {
	t.Helper()
	if err := unix.Mount("weft-test", dir, "tmpfs", flags, options); err != nil {
		t.Skipf("this process may not mount: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
}

func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	mountAt(t, dir, "size=1m", 0)
	r := openAt(t, dir)
	p := pack(t, file("large", noise(1, 2<<20)))
	if err := r.Preflight(p.order(".")); !errors.Is(err, ErrSpace) {
		t.Error("preflight:", err)
	}
	if _, err := r.Begin(p.order(".")); !errors.Is(err, ErrSpace) {
		t.Error(err)
	}
	// Others take the space meanwhile.
	for name, items := range map[string][]item{
		"large": {file("f", noise(1, 700<<10))}, "small": {folder("s", 0o755), file("s/1", noise(1, 50000)), file("s/2", noise(2, 500<<10))},
	} {
		p := pack(t, items...)
		d, err := p.start(r, p.order("."))
		if err != nil {
			t.Fatal(err)
		}
		filler := filepath.Join(dir, "filler")
		write(t, filler, make([]byte, 600<<10))
		if _, err := p.send(d); !errors.Is(err, ErrSpace) {
			t.Errorf("%s: %v", name, err)
		}
		d.Keep()
		if got := listing(t, dir); len(got) != 1 {
			t.Errorf("%q", got)
		}
		os.Remove(filler)
		mustDeliver(t, p, r, p.order("."))
		checkTree(t, dir, items...)
		os.RemoveAll(filepath.Join(dir, items[0].Path))
	}
}

// What is in place may be what is to come, so that no space is needed; but not if it is too short for that.
func TestPreflightBesideAFile(t *testing.T) {
	dir := t.TempDir()
	mountAt(t, dir, "size=1m", 0)
	r, p := openAt(t, dir), pack(t, file("large", noise(1, 2<<20)))
	for size, want := range map[int64]error{100: ErrSpace, 2 << 20: nil} {
		name := filepath.Join(dir, "large")
		write(t, name, nil)
		if err := os.Truncate(name, size); err != nil { // a hole, for which there is room
			t.Fatal(err)
		}
		if err := r.Preflight(p.order(".")); !errors.Is(err, want) {
			t.Errorf("beside %d bytes: %v, should be %v", size, err, want)
		}
	}
}

// What an earlier attempt has begun to write needs the space that it does not take yet.
func TestNoSpaceToResume(t *testing.T) {
	all := make([]int, 11)
	for i := range all {
		all[i] = i
	}
	for name, c := range map[string]struct {
		blocks    []int // that have come
		others    int   // blocks of other files, of 16 for which there is room
		preflight error
		start     error
	}{
		"nothing":               {nil, 7, ErrSpace, ErrSpace},
		"a block, too few left": {[]int{0}, 7, nil, ErrSpace},
		"a block":               {[]int{0}, 4, nil, nil},
		"all":                   {all, 4, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mountAt(t, dir, "size=1m", 0)
			r := openAt(t, dir)
			items := []item{file("f", noise(1, len(all)*testBlock))}
			p := pack(t, items...)
			interrupted(t, p, r, p.order("."), c.blocks...)
			if c.blocks == nil { // as the kernel leaves it that has no room
				partials, err := filepath.Glob(filepath.Join(dir, weftFolder, partialFolder, "*", dataFolder))
				if err != nil || len(partials) != 1 {
					t.Fatal(partials, err)
				}
				write(t, partials[0]+"/0/0", nil)
			}
			filler := filepath.Join(dir, "filler")
			write(t, filler, make([]byte, c.others*testBlock))
			if err := r.Preflight(p.order(".")); !errors.Is(err, c.preflight) {
				t.Errorf("preflight: %v, should be %v", err, c.preflight)
			}
			d, err := p.start(r, p.order("."))
			if !errors.Is(err, c.start) {
				t.Errorf("start: %v, should be %v", err, c.start)
			}
			if d != nil {
				d.Keep()
			}
			os.Remove(filler)
			if done := mustDeliver(t, p, r, p.order(".")); done.sent != len(all)-len(c.blocks) {
				t.Errorf("%+v", done)
			}
			checkTree(t, dir, items...)
		})
	}
}

// Who finds the disk full when it takes over from another push leaves what that had.
func TestDiskFullWhileTakingOver(t *testing.T) {
	for name, change := range map[string]func(*Order){
		"info": func(o *Order) { o.Owner = strings.Repeat("olive@desk ", 1000) },
		"map":  func(o *Order) { o.Block = 8 }, // it has more than a page
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mountAt(t, dir, "size=2m", 0)
			r := openAt(t, dir)
			items := []item{file("f", noise(1, 6*testBlock))}
			p := pack(t, items...)
			o := p.order(".")
			interrupted(t, p, r, o, 2, 3, 4, 5)
			filler, err := os.Create(filepath.Join(dir, "filler"))
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = filler.Write(make([]byte, 4096))
			}
			filler.Close()
			full := o
			change(&full)
			if _, err := r.Begin(full); !errors.Is(err, ErrSpace) {
				t.Errorf("on a full disk: %v", err)
			}
			os.Remove(filler.Name())
			if done := mustDeliver(t, p, r, o); done.sent != 2 {
				t.Errorf("%d blocks were sent, 2 lacked", done.sent)
			}
			checkTree(t, dir, items...)
		})
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	mountAt(t, dir, "size=1m", 0)
	write(t, dir+"/f", noise(1, 100))
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
	r := openAt(t, dir)
	p := pack(t, file("f", noise(1, 100)))
	if err := r.Preflight(p.order("d")); !errors.Is(err, ErrPermission) {
		t.Error("preflight:", err)
	}
	if _, err := r.Begin(p.order("d")); !errors.Is(err, ErrPermission) {
		t.Error(err)
	}
	if missing, different, n := verify(t, p, r, "."); n != 0 {
		t.Errorf("compared with what can only be read: %q %q %d", missing, different, n)
	}
}

func TestOtherFilesystem(t *testing.T) {
	r, dir := openTest(t)
	mounted := filepath.Join(dir, "mounted")
	if err := os.Mkdir(mounted, 0o755); err != nil {
		t.Fatal(err)
	}
	mountAt(t, mounted, "size=1m", 0)
	p := pack(t, file("f", noise(1, 100)))
	for _, dest := range []string{"mounted", "mounted/new"} {
		if _, err := r.Begin(p.order(dest)); !errors.Is(err, ErrOtherFilesystem) {
			t.Errorf("%q: %v", dest, err)
		}
	}
	below := pack(t, folder("mounted", 0o755), file("mounted/f", noise(1, 100)))
	if err := r.Preflight(below.order(".")); !errors.Is(err, ErrOtherFilesystem) || !strings.Contains(err.Error(), `"mounted"`) {
		t.Error("below:", err)
	}
}

// A mount in the middle of a tree is found before anything is sent, and one of the same filesystem too.
func TestMountBelow(t *testing.T) {
	for name, put := range map[string]func(dir string) error{
		"another": func(dir string) error { return unix.Mount("weft-test", dir, "tmpfs", 0, "size=1m") },
		"same":    func(dir string) error { return unix.Mount(dir, dir, "", unix.MS_BIND, "") },
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := openTest(t)
			mounted := filepath.Join(dir, "d/mounted")
			if err := os.MkdirAll(mounted, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := put(mounted); err != nil {
				t.Skipf("this process may not mount: %v", err)
			}
			t.Cleanup(func() { unix.Unmount(mounted, unix.MNT_DETACH) })
			p := pack(t, file("a", noise(1, 100)), folder("d", 0o755), folder("d/mounted", 0o755), file("d/mounted/f", noise(1, 100)))
			d, err := p.start(r, p.order("."))
			if err == nil {
				t.Fatal("it begins")
			}
			if !errors.Is(err, ErrOtherFilesystem) || !strings.Contains(err.Error(), `"d/mounted"`) {
				t.Error(err)
			}
			d.Keep()
			if missing, different, n := verify(t, p, r, "."); n != 2 || len(missing) != 2 {
				t.Errorf("compared: %q %q %d", missing, different, n)
			}
		})
	}
}

// What replaces a file takes its space beside that.
func TestNoSpaceToReplace(t *testing.T) {
	for name, there := range map[string][]byte{"other": noise(2, 600<<10), "some blocks other": append(noise(2, testBlock), noise(1, 600<<10)[testBlock:]...)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mountAt(t, dir, "size=1m", 0)
			write(t, dir+"/f", there)
			r := openAt(t, dir)
			p := pack(t, file("f", noise(1, 600<<10)))
			o := p.order(".")
			o.Force = true
			d, err := p.start(r, o)
			if !errors.Is(err, ErrSpace) {
				t.Error(err)
			}
			d.Keep()
			if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size=2m"); err != nil {
				t.Fatal(err)
			}
			mustDeliver(t, p, r, o)
			checkTree(t, dir, file("f", noise(1, 600<<10)))
		})
	}
}

// A directory into which names can be put, and not read, is refused before anything is sent: its names could not be made durable.
func TestDirectoryThatCannotBeRead(t *testing.T) {
	dir := somebodysDir(t)
	p := pack(t, file("f", noise(1, 100)))
	err := asUser(func() error {
		r, err := OpenRoot(dir)
		if err != nil {
			return err
		}
		defer r.Close()
		if err := os.Mkdir(dir+"/d", 0o300); err != nil {
			return err
		}
		for _, dest := range []string{"d", "d/below"} {
			if err := r.Preflight(p.order(dest)); !errors.Is(err, ErrPermission) {
				return fmt.Errorf("%s: %w", dest, err)
			}
		}
		return os.Chmod(dir+"/d", 0o700)
	})
	if err != nil {
		t.Error(err)
	}
}

// A link on the way to DEST that leads nowhere is no place for a directory.
func TestLinkThatLeadsNowhere(t *testing.T) {
	r, dir := openTest(t)
	if err := errors.Join(os.Mkdir(dir+"/d", 0o755), os.Symlink("nowhere", dir+"/d/link")); err != nil {
		t.Fatal(err)
	}
	for dest, single := range map[string]bool{"d/link": false, "d/link/x": false, "d/link/x/y": true} {
		o := pack(t, file("f", nil)).order(dest)
		o.Single = single
		if err := r.Preflight(o); !errors.Is(err, ErrNotDirectory) || !strings.Contains(err.Error(), `"link"`) {
			t.Errorf("%s: %v", dest, err)
		}
	}
}

func TestPreserve(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	items := []item{folder("d", 0o1777), file("d/f", noise(1, 10)), symlink("d/l", "f")}
	items[1].Mode = 0o4755
	for i := range items {
		items[i].UID, items[i].GID = 1234, 2345
	}
	p := pack(t, items...)
	for _, preserve := range []bool{false, true, true, false} { // the last ones find it there already
		r, dir := openTest(t)
		for range 2 {
			o := p.order(".")
			o.Preserve = preserve
			mustDeliver(t, p, r, o)
			checkTree(t, dir, items...)
		}
		for _, i := range items {
			s, err := os.Lstat(filepath.Join(dir, i.Path))
			if err != nil {
				t.Fatal(err)
			}
			stat := s.Sys().(*syscall.Stat_t)
			if special := stat.Mode&0o7000 != 0; i.Link == "" && special != preserve {
				t.Errorf("%s has mode %o", i.Path, stat.Mode)
			}
			if given := stat.Uid == 1234 && stat.Gid == 2345; given != preserve {
				t.Errorf("%s belongs to %d:%d", i.Path, stat.Uid, stat.Gid)
			}
		}
	}
}

// Who cannot give files away makes nothing that has its own rights whoever runs it.
func TestPreserveByOthers(t *testing.T) {
	if !asSomebody(t) {
		return
	}
	items := []item{folder("d", 0o3777), file("d/f", noise(1, 10))}
	items[1].Mode = 0o6755
	r, dir := openTest(t)
	p := pack(t, items...)
	for range 2 {
		o := p.order(".")
		o.Preserve = true
		mustDeliver(t, p, r, o)
	}
	for path, want := range map[string]fs.FileMode{"d": fs.ModeDir | fs.ModeSticky | 0o777, "d/f": 0o755} {
		if info, err := os.Lstat(filepath.Join(dir, path)); err != nil || info.Mode() != want {
			t.Errorf("%s is %v, want %v: %v", path, info.Mode(), want, err)
		}
	}
}

// A tree of many files is committed in memory that does not grow with it.
func TestManyFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("100,000 files")
	}
	dir, err := os.MkdirTemp("/dev/shm", "target-test-") // in memory, as 100,000 files take long on a busy disk
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	r := openAt(t, dir)
	var items []item
	for i := range 100_000 {
		if i%1000 == 0 {
			items = append(items, folder("d"+strconv.Itoa(i/1000), 0o755))
		}
		items = append(items, file("d"+strconv.Itoa(i/1000)+"/"+strconv.Itoa(i), []byte(strconv.Itoa(i))))
	}
	p := pack(t, items...)
	d, err := p.start(r, p.order("."))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	if _, err := p.send(d); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	result, err := d.Commit(context.Background())
	runtime.ReadMemStats(&after)
	if err != nil || result.Written != 100_000 {
		t.Fatal(result, err)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 32<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if n := len(listing(t, dir)); n != 100_100 {
		t.Errorf("%d names", n)
	}
	if again := mustDeliver(t, p, r, p.order(".")); again.sent != 0 || again.Skipped != 100_000 {
		t.Errorf("%+v", again)
	}
}

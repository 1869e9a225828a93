package source_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/source"
)

func TestTree(t *testing.T) {
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	odd := "odd\n\xff\x01name"
	write(t, filepath.Join(tree, "b", "one"), []byte("1"))
	write(t, filepath.Join(tree, "a", odd), []byte("22"))
	write(t, filepath.Join(tree, "a-file"), []byte("333"))
	must(t, os.Chmod(filepath.Join(tree, "a-file"), 0o750|os.ModeSetuid))
	must(t, os.MkdirAll(filepath.Join(tree, "empty", "inner"), 0o700))
	must(t, os.Symlink("nowhere\xfe", filepath.Join(tree, "dangling")))
	must(t, os.Symlink("empty", filepath.Join(tree, "directory")))
	must(t, os.Symlink("../..", filepath.Join(tree, "out")))

	s := scan(t, tree)
	got, order := entries(t, s)
	want := []string{"tree", "tree/a", "tree/a/" + odd, "tree/a-file", "tree/b", "tree/b/one", "tree/dangling",
		"tree/directory", "tree/empty", "tree/empty/inner", "tree/out"}
	if !slices.Equal(order, want) {
		t.Fatalf("entries are %q", order)
	}
	var stat unix.Stat_t
	must(t, unix.Lstat(filepath.Join(tree, "a-file"), &stat))
	e := got["tree/a-file"]
	if e.Kind != manifest.File || e.Mode != 0o4750 || e.Size != 3 || e.UID != stat.Uid || e.GID != stat.Gid || e.ModTime != stat.Mtim.Nano() {
		t.Errorf("a file is %+v", e)
	}
	for path, target := range map[string]string{"dangling": "nowhere\xfe", "directory": "empty", "out": "../.."} {
		if e := got["tree/"+path]; e.Kind != manifest.Symlink || e.Link != target {
			t.Errorf("a symlink is %+v", e)
		}
	}
	if e := got["tree/empty/inner"]; e.Kind != manifest.Directory || e.Mode != 0o700 {
		t.Errorf("an empty directory is %+v", e)
	}
	if all := readAll(t, s, content(s)); string(all) != "223331" {
		t.Errorf("the content is %q", all)
	}
	if s.Single() || len(s.Skipped().Names) != 0 {
		t.Errorf("single %v, skipped %v", s.Single(), s.Skipped())
	}
}

func TestManifestStream(t *testing.T) {
	dir := quick(t)
	for i := range 2000 {
		write(t, filepath.Join(dir, fmt.Sprint("a name that takes some room ", i)), nil)
	}
	s := scan(t, dir+"/")
	l := manifest.NewLayout(manifest.ManifestStream, s.Summary().Size, block)
	all := readAll(t, s, l)
	if l.Blocks() < 2 {
		t.Fatalf("the manifest has %d blocks only", l.Blocks())
	}
	_, summary, err := manifest.Open(bytes.NewReader(all), int64(len(all)))
	must(t, err)
	if own := s.Summary(); !summary.Equal(&own) || summary.Entries != 2000 {
		t.Errorf("the stream is the manifest of %+v, not of %+v", summary, own)
	}
}

// TestNames checks under which name sources arrive.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "d", "in", "f"), []byte("f"))
	must(t, os.Symlink("d/in/f", filepath.Join(dir, "link")))
	must(t, os.Symlink("d", filepath.Join(dir, "way")))
	t.Chdir(filepath.Join(dir, "d", "in"))
	for path, want := range map[string]string{
		dir + "/d":      "d d/in d/in/f",
		dir + "/d/":     "in in/f",
		dir + "/d/.":    "in in/f",
		dir + "/way":    "way way/in way/in/f",
		dir + "/way/":   "in in/f",
		dir + "/link":   "link",
		dir + "/d/in/f": "f",
		".":             "f",
		"f":             "f",
		"../in":         "in in/f",
		"..":            "d d/in d/in/f",
		"../":           "in in/f",
		"../..//d/in//": "f",
	} {
		s := scan(t, path)
		if _, order := entries(t, s); strings.Join(order, " ") != want {
			t.Errorf("%s arrives as %q, not %q", path, order, want)
		}
		if all := readAll(t, s, content(s)); string(all) != "f" {
			t.Errorf("%s has the content %q", path, all)
		}
	}
	for _, path := range []string{dir + "/link", dir + "/d/in/f", "f"} {
		if !scan(t, path).Single() {
			t.Errorf("%s is not a single file", path)
		}
	}
	for _, path := range []string{dir + "/d/in/", dir + "/d/in/.", ".", "../in", "../../d/in//"} {
		if scan(t, path).Single() {
			t.Errorf("%s is a single file, though a directory was named", path)
		}
	}
}

func TestSeveral(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"a/x", "b/x", "b/y", "x", "c/d/z"} {
		write(t, filepath.Join(dir, path), []byte(path))
	}
	at := func(path string) string { return dir + "/" + path }
	s := scan(t, at("b"), at("x"), at("a"), at("c/"))
	if _, order := entries(t, s); strings.Join(order, " ") != "b b/x b/y x a a/x d d/z" {
		t.Errorf("entries are %q", order)
	}
	if all := readAll(t, s, content(s)); string(all) != "b/xb/yxa/xc/d/z" {
		t.Errorf("the content is %q", all)
	}
	for _, pair := range [][2]string{{"a/", "b/"}, {"b/", "x"}, {"x", "b/"}, {"a/x", "x"}, {"a", "a"}, {"a/", "a/"}} {
		refuse(t, source.ErrDuplicate, "/"+strings.TrimSuffix(pair[1], "/"), at(pair[0]), at(pair[1]))
	}
}

func TestMissing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/file", nil)
	must(t, os.Symlink("nowhere", dir+"/dangling"))
	must(t, unix.Mkfifo(dir+"/pipe", 0o600))
	refuse(t, source.ErrMissing, dir+"/no", dir+"/no")
	refuse(t, source.ErrDangling, dir+"/dangling is a symbolic link that leads nowhere", dir+"/dangling")
	refuse(t, source.ErrDangling, dir+"/dangling", dir+"/dangling/")
	refuse(t, source.ErrMissing, dir+"/dangling/below", dir+"/dangling/below")
	refuse(t, source.ErrMissing, dir+"/file/below", dir+"/file/below")
	refuse(t, source.ErrMissing, "slash", dir+"/file/")
	refuse(t, source.ErrMissing, `"" `, "")
	refuse(t, source.ErrRefused, "named pipe", dir+"/pipe")
	if _, err := source.Scan(background, source.Config{}); err == nil {
		t.Error("a scan of nothing succeeds")
	}
	if _, err := source.Scan(background, source.Config{Paths: []string{dir}, Spool: dir + "/no"}); err == nil {
		t.Error("a scan without a place for its spool succeeds")
	}
}

func TestUnreadable(t *testing.T) {
	dir, spool := t.TempDir(), t.TempDir()
	write(t, dir+"/d/e/file", nil)
	must(t, os.Chmod(spool, 0o777))
	must(t, os.Chmod(dir, 0o711))
	must(t, os.Chmod(filepath.Dir(dir), 0o711))
	unreadable := func(path string, mode os.FileMode) {
		t.Helper()
		must(t, os.Chmod(path, mode))
		err := asNobody(func() error {
			_, err := source.Scan(background, source.Config{Paths: []string{dir + "/d"}, Spool: spool})
			return err
		})
		wrong(t, err, source.ErrUnreadable, path)
	}
	unreadable(dir+"/d/e/file", 0)
	unreadable(dir+"/d/e", 0o711)
	unreadable(dir+"/d", 0)
	must(t, os.Chmod(dir+"/d", 0o700))
	must(t, os.Chmod(dir+"/d/e", 0o700))
}

// asNobody does something with the rights of somebody to whom nothing belongs, if this is root. The thread that is that somebody
// ends with the goroutine.
func asNobody(do func() error) error {
	done := make(chan error)
	go func() {
		if os.Geteuid() == 0 {
			runtime.LockOSThread()
			unix.SetfsuidRetUid(65534)
			unix.SetfsgidRetGid(65534)
		}
		done <- do()
	}()
	return <-done
}

func TestSkipped(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/file", []byte("f"))
	listener, err := net.Listen("unix", dir+"/socket")
	must(t, err)
	defer listener.Close()
	for i := range source.MaxSkipped + 20 {
		must(t, unix.Mkfifo(fmt.Sprintf("%s/pipe\n%d", dir, i), 0o600))
	}
	s := scan(t, dir+"/")
	skipped := s.Skipped()
	if s.Summary().Entries != 1 || skipped.Count != source.MaxSkipped+21 || len(skipped.Names) != source.MaxSkipped {
		t.Fatalf("%d entries, skipped %d with %d names", s.Summary().Entries, skipped.Count, len(skipped.Names))
	}
	if name := skipped.Names[0]; !strings.Contains(name, `pipe\n0" is a named pipe`) {
		t.Errorf("skipped is %s", name)
	}
}

// TestTimes: a manifest has no room for times that lie centuries away, and they are not sent as other ones.
func TestTimes(t *testing.T) {
	dir := quick(t) // in memory all times can be had
	write(t, dir+"/d/file", nil)
	must(t, os.Mkdir(dir+"/d/directory", 0o755))
	must(t, os.Symlink("file", dir+"/d/link"))
	for _, name := range []string{"file", "directory", "link"} {
		path := dir + "/d/" + name
		for _, c := range []struct {
			year int
			good bool
		}{{1600, false}, {1678, true}, {1969, true}, {2261, true}, {2263, false}, {2400, false}} {
			if !date(t, path, c.year) {
				continue
			}
			if !c.good {
				refuse(t, source.ErrRefused, fmt.Sprintf("%s cannot be sent (its time of modification is of the year %d", path, c.year), dir+"/d/")
			} else if got, _ := entries(t, scan(t, dir+"/d/")); time.Unix(0, got[name].ModTime).UTC().Year() != c.year {
				t.Errorf("the time of %s in %d is sent as %v", name, c.year, time.Unix(0, got[name].ModTime))
			}
		}
		date(t, path, 2000)
	}
}

// date gives something a time in a year, and reports whether the filesystem has one.
func date(t *testing.T, path string, year int) bool {
	t.Helper()
	when := unix.Timespec{Sec: time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC).Unix(), Nsec: 5}
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{when, when}, unix.AT_SYMLINK_NOFOLLOW))
	var stat unix.Stat_t
	must(t, unix.Lstat(path, &stat))
	return stat.Mtim == when
}

func TestHardLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/t/b", []byte("same"))
	must(t, os.Link(dir+"/t/b", dir+"/t/c"))
	must(t, os.MkdirAll(dir+"/t/a", 0o755))
	must(t, os.Link(dir+"/t/b", dir+"/t/a/x"))
	must(t, os.Link(dir+"/t/b", dir+"/elsewhere"))
	s := scan(t, dir+"/t")
	got, _ := entries(t, s)
	if e := got["t/a/x"]; e.Kind != manifest.File || e.Size != 4 {
		t.Errorf("the first name is %+v", e)
	}
	for _, path := range []string{"t/b", "t/c"} {
		if e := got[path]; e.Kind != manifest.Hardlink || e.Link != "t/a/x" {
			t.Errorf("another name is %+v", e)
		}
	}
	if all := readAll(t, s, content(s)); string(all) != "same" {
		t.Errorf("the content is %q", all)
	}
}

func TestSparse(t *testing.T) {
	dir := t.TempDir()
	sparse(t, dir+"/a", 20<<30, map[int64]string{1 << 20: "first", 10 << 30: "second"})
	sparse(t, dir+"/hole", 1<<20, nil)
	write(t, dir+"/z", []byte("dense"))
	s := scan(t, dir+"/")
	got, _ := entries(t, s)
	if e := got["a"]; e.Size != 20<<30 || len(e.Extents) != 2 || e.Content() > 1<<20 {
		t.Fatalf("a sparse file is %+v", e)
	}
	if e := got["hole"]; e.Extents == nil || len(e.Extents) != 0 || e.Size != 1<<20 {
		t.Fatalf("a hole is %+v", e)
	}
	if e := got["z"]; e.Extents != nil {
		t.Errorf("a dense file has extents %v", e.Extents)
	}
	all := readAll(t, s, content(s))
	if !bytes.HasSuffix(all, []byte("dense")) || bytes.Index(all, []byte("first")) != 0 || !bytes.Contains(all, []byte("second")) {
		t.Errorf("%d bytes of content are not what the file has", len(all))
	}
}

// TestManyHoles makes more extents than are sent: they are joined, and nothing is lost.
func TestManyHoles(t *testing.T) {
	path := t.TempDir() + "/file"
	pieces := make(map[int64]string)
	for i := range 3 * int64(manifest.MaxExtents) / 2 {
		pieces[i*(16<<10)+i/2*(64<<10)] = "x"
	}
	sparse(t, path, 1<<30, pieces)
	s := scan(t, path)
	got, _ := entries(t, s)
	e := got["file"]
	if n := len(e.Extents); n != manifest.MaxExtents {
		t.Fatalf("%d extents", n)
	}
	if found := bytes.Count(readAll(t, s, content(s)), []byte("x")); found != len(pieces) {
		t.Errorf("the content has %d of %d pieces", found, len(pieces))
	}
}

// sparse makes a file with data in some places only.
func sparse(t testing.TB, path string, size int64, data map[int64]string) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	must(t, f.Truncate(size))
	for at, text := range data {
		_, err := f.WriteAt([]byte(text), at)
		must(t, err)
	}
	var stat unix.Stat_t
	must(t, unix.Fstat(int(f.Fd()), &stat))
	if stat.Blocks*512 >= size {
		t.Skip("the file system has no sparse files")
	}
}

func TestDeepTree(t *testing.T) {
	dir := t.TempDir()
	deep := strings.Repeat("/"+strings.Repeat("d", 100), 35)
	write(t, dir+deep+"/f", []byte("deep"))
	s := scan(t, dir+"/")
	if all := readAll(t, s, content(s)); s.Summary().Entries != 36 || string(all) != "deep" {
		t.Errorf("%d entries, content %q", s.Summary().Entries, all)
	}
}

func TestCancelledScan(t *testing.T) {
	ctx, cancel := context.WithCancel(background)
	cancel()
	if _, err := source.Scan(ctx, source.Config{Paths: []string{t.TempDir()}}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled scan ends with %v", err)
	}
}

// TestSpoolIsGone checks that nothing is left, not even while the source is open.
func TestSpoolIsGone(t *testing.T) {
	dir, spool := t.TempDir(), t.TempDir()
	write(t, dir+"/f", nil)
	s, err := source.Scan(background, source.Config{Paths: []string{dir}, Spool: spool})
	must(t, err)
	defer s.Close()
	if left, err := os.ReadDir(spool); err != nil || len(left) > 0 {
		t.Errorf("the spool directory has %v", left)
	}
}

// TestManyFiles measures that memory does not grow with the number of files.
func TestManyFiles(t *testing.T) {
	const files = 20000
	dir := quick(t)
	for i := range files {
		write(t, fmt.Sprintf("%s/%d/a file with a long name %d", dir, i/1000, i), []byte{byte(i), byte(i >> 8)})
	}
	before := heap()
	var last, calls uint64
	s, err := source.Scan(background, source.Config{Paths: []string{dir + "/"}, Spool: t.TempDir(), Progress: func(entries, _ uint64) {
		last = entries
		calls++
	}})
	must(t, err)
	defer s.Close()
	if last != files+20 || calls < 10 || s.Summary().Files != files {
		t.Errorf("progress told %d entries in %d calls, there are %d files", last, calls, s.Summary().Files)
	}
	if all := readAll(t, s, content(s)); len(all) != 2*files {
		t.Errorf("the content has %d bytes", len(all))
	}
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("an open source of %d files keeps %d bytes", files, grown)
	}
	runtime.KeepAlive(s)
}

// quick is a directory in memory, where it takes no seconds to make thousands of files; or any other.
func quick(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "weft-source-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

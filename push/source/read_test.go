package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/source"
)

// TestChanged changes a file in many ways between the scan and the reading of its second block.
func TestChanged(t *testing.T) {
	data := pattern(3 * block)
	for name, change := range map[string]func(path string) error{
		"append":   func(path string) error { return appendTo(path, "more") },
		"truncate": func(path string) error { return os.Truncate(path, block) },
		"empty":    func(path string) error { return os.Truncate(path, 0) },
		"rewrite":  func(path string) error { return rewrite(path, pattern(3*block + 1)[1:]) },
		"same":     func(path string) error { return rewrite(path, data) },
		"replace":  func(path string) error { return replace(path, data) },
		"remove":   os.Remove,
		"link":     func(path string) error { return swap(path, func() error { return os.Symlink(path+".old", path) }) },
		"directory": func(path string) error {
			return swap(path, func() error { return os.Mkdir(path, 0o755) })
		},
	} {
		for _, opened := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s opened=%v", name, opened), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "tree", "file")
				write(t, path, data)
				s := scan(t, filepath.Dir(path))
				l, payload := content(s), make([]byte, block)
				if opened {
					must(t, s.Read(l, 0, payload))
				}
				must(t, change(path))
				wrong(t, s.Read(l, 1, payload), source.ErrChanged, path)
			})
		}
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// rewrite writes other bytes of the same length into the same file.
func rewrite(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(data, 0)
	return err
}

// replace puts another file in its place, as editors do.
func replace(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// swap moves a file away, and makes something else.
func swap(path string, other func() error) error {
	if err := os.Rename(path, path+".old"); err != nil {
		return err
	}
	return other()
}

// TestSwappedDirectory puts a symbolic link in the place of a directory of the source: it must not lead anywhere.
func TestSwappedDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/tree/in/file", []byte("ours"))
	write(t, dir+"/secret/file", []byte("them"))
	s := scan(t, dir+"/tree")
	must(t, swap(dir+"/tree/in", func() error { return os.Symlink("../secret", dir+"/tree/in") }))
	wrong(t, s.Read(content(s), 0, make([]byte, 4)), source.ErrChanged, "tree/in/file")
}

// TestMovedRoot moves the whole tree away: it is still the same.
func TestMovedRoot(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/tree/file", []byte("ours"))
	s := scan(t, dir+"/tree")
	must(t, os.Rename(dir+"/tree", dir+"/moved"))
	if all := readAll(t, s, content(s)); string(all) != "ours" {
		t.Errorf("the content is %q", all)
	}
}

// TestReadsAtOnce reads many files by many goroutines, more than stay open.
func TestReadsAtOnce(t *testing.T) {
	const files, size = 100, 3*block/2 + 7
	dir := t.TempDir()
	var want []byte
	for i := range files {
		data := pattern(size + i)
		write(t, fmt.Sprintf("%s/%03d", dir, i), data)
		want = append(want, data...)
	}
	s := scan(t, dir+"/")
	l := content(s)
	var readers sync.WaitGroup
	for reader := range 8 {
		readers.Go(func() {
			payload := make([]byte, block)
			for i := range l.Blocks() {
				b := (i*7 + reader*13) % l.Blocks()
				if err := s.Read(l, b, payload[:l.Len(b)]); err != nil {
					t.Error(err)
				}
				if string(payload[:l.Len(b)]) != string(want[l.Offset(b):][:l.Len(b)]) {
					t.Errorf("block %d is wrong", b)
				}
			}
		})
	}
	readers.Wait()
	if open, err := os.ReadDir("/proc/self/fd"); err == nil && len(open) > 60 {
		t.Errorf("%d files are open", len(open))
	}
}

func TestBadReads(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, pattern(block+1))
	s := scan(t, path)
	l := content(s)
	for _, bad := range []struct {
		block, length int
	}{{-1, block}, {2, block}, {0, block - 1}, {1, 2}} {
		if s.Read(l, bad.block, make([]byte, bad.length)) == nil {
			t.Errorf("block %d was read into %d bytes", bad.block, bad.length)
		}
	}
	longer := manifest.NewLayout(manifest.ContentStream, 5*block, block)
	if s.Read(longer, 1, make([]byte, block)) == nil {
		t.Error("a block was read by a layout that is not the source's")
	}
	probe := manifest.NewLayout(manifest.ProbeStream, 5*block, block)
	must(t, s.Read(probe, 1, make([]byte, block)))
}

func TestEmptyContent(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, nil)
	s := scan(t, path)
	if l := content(s); l.Blocks() != 1 {
		t.Errorf("%d blocks", l.Blocks())
	}
	must(t, s.Read(content(s), 0, nil))
	h := hasher(s)
	must(t, h.HashAll(background, nil))
	if _, known := h.Root(); !known {
		t.Error("no root")
	}
}

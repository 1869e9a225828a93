package agent

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// thing is what is under a name of a tree.
type thing struct {
	mode    fs.FileMode // with its type
	modTime time.Time   // of a file
	link    string
	data    []byte
}

// tree is things by their paths below its top, which is ".".
type tree map[string]thing

// growTree makes a random tree: of nothing, of folders only, of files of sizes that lie around multiples of the block size.
func growTree(t testing.TB, r *rand.Rand, top string, block int) tree {
	t.Helper()
	check(t, os.Mkdir(top, 0o755))
	folders := []string{"."}
	for i := range r.IntN(4) {
		name := filepath.Join(folders[r.IntN(len(folders))], fmt.Sprint("d", i))
		check(t, os.Mkdir(filepath.Join(top, name), 0o755))
		folders = append(folders, name)
	}
	var files []string
	for i := range [...]int{0, 1, 2, 5, 30}[r.IntN(5)] {
		name := filepath.Join(top, folders[r.IntN(len(folders))], fmt.Sprint("f", i))
		growFile(t, r, name, randomSize(r, block))
		files = append(files, name)
	}
	growLinks(t, r, top, files)
	for _, name := range folders[1:] {
		check(t, os.Chmod(filepath.Join(top, name), []fs.FileMode{0o755, 0o700, 0o555}[r.IntN(3)]))
	}
	return readTree(t, top)
}

func growFile(t testing.TB, r *rand.Rand, name string, size int) {
	t.Helper()
	data := make([]byte, size)
	if r.IntN(8) > 0 { // else zeros
		for i := range data {
			data[i] = byte(r.Uint32())
		}
	}
	check(t, os.WriteFile(name, data, 0o600))
	check(t, os.Chmod(name, []fs.FileMode{0o644, 0o600, 0o755, 0o400}[r.IntN(4)]))
	then := time.Unix(1_700_000_000+r.Int64N(1e6), r.Int64N(1e9))
	check(t, os.Chtimes(name, then, then))
}

func growLinks(t testing.TB, r *rand.Rand, top string, files []string) {
	t.Helper()
	for i := range r.IntN(3) {
		check(t, os.Symlink([]string{"f0", "../x", "/nowhere"}[r.IntN(3)], filepath.Join(top, fmt.Sprint("s", i))))
	}
	if len(files) > 0 && r.IntN(2) == 0 {
		check(t, os.Link(files[r.IntN(len(files))], filepath.Join(top, "hard")))
	}
}

func randomSize(r *rand.Rand, block int) int {
	switch r.IntN(6) {
	case 0:
		return 0
	case 1:
		return 1
	case 2:
		return r.IntN(100)
	case 3:
		return r.IntN(4 * block)
	default:
		return max(0, r.IntN(12)*block+r.IntN(3)-1)
	}
}

// readTree reads all that is below a directory; nothing, if it is not there.
func readTree(t testing.TB, top string) tree {
	t.Helper()
	all := tree{}
	if _, err := os.Lstat(top); err != nil {
		return all
	}
	check(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(top, path)
		all[name], err = readThing(path, d)
		return err
	}))
	return all
}

func readThing(path string, d fs.DirEntry) (x thing, err error) {
	info, err := d.Info()
	if err != nil {
		return x, err
	}
	x.mode = info.Mode()
	switch {
	case x.mode.IsRegular():
		x.modTime = info.ModTime()
		x.data, err = os.ReadFile(path)
	case x.mode&fs.ModeSymlink != 0:
		x.link, err = os.Readlink(path)
	}
	return x, err
}

// content is how many bytes the files of a tree have, at most.
func (all tree) content() (n int) {
	for _, x := range all {
		n += len(x.data)
	}
	return n
}

func (x thing) sameContent(y thing) bool {
	return x.mode.Type() == y.mode.Type() && x.link == y.link && bytes.Equal(x.data, y.data)
}

func (x thing) String() string {
	return fmt.Sprintf("%v %q, %d bytes, of %v", x.mode, x.link, len(x.data), x.modTime)
}

// differences are how a tree differs from what it should be.
func (all tree) differences(want tree) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		x, y := all[name], want[name]
		if !x.sameContent(y) || x.mode != y.mode || !x.modTime.Equal(y.modTime) {
			list = append(list, fmt.Sprintf("%s is %v, want %v", name, x, y))
		}
	}
	for name := range all {
		if _, ok := want[name]; !ok {
			list = append(list, name+" is too much")
		}
	}
	return list
}

// wrong are the names under which there is something else than there should be, or was before.
func (all tree) wrong(want, before tree) (list []string) {
	for name, x := range all {
		y, expected := want[name]
		z, was := before[name]
		if !(expected && x.sameContent(y)) && !(was && x.sameContent(z)) {
			list = append(list, fmt.Sprintf("%s is %v, want %v or %v", name, x, y, z))
		}
	}
	return list
}

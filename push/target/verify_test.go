package target

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// verify compares only.
func verify(t *testing.T, p *parcel, r *Root, dest string) (missing, different []string, n int) {
	t.Helper()
	o := p.order(dest)
	o.Verify = true
	d, err := p.start(r, o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	if d.Write(0, cut(d.Content(), p.content, 0)) == nil && !d.Holds(0) {
		t.Error("something is written")
	}
	if _, err := d.Commit(context.Background()); err == nil {
		t.Error("something is committed")
	}
	return d.Differing()
}

func TestVerify(t *testing.T) {
	r, dir := openTest(t)
	items := tree()
	p := pack(t, items...)
	if missing, different, n := verify(t, p, r, "d"); n != len(items) || len(missing) != maxNames || different != nil {
		t.Errorf("%q missing, %q different, %d", missing, different, n)
	}
	if _, err := os.Stat(filepath.Join(dir, weftFolder)); err == nil {
		t.Error("a folder was created")
	}
	mustDeliver(t, p, r, p.order("d"))
	if missing, different, n := verify(t, p, r, "d"); n != 0 {
		t.Errorf("%q missing, %q different, %d", missing, different, n)
	}
	at := func(name string) string { return filepath.Join(dir, "d/top", name) }
	damage(t, at("large"), 2*testBlock)
	os.Remove(at("small")) // its neighbours in the block are not blamed
	os.Remove(at("empty"))
	os.Remove(at("link"))
	os.Symlink("elsewhere", at("link"))
	missing, different, n := verify(t, p, r, "d")
	if !slices.Equal(missing, []string{"d/top/small", "d/top/empty"}) || !slices.Equal(different, []string{"d/top/large", "d/top/link"}) || n != 4 {
		t.Errorf("%q missing, %q different, %d", missing, different, n)
	}
	if list := r.Pushes(); len(list) != 0 {
		t.Error(list)
	}
}

// damage changes a byte.
func damage(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	f.ReadAt(b, at)
	b[0]++
	f.WriteAt(b, at)
}

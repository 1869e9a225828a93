package target

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSomethingElseIsThere(t *testing.T) {
	data := noise(1, 3*testBlock)
	other := append([]byte{data[0] + 1}, data[1:]...)
	for name, c := range map[string]struct {
		items []item
		put   func(dir string)
		want  error // without Force
		force error
	}{
		"another size":     {[]item{file("f", data)}, func(dir string) { write(t, dir+"/f", data[1:]) }, ErrExists, nil},
		"same size":        {[]item{file("f", data)}, func(dir string) { write(t, dir+"/f", other) }, ErrExists, nil},
		"small, same size": {[]item{file("e", []byte("new")), file("f", data[:9])}, func(dir string) { write(t, dir+"/f", other[:9]) }, ErrExists, nil},
		"identical":        {[]item{file("f", data)}, func(dir string) { write(t, dir+"/f", data) }, nil, nil},
		"identical beside": {[]item{file("e", []byte("new")), file("f", data)}, func(dir string) { write(t, dir+"/f", data) }, nil, nil},
		"link for file":    {[]item{file("f", data)}, func(dir string) { os.Symlink("/etc/passwd", dir+"/f") }, ErrExists, nil},
		"dangling":         {[]item{file("f", data)}, func(dir string) { os.Symlink("nowhere", dir+"/f") }, ErrExists, nil},
		"another link":     {[]item{symlink("f", "a")}, func(dir string) { os.Symlink("b", dir+"/f") }, ErrExists, nil},
		"file for link":    {[]item{symlink("f", "a")}, func(dir string) { write(t, dir+"/f", data) }, ErrExists, nil},
		"hard link":        {[]item{file("e", data), hardlink("f", "e")}, func(dir string) { write(t, dir+"/f", data) }, ErrExists, nil},
		"hard link, same": {[]item{file("e", data), hardlink("f", "e")}, func(dir string) {
			write(t, dir+"/e", data)
			write(t, dir+"/f", data)
		}, nil, nil},
		"hard link, other": {[]item{file("e", data), hardlink("f", "e")}, func(dir string) {
			write(t, dir+"/e", data)
			write(t, dir+"/f", other)
		}, ErrExists, nil},
		"directory":       {[]item{file("f", data)}, func(dir string) { os.Mkdir(dir+"/f", 0o700) }, ErrIsDirectory, ErrIsDirectory},
		"directory, link": {[]item{symlink("f", "a")}, func(dir string) { os.Mkdir(dir+"/f", 0o700) }, ErrIsDirectory, ErrIsDirectory},
		"file for folder": {[]item{folder("f", 0o755)}, func(dir string) { write(t, dir+"/f", data) }, ErrNotDirectory, ErrNotDirectory},
		"link for folder": {[]item{folder("f", 0o755), file("f/x", data)}, func(dir string) { os.Symlink(".", dir+"/f") }, ErrNotDirectory, ErrNotDirectory},
		"sparse is filled": {[]item{sparse("f")}, func(dir string) {
			full := sparse("f").data
			full[100] = 1
			write(t, dir+"/f", full)
		}, ErrExists, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := openTest(t)
			c.put(dir)
			p := pack(t, c.items...)
			o := p.order(".")
			before := listing(t, dir)
			_, err := p.deliver(r, o)
			if !errors.Is(err, c.want) {
				t.Errorf("without force: %v", err)
			}
			if c.want != nil && len(listing(t, dir)) != len(before) {
				t.Errorf("something was changed: %q", listing(t, dir))
			}
			if c.want != nil && (!strings.Contains(err.Error(), `"f"`) || strings.Contains(err.Error(), dir)) {
				t.Errorf("the error does not say where: %v", err)
			}
			o.Force = true
			if _, err = p.deliver(r, o); !errors.Is(err, c.force) {
				t.Errorf("with force: %v", err)
			}
			if c.force == nil {
				checkTree(t, dir, c.items...)
			}
		})
	}
}

func TestConflictsAreCounted(t *testing.T) {
	r, dir := openTest(t)
	var items []item
	for _, name := range strings.Split("abcdefghi", "") {
		items = append(items, file(name, noise(1, 10)))
		write(t, filepath.Join(dir, name), noise(2, 11))
	}
	_, err := pack(t, items...).deliver(r, pack(t, items...).order("."))
	if !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "and 4 more") {
		t.Error(err)
	}
}

// A file that is there and has some of the blocks gives them, and is itself not written to.
func TestBlocksOfTheFileInPlace(t *testing.T) {
	r, dir := openTest(t)
	data := noise(1, 10*testBlock)
	old := append([]byte(nil), data...)
	copy(old[3*testBlock:], noise(2, testBlock))
	write(t, dir+"/f", old)
	reader, err := os.Open(dir + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	p := pack(t, file("f", data))
	o := p.order(".")
	o.Force = true
	if done := mustDeliver(t, p, r, o); done.sent != 1 || done.Written != 1 {
		t.Error(done)
	}
	checkTree(t, dir, file("f", data))
	there := make([]byte, len(old))
	if _, err := reader.ReadAt(there, 0); err != nil || string(there) != string(old) {
		t.Error("who had the old file open sees another one", err)
	}
}

func TestReadAfterDivergence(t *testing.T) {
	r, dir := openTest(t)
	data := noise(1, 4*testBlock)
	write(t, dir+"/f", append(noise(2, testBlock), data[testBlock:]...))
	p := pack(t, file("f", data))
	o := p.order(".")
	o.Force = true
	d, err := p.start(r, o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	for round := range 2 {
		for block := range d.Content().Blocks() {
			into := make([]byte, testBlock)
			err := d.Read(block, into)
			if held := d.Holds(block); held != (block > 0 || round > 0) || held != (err == nil) {
				t.Errorf("block %d: held is %v, and read: %v", block, held, err)
			}
			if err == nil && manifest.HashOf(into) != manifest.HashOf(cut(d.Content(), p.content, block)) {
				t.Errorf("block %d is another one", block)
			}
		}
		if _, err := p.send(d); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInPlaceFileChangesMeanwhile(t *testing.T) {
	for name, change := range map[string]func(path string){
		"written": func(path string) { os.WriteFile(path, noise(2, testBlock), 0o600) },
		"removed": func(path string) { os.Remove(path) },
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := openTest(t)
			p := pack(t, file("f", noise(1, testBlock)))
			write(t, dir+"/f", noise(1, testBlock))
			d, err := p.start(r, p.order("."))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Keep()
			waitTick()
			change(dir + "/f")
			if _, err := d.Commit(context.Background()); !errors.Is(err, ErrChanged) {
				t.Error(err)
			}
		})
	}
}

// The blocks of a file in place that have matched are copied when others differ: by then somebody may have written to them.
func TestMatchedBlocksChangeMeanwhile(t *testing.T) {
	data := noise(1, 4*testBlock)
	there := append(bytes.Clone(data[:3*testBlock]), noise(2, testBlock)...)
	for name, change := range map[string]func(path string){
		"written":   func(path string) { damage(t, path, 100) },
		"shortened": func(path string) { os.Truncate(path, testBlock) },
		"replaced":  func(path string) { os.Remove(path); os.WriteFile(path, noise(3, len(there)), 0o600) },
		"removed":   func(path string) { os.Remove(path) },
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := openTest(t)
			write(t, dir+"/f", there)
			p := pack(t, file("f", data))
			o := p.order(".")
			o.Force = true
			d, err := p.start(r, o)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Keep()
			change(dir + "/f")
			if _, err := p.send(d); !errors.Is(err, ErrChanged) {
				t.Errorf("sent: %v", err)
			}
			if _, err := d.Commit(context.Background()); err == nil {
				t.Error("committed")
			}
			d.Keep()
			mustDeliver(t, p, r, o)
			checkTree(t, dir, file("f", data))
		})
	}
}

// another is a push of d/f, which is in place, and of a directory beside it whose f is older than the push and has other content. The
// function swaps the directories, which changes no ctime of what is in them.
func another(t *testing.T, there, other []byte) (p *parcel, d *Delivery, swap func()) {
	t.Helper()
	r, dir := openTest(t)
	write(t, dir+"/d/f", there)
	write(t, dir+"/other/f", other)
	p = pack(t, folder("d", 0o755), file("d/f", noise(1, testBlock)))
	d, err := r.Begin(p.order("."))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Keep() })
	if err := p.list(d, nil); err != nil {
		t.Fatal(err)
	}
	return p, d, func() {
		if err := unix.Renameat2(unix.AT_FDCWD, dir+"/d", unix.AT_FDCWD, dir+"/other", unix.RENAME_EXCHANGE); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnotherDirectoryIsCommitted(t *testing.T) {
	p, d, swap := another(t, noise(1, testBlock), noise(2, testBlock))
	if err := p.match(d); err != nil {
		t.Fatal(err)
	}
	if sent, err := p.send(d); sent > 0 || err != nil {
		t.Fatal(sent, err)
	}
	swap()
	if _, err := d.Commit(context.Background()); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}

func TestAnotherDirectoryIsHashed(t *testing.T) {
	p, d, swap := another(t, noise(2, testBlock), noise(1, testBlock))
	swap()
	if err := p.match(d); err != nil {
		t.Fatal(err)
	}
	swap()
	if _, err := p.send(d); err == nil {
		t.Error("what has matched is not what is there")
	}
	if _, err := d.Commit(context.Background()); err == nil {
		t.Error("committed")
	}
}

// What has come there after the comparison is not replaced, unless it is the same.
func TestFileAppearsMeanwhile(t *testing.T) {
	for _, c := range []struct {
		seed uint64
		want error
	}{{1, nil}, {2, ErrExists}} {
		r, dir := openTest(t)
		p := pack(t, file("f", noise(1, testBlock)), symlink("l", "f"))
		d, err := p.start(r, p.order("."))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.send(d); err != nil {
			t.Fatal(err)
		}
		write(t, dir+"/f", noise(c.seed, testBlock))
		result, err := d.Commit(context.Background())
		if !errors.Is(err, c.want) || err == nil && result.Skipped != 1 {
			t.Error(result, err)
		}
		d.Keep()
		if data, err := os.ReadFile(dir + "/f"); err != nil || string(data) != string(noise(c.seed, testBlock)) {
			t.Error("it was replaced", err)
		}
	}
}

// What an earlier push was allowed to replace, and has begun to write, this one is not: it says so before anything has its name.
func TestConflictBehindAPartial(t *testing.T) {
	data, other := noise(1, 3*testBlock), noise(2, 3*testBlock)
	items := []item{file("a", noise(3, testBlock)), folder("d", 0o755), file("d/f", data), file("d/g", nil)}
	for _, c := range []struct {
		there []byte
		want  error
	}{{other, ErrExists}, {data, nil}} {
		r, dir := openTest(t)
		write(t, dir+"/d/f", other)
		p := pack(t, items...)
		o := p.order(".")
		o.Force = true
		interrupted(t, p, r, o, 1, 2)
		write(t, dir+"/d/f", c.there)
		write(t, dir+"/d/g", nil)
		before := listing(t, dir)
		_, err := p.deliver(r, p.order("."))
		if !errors.Is(err, c.want) {
			t.Error(err)
		}
		if c.want == nil {
			checkTree(t, dir, items...)
			continue
		}
		if !strings.Contains(err.Error(), `"d/f"`) || strings.Contains(err.Error(), `"d/g"`) {
			t.Errorf("the error does not say what is in the way: %v", err)
		}
		if after := listing(t, dir); !slices.Equal(after, before) {
			t.Errorf("something has got its name: %q", after)
		}
		mustDeliverForced(t, p, r)
		checkTree(t, dir, items...)
	}
}

// Of files that share a block, only the different one is written.
func TestIdenticalNeighbour(t *testing.T) {
	r, dir := openTest(t)
	items := []item{file("e", noise(1, 100)), file("f", noise(2, testBlock-100))}
	write(t, dir+"/e", noise(3, 100))
	write(t, dir+"/f", items[1].data)
	p := pack(t, items...)
	o := p.order(".")
	o.Force = true
	if done := mustDeliver(t, p, r, o); done.Written != 1 || done.Skipped != 1 {
		t.Errorf("%+v", done)
	}
	checkTree(t, dir, items...)
}

package target

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/push/manifest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		runChild()
	}
	leaktest.Main(m)
}

const testBlock = 64 << 10

// item is an entry with the bytes of its file, holes included.
type item struct {
	manifest.Entry
	data []byte
}

// parcel is what a pusher sends.
type parcel struct {
	manifest []byte
	summary  manifest.Summary
	content  []byte
}

var moment = time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.UTC)

func file(path string, data []byte) item {
	return item{manifest.Entry{Path: path, Kind: manifest.File, Mode: 0o640, ModTime: moment.UnixNano(), Size: uint64(len(data))}, data}
}

func folder(path string, mode uint32) item {
	return item{Entry: manifest.Entry{Path: path, Kind: manifest.Directory, Mode: mode, ModTime: moment.UnixNano()}}
}

func symlink(path, to string) item {
	return item{Entry: manifest.Entry{Path: path, Kind: manifest.Symlink, Mode: 0o777, ModTime: moment.UnixNano(), Link: to}}
}

func hardlink(path, to string) item {
	return item{Entry: manifest.Entry{Path: path, Kind: manifest.Hardlink, Mode: 0o640, ModTime: moment.UnixNano(), Link: to}}
}

// noise is data that is the same for the same seed.
func noise(seed uint64, size int) []byte {
	data := make([]byte, size)
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

func pack(t testing.TB, items ...item) *parcel {
	t.Helper()
	var text bytes.Buffer
	p := &parcel{}
	w := manifest.NewWriter(&text)
	for i := range items {
		if err := w.Add(&items[i].Entry); err != nil {
			t.Fatal(err)
		}
		for _, part := range dataOf(&items[i].Entry) {
			p.content = append(p.content, items[i].data[part.Offset:part.Offset+part.Length]...)
		}
	}
	var err error
	if p.summary, err = w.Close(); err != nil {
		t.Fatal(err)
	}
	p.manifest = text.Bytes()
	return p
}

func (p *parcel) order(dest string) Order {
	return Order{ID: manifest.ID{1, 2, 3}, Owner: "olive@desk", Dest: dest, Manifest: p.summary, Block: testBlock}
}

func cut(l manifest.Layout, stream []byte, block int) []byte {
	return stream[l.Offset(block):][:l.Len(block)]
}

// start brings a delivery to where its content comes: it has compared what is there.
func (p *parcel) start(r *Root, o Order) (*Delivery, error) {
	d, err := r.Begin(o)
	if err != nil {
		return nil, err
	}
	if err := p.compare(d); err != nil {
		return d, err
	}
	return d, d.Conflicts()
}

func (p *parcel) compare(d *Delivery) error {
	if err := p.list(d, nil); err != nil {
		return err
	}
	return p.match(d)
}

// list gives a delivery the manifest.
func (p *parcel) list(d *Delivery, progress func(looked uint64)) error {
	for block := range d.Manifest().Blocks() {
		if err := d.WriteManifest(block, cut(d.Manifest(), p.manifest, block)); err != nil {
			return err
		}
	}
	return d.ManifestDone(context.Background(), progress)
}

// match compares the blocks that are there.
func (p *parcel) match(d *Delivery) error {
	if _, err := d.Examine(context.Background(), nil); err != nil {
		return err
	}
	for block := range d.Content().Blocks() {
		d.Match(block, manifest.HashOf(cut(d.Content(), p.content, block)))
	}
	return nil
}

// outcome is how a delivery went.
type outcome struct {
	Result
	sent  int    // blocks
	moved uint64 // bytes
}

// deliver does all of a push.
func (p *parcel) deliver(r *Root, o Order) (done outcome, err error) {
	d, err := p.start(r, o)
	if d != nil {
		defer d.Keep()
	}
	if err != nil {
		return done, err
	}
	if done.sent, err = p.send(d); err != nil {
		return done, err
	}
	done.Result, err = d.Commit(context.Background())
	done.moved = d.Moved()
	return done, err
}

// send writes the blocks that are not held.
func (p *parcel) send(d *Delivery) (sent int, err error) {
	for block := range d.Content().Blocks() {
		if d.Holds(block) {
			continue
		}
		sent++
		if err := d.Write(block, cut(d.Content(), p.content, block)); err != nil {
			return sent, err
		}
	}
	return sent, nil
}

func mustDeliver(t *testing.T, p *parcel, r *Root, o Order) outcome {
	t.Helper()
	done, err := p.deliver(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// openTest opens a fresh root.
func openTest(t *testing.T) (*Root, string) {
	t.Helper()
	dir := t.TempDir()
	return openAt(t, dir), dir
}

func openAt(t *testing.T, dir string) *Root {
	t.Helper()
	r, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// checkTree compares what is below a directory with items.
func checkTree(t testing.TB, dir string, items ...item) {
	t.Helper()
	for _, i := range items {
		path := filepath.Join(dir, i.Path)
		info, err := os.Lstat(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if i.Kind != manifest.Hardlink && !info.ModTime().Equal(time.Unix(0, i.ModTime)) {
			t.Errorf("%s: time is %v", path, info.ModTime())
		}
		switch i.Kind {
		case manifest.File:
			if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, i.data) {
				t.Errorf("%s: %d bytes, %v: not what was sent", path, len(data), err)
			}
		case manifest.Symlink:
			if to, err := os.Readlink(path); err != nil || to != i.Link {
				t.Errorf("%s leads to %q, %v", path, to, err)
			}
			continue
		case manifest.Hardlink:
			if first, err := os.Lstat(filepath.Join(dir, i.Link)); err != nil || !os.SameFile(first, info) {
				t.Errorf("%s is not %s: %v", path, i.Link, err)
			}
		}
		if want := fs.FileMode(i.Mode & 0o777); info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, should have %v", path, info.Mode(), want)
		}
	}
}

// listing is all paths below a directory but our own folder.
func listing(t testing.TB, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." && !strings.HasPrefix(rel, weftFolder) {
			paths = append(paths, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// partialsOf is how many partials a root has.
func partialsOf(t testing.TB, dir string) int {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(dir, weftFolder, partialFolder))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(list)
}

package target

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/manifest"
)

// interrupted delivers some blocks, and keeps them.
func interrupted(t *testing.T, p *parcel, r *Root, o Order, blocks ...int) {
	t.Helper()
	d, err := p.start(r, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		if err := d.Write(block, cut(d.Content(), p.content, block)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(d.Keep(), d.Keep()); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(0, cut(d.Content(), p.content, 0)); err == nil {
		t.Error("a delivery that has ended takes blocks")
	}
}

func TestResume(t *testing.T) {
	r, dir := openTest(t)
	items := tree()
	p := pack(t, items...)
	o := p.order("d")
	interrupted(t, p, r, o, 0, 2, 3, 6)
	if n := len(listing(t, dir)); n != 0 || partialsOf(t, dir) != 1 {
		t.Errorf("%d names, %d partials", n, partialsOf(t, dir))
	}
	interrupted(t, p, r, o, 1)
	d, err := r.Begin(o)
	if err != nil || !d.Partial() {
		t.Fatal(d, err)
	}
	d.Keep()
	if done := mustDeliver(t, p, r, o); done.sent != (len(p.content)+testBlock-1)/testBlock-5 {
		t.Errorf("%+v", done)
	}
	checkTree(t, filepath.Join(dir, "d"), items...)
}

// What is damaged in a partial is sent again.
func TestDamagedPartial(t *testing.T) {
	r, dir := openTest(t)
	data := noise(1, 4*testBlock)
	p := pack(t, file("f", data))
	interrupted(t, p, r, p.order("."), 0, 1, 2)
	matches, err := filepath.Glob(filepath.Join(dir, weftFolder, partialFolder, "*", dataFolder, "0", "0"))
	if err != nil || len(matches) != 1 {
		t.Fatal(matches, err)
	}
	f, err := os.OpenFile(matches[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteAt([]byte{data[testBlock+5] + 1}, testBlock+5)
	f.Close()
	if done := mustDeliver(t, p, r, p.order(".")); done.sent != 2 {
		t.Errorf("%+v", done)
	}
	checkTree(t, dir, file("f", data))
}

// The map is nonsense: that costs time, and nothing else.
func TestDamagedMap(t *testing.T) {
	for _, nonsense := range [][]byte{nil, {255}, bytes.Repeat([]byte{255}, 5000)} {
		r, dir := openTest(t)
		items := tree()
		p := pack(t, items...)
		interrupted(t, p, r, p.order("."), 0, 5)
		matches, _ := filepath.Glob(filepath.Join(dir, weftFolder, partialFolder, "*", mapFile))
		write(t, matches[0], nonsense)
		mustDeliver(t, p, r, p.order("."))
		checkTree(t, dir, items...)
	}
}

// Whoever is killed while it takes over from another push leaves what that had, or what it has made of it.
func TestKilledWhileTakingOver(t *testing.T) {
	const other = testBlock / 2
	// folders of two pushes of the same, of which the second has only begun
	folderOf := func(t *testing.T, r *Root, dir string, second int) string {
		p := pack(t, tree()...)
		o := p.order(".")
		interrupted(t, p, r, o, 0, 1, 2, 3)
		if o.Block = second; second > 0 {
			d, err := r.Begin(o)
			if err != nil {
				t.Fatal(err)
			}
			d.Keep()
		}
		all, err := filepath.Glob(filepath.Join(dir, weftFolder, partialFolder, "*"))
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0]
	}
	read := func(t *testing.T, path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for name, leave := range map[string]func(t *testing.T, first, second string){
		"half of the info": func(t *testing.T, first, second string) {
			write(t, first+"/"+infoFile+newSuffix, read(t, second+"/"+infoFile)[:20])
		},
		"half of the map": func(t *testing.T, first, second string) {
			write(t, first+"/"+newMap(other), read(t, second+"/"+mapFile)[:1])
		},
		"all of the map": func(t *testing.T, first, second string) {
			write(t, first+"/"+newMap(other), read(t, second+"/"+mapFile))
		},
		"the map and half of the info": func(t *testing.T, first, second string) {
			write(t, first+"/"+newMap(other), read(t, second+"/"+mapFile))
			write(t, first+"/"+infoFile+newSuffix, read(t, second+"/"+infoFile)[:20])
		},
		"the map and the info": func(t *testing.T, first, second string) {
			write(t, first+"/"+newMap(other), read(t, second+"/"+mapFile))
			write(t, first+"/"+infoFile, read(t, second+"/"+infoFile))
		},
	} {
		for _, next := range []int{testBlock, other, 2 * testBlock} {
			t.Run(name+" "+strconv.Itoa(next), func(t *testing.T) {
				r, dir := openTest(t)
				q, elsewhere := openTest(t)
				leave(t, folderOf(t, r, dir, 0), folderOf(t, q, elsewhere, other))
				p := pack(t, tree()...)
				o := p.order(".")
				o.Block = next
				done := mustDeliver(t, p, r, o)
				if want := (len(p.content) - 4*testBlock + next - 1) / next; done.sent != want {
					t.Errorf("%d blocks of %d were sent, %d lacked", done.sent, next, want)
				}
				checkTree(t, dir, tree()...)
			})
		}
	}
}

func TestResumeWithOtherBlocks(t *testing.T) {
	for _, block := range []int{testBlock / 2, 2 * testBlock, 3 * testBlock, 1000} {
		r, dir := openTest(t)
		p := pack(t, tree()...)
		o := p.order(".")
		interrupted(t, p, r, o, 0, 1, 2, 3)
		o.Block = block
		done := mustDeliver(t, p, r, o)
		lacking := len(p.content) - 4*testBlock/block*block
		if want := (lacking + block - 1) / block; done.sent != want {
			t.Errorf("blocks of %d: %d sent, %d lacked", block, done.sent, want)
		}
		checkTree(t, dir, tree()...)
	}
}

// Blocks come in any order, twice, and from several goroutines at once; others are read meanwhile.
func TestManyAtOnce(t *testing.T) {
	r, dir := openTest(t)
	items := []item{folder("d", 0o755)}
	for i := range 300 {
		items = append(items, file("d/"+string(rune('a'+i%26))+string(rune('a'+i/26)), noise(uint64(i), i*700)))
	}
	write(t, filepath.Join(dir, items[200].Path), noise(7, len(items[200].data))) // diverges
	write(t, filepath.Join(dir, items[100].Path), items[100].data)
	p := pack(t, items...)
	o := p.order(".")
	o.Force = true
	d, err := p.start(r, o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range d.Content().Blocks() {
				block := (i*7 + worker) % d.Content().Blocks()
				want := cut(d.Content(), p.content, block)
				into := make([]byte, len(want))
				if err := d.Write(block, want); err != nil {
					t.Error(err)
				}
				if err := d.Read(block, into); err != nil || !bytes.Equal(into, want) {
					t.Errorf("block %d: %v", block, err)
				}
			}
		})
	}
	group.Wait()
	if d.files.recent.Len() > maxOpen+8 {
		t.Errorf("%d files are open", d.files.recent.Len())
	}
	if _, err := d.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	checkTree(t, dir, items...)
}

func TestWrongCalls(t *testing.T) {
	r, dir := openTest(t)
	p := pack(t, file("f", noise(1, testBlock+1)))
	d, err := r.Begin(p.order("."))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	for what, err := range map[string]error{
		"content before the manifest": d.Write(0, make([]byte, testBlock)), "no such block": d.WriteManifest(1, nil),
		"too long": d.WriteManifest(0, make([]byte, len(p.manifest)+1)), "read": d.Read(0, make([]byte, testBlock)),
		"empty manifest": d.ManifestDone(context.Background(), nil), "conflicts": d.Conflicts(),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if _, err := d.Commit(context.Background()); err == nil {
		t.Error("committed nothing")
	}
	if err := p.compare(d); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"block -1": d.Write(-1, nil), "block 2": d.Write(2, nil), "short": d.Write(0, nil), "long": d.Write(1, make([]byte, 2)),
		"read -1": d.Read(-1, nil), "not held": d.Read(0, make([]byte, testBlock)),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if d.Match(-1, manifest.Hash{}) || d.Match(7, manifest.Hash{}) || d.Match(0, manifest.Hash{}) || d.Holds(-1) || d.Holds(9) {
		t.Error("something matches")
	}
	if err := d.Write(1, cut(d.Content(), p.content, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(context.Background()); err == nil || len(listing(t, dir)) > 0 {
		t.Error("committed without all blocks")
	}
	two := pack(t, file("e", nil), file("f", nil)).order("x")
	two.Single = true
	for _, o := range []Order{{Dest: "x"}, two} {
		if _, err := r.Begin(o); err == nil {
			t.Errorf("taken: %+v", o)
		}
	}
}

func TestAnotherManifest(t *testing.T) {
	r, _ := openTest(t)
	p := pack(t, file("f", []byte("1")))
	for _, other := range [][]byte{bytes.Replace(p.manifest, []byte("f"), []byte("g"), 1), pack(t, file("g", []byte("1"))).manifest} {
		p.manifest = other
		if _, err := p.deliver(r, p.order(".")); err == nil {
			t.Error("another manifest than the one of the order is taken")
		}
	}
}

// The map is read by whoever comes next, whatever is in it and whatever blocks it was for.
func FuzzCovered(f *testing.F) {
	f.Add([]byte{0xff, 1}, uint16(3), uint16(10), uint16(5))
	f.Add([]byte{}, uint16(1), uint16(0), uint16(0))
	f.Fuzz(func(t *testing.T, octets []byte, block, offset, length uint16) {
		l := manifest.NewLayout(manifest.ContentStream, 1<<20, int(block)+1)
		want := true
		for at := uint64(offset); at < uint64(offset)+max(uint64(length), 1); at++ {
			b := at / uint64(l.Block)
			want = want && b/8 < uint64(len(octets)) && octets[b/8]>>(b%8)&1 == 1
		}
		if got := covered(octets, l, uint64(offset), uint64(length)); got != want {
			t.Errorf("covered is %v", got)
		}
	})
}

// However many pushes look at once what they have, blocks are hashed in the memory of a few.
func TestExaminersShareMemory(t *testing.T) {
	r, _ := openTest(t)
	p := pack(t, file("f", noise(1, 20*testBlock)))
	interrupted(t, p, r, p.order("a"), 0, 1, 2, 3)
	var held [][]byte
	for range cap(r.examiners) {
		held = append(held, <-r.examiners)
	}
	d, err := r.Begin(p.order("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	if err := p.list(d, nil); err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := d.Examine(late, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it hashes without memory: %v", err)
	}
	for _, buffer := range held {
		r.examiners <- buffer
	}
	if _, err := d.Examine(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if len(r.examiners) != cap(r.examiners) {
		t.Errorf("of the memory for %d blocks %d are left", cap(r.examiners), len(r.examiners))
	}
}

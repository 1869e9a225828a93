package target

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

func TestInUse(t *testing.T) {
	r, dir := openTest(t)
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("d", filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	first := pack(t, folder("top", 0o755), file("top/f", noise(1, 10)))
	d, err := r.Begin(first.order("d"))
	if err != nil {
		t.Fatal(err)
	}
	other := pack(t, folder("top", 0o755), file("top/g", noise(1, 10)))
	elsewhere := pack(t, file("else", noise(1, 10)))
	for _, c := range []struct {
		p    *parcel
		dest string
		want error
	}{
		{first, "d", ErrInUse}, {other, "d", ErrInUse}, {other, "alias", ErrInUse}, {elsewhere, "d/top", ErrInUse}, {elsewhere, "d/top/x/y", ErrInUse},
		{elsewhere, "alias/top/x", ErrInUse}, {pack(t, folder("d", 0o755)), ".", ErrInUse},
		{elsewhere, "d", nil}, {elsewhere, "d/topper", nil}, {other, "e", nil}, {first, "e", nil},
	} {
		o := c.p.order(c.dest)
		o.ID = manifest.ID{9}
		if err := r.Preflight(o); !errors.Is(err, c.want) {
			t.Errorf("preflight to %q: %v", c.dest, err)
		}
		second, err := r.Begin(o)
		if !errors.Is(err, c.want) {
			t.Errorf("%q: %v", c.dest, err)
		}
		if err == nil {
			second.Keep()
		} else if text := err.Error(); !strings.Contains(text, "01020300") || !strings.Contains(text, "olive@desk") || !strings.Contains(text, "since 20") {
			t.Errorf("the error does not name the first: %v", err)
		}
	}
	if list := r.Pushes(); len(list) != 1 || list[0].Dest != "d" || list[0].Owner != "olive@desk" || list[0].ID != (manifest.ID{1, 2, 3}) {
		t.Errorf("%+v", list)
	}
	// Another process, with a root of its own.
	if _, err := openAt(t, dir).Begin(first.order("d")); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "olive@desk") {
		t.Error(err)
	}
	if err := d.Keep(); err != nil {
		t.Fatal(err)
	}
	mustDeliver(t, other, r, other.order("d"))
	if list := r.Pushes(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// A push that begins while its partial is swept away begins anew.
func TestBeginDuringASweep(t *testing.T) {
	r, dir := openTest(t)
	p := pack(t, tree()...)
	o := p.order("a")
	interrupted(t, p, r, o, 0, 1)
	all, err := filepath.Glob(filepath.Join(dir, weftFolder, partialFolder, "*"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	sweeper, err := os.Open(all[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(sweeper.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	swept := time.AfterFunc(sweepTime/2, func() {
		os.RemoveAll(all[0])
		sweeper.Close()
	})
	defer swept.Stop()
	if done, err := p.deliver(r, o); err != nil || done.Written != 8 {
		t.Errorf("%+v, %v", done, err)
	}
	if partialsOf(t, dir) != 0 {
		t.Error("a partial is left")
	}
}

func TestBeginsAndSweeps(t *testing.T) {
	r, dir := openTest(t)
	p := pack(t, file("f", noise(1, 10)))
	stop := make(chan struct{})
	var sweeper sync.WaitGroup
	sweeper.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(sweepTime / 2): // a folder that is new is not old: only this test takes it away as often as it is made
				if err := r.Sweep(time.Now().Add(time.Hour), 0); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 500 {
		d, err := r.Begin(p.order("a"))
		if err != nil {
			t.Error(err)
			break
		}
		if _, err := os.Stat(filepath.Join(dir, weftFolder, partialFolder, d.partial.name)); err != nil {
			t.Error("the partial of a push under way was swept away:", err)
		}
		d.Keep()
	}
	close(stop)
	sweeper.Wait()
}

// What a sweep has left that was killed, the next one removes.
func TestSweepThatWasKilled(t *testing.T) {
	r, dir := openTest(t)
	p := pack(t, tree()...)
	interrupted(t, p, r, p.order("a"), 0, 1)
	all, err := filepath.Glob(filepath.Join(dir, weftFolder, partialFolder, "*"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if err := os.CopyFS(all[0]+sweptSuffix, os.DirFS(all[0])); err != nil {
		t.Fatal(err)
	}
	if err := r.Sweep(time.Now().Add(time.Hour), 0); err != nil || partialsOf(t, dir) != 0 {
		t.Errorf("%d partials, %v", partialsOf(t, dir), err)
	}
}

func TestSweep(t *testing.T) {
	r, dir := openTest(t)
	if err := r.Sweep(time.Now(), 0); err != nil {
		t.Error("nothing to sweep:", err)
	}
	p := pack(t, tree()...)
	interrupted(t, p, r, p.order("a"), 0, 1)
	busy, err := r.Begin(p.order("b"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		now  time.Time
		left int
	}{{time.Now(), 2}, {time.Now().Add(23 * time.Hour), 2}, {time.Now().Add(25 * time.Hour), 1}} {
		if err := r.Sweep(c.now, 24*time.Hour); err != nil || partialsOf(t, dir) != c.left {
			t.Errorf("%v: %d partials, %v", c.now, partialsOf(t, dir), err)
		}
	}
	busy.Keep()
	if err := r.Sweep(time.Now().Add(25*time.Hour), 24*time.Hour); err != nil || partialsOf(t, dir) != 0 {
		t.Errorf("%d partials, %v", partialsOf(t, dir), err)
	}
}

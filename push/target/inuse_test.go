package target

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

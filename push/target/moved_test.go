package target

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is put in place of DEST while a push is under way, or where DEST is moved to, is not what the push was for.
func TestDestinationIsMoved(t *testing.T) {
	items := []item{file("a", noise(1, 100)), file("b", noise(2, testBlock))}
	for name, c := range map[string]struct {
		dest string
		at   int // the entry before which it happens; 0: before the commit
		move func(dir, outside string) error
	}{
		"away":            {"pub", 0, func(dir, outside string) error { return os.Rename(dir+"/pub", outside+"/pub") }},
		"in between":      {"pub", 2, func(dir, outside string) error { return os.Rename(dir+"/pub", outside+"/pub") }},
		"below the root":  {"pub", 0, func(dir, _ string) error { return os.Rename(dir+"/pub", dir+"/old") }},
		"parent of a new": {"pub/new/er", 0, func(dir, outside string) error { return os.Rename(dir+"/pub", outside+"/pub") }},
		"new, in between": {"pub/new", 2, func(dir, outside string) error { return os.Rename(dir+"/pub", outside+"/pub") }},
		"another is there": {"pub", 0, func(dir, _ string) error {
			return errors.Join(os.Rename(dir+"/pub", dir+"/old"), os.Mkdir(dir+"/pub", 0o755))
		}},
		"a link leads away": {"link", 2, func(dir, _ string) error {
			return errors.Join(os.Remove(dir+"/link"), os.Symlink("other", dir+"/link"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := openTest(t)
			if err := errors.Join(os.Mkdir(dir+"/pub", 0o755), os.Mkdir(dir+"/other", 0o755), os.Symlink("pub", dir+"/link")); err != nil {
				t.Fatal(err)
			}
			outside := t.TempDir()
			p := pack(t, items...)
			d, err := p.start(r, p.order(c.dest))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.send(d); err != nil {
				t.Fatal(err)
			}
			move := func() {
				if err := c.move(dir, outside); err != nil {
					t.Error(err)
				}
			}
			if c.at == 0 {
				move()
			}
			left := c.at
			if _, err = d.Commit(meanwhile{context.Background(), &left, move}); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), c.dest) {
				t.Error(err)
			}
			d.Keep()
			if got := listing(t, outside); c.at == 0 && len(got) > 1 {
				t.Errorf("outside is %q", got)
			}
			if err := os.MkdirAll(dir+"/pub", 0o755); err != nil {
				t.Fatal(err)
			}
			mustDeliver(t, p, r, p.order(c.dest))
			checkTree(t, filepath.Join(dir, c.dest), items...)
		})
	}
}

// A directory on the way to DEST that comes meanwhile is none that was moved, and DEST may be moved and be back.
func TestDestinationIsMadeMeanwhile(t *testing.T) {
	r, dir := openTest(t)
	items := []item{file("a", noise(1, 100))}
	p := pack(t, items...)
	d, err := p.start(r, p.order("new/er"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.send(d); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(dir+"/new", 0o755), os.Mkdir(dir+"/new/er", 0o755), os.Rename(dir+"/new", dir+"/x"), os.Rename(dir+"/x", dir+"/new")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(context.Background()); err != nil {
		t.Error(err)
	}
	checkTree(t, dir+"/new/er", items...)
}

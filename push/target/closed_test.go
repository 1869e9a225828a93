package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// checkClosed compares files that may not be read with items, and leaves them as they are.
func checkClosed(t *testing.T, dir string, items []item) {
	t.Helper()
	for _, i := range items {
		path := filepath.Join(dir, i.Path)
		info, err := os.Lstat(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Mode() != os.FileMode(i.Mode) {
			t.Errorf("%s has mode %v, should have %o", i.Path, info.Mode(), i.Mode)
		}
		if i.Link != "" {
			continue
		}
		os.Chmod(path, 0o600)
		if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, i.data) {
			t.Errorf("%s: %d bytes, %v: not what was sent", i.Path, len(data), err)
		}
		os.Chmod(path, info.Mode())
	}
}

// A push may give files modes with which not even their owner can read them. They are compared and replaced like all others.
func TestFilesThatTheirModeCloses(t *testing.T) {
	if !asSomebody(t) {
		return
	}
	data := noise(1, 3*testBlock+5)
	other := bytes.Clone(data)
	other[testBlock]++
	for _, mode := range []uint32{0o111, 0, 0o200} {
		items := []item{file("a", data), file("b", noise(2, 100)), file("c", nil), sparse("d"), hardlink("e", "a")}
		others := []item{file("a", other), file("b", noise(3, 100)), file("c", nil), sparse("d"), hardlink("e", "a")}
		for i := range items {
			items[i].Mode, others[i].Mode = mode, mode
		}
		r, dir := openTest(t)
		p, q := pack(t, items...), pack(t, others...)
		mustDeliver(t, p, r, p.order("."))
		if again := mustDeliver(t, p, r, p.order(".")); again.sent != 0 || again.Skipped != 5 {
			t.Errorf("mode %o, the second time: %+v", mode, again)
		}
		checkClosed(t, dir, items)
		if _, err := q.deliver(r, q.order(".")); !errors.Is(err, ErrExists) {
			t.Errorf("mode %o, other content: %v", mode, err)
		}
		checkClosed(t, dir, items)
		mustDeliverForced(t, q, r)
		checkClosed(t, dir, others)
	}
}

func TestDirectoriesThatTheirModeCloses(t *testing.T) {
	if !asSomebody(t) {
		return
	}
	r, dir := openTest(t)
	open := func() []os.FileMode {
		var modes []os.FileMode
		for _, path := range []string{dir + "/d", dir + "/d/e"} {
			info, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			modes = append(modes, info.Mode().Perm())
			os.Chmod(path, 0o700)
		}
		return modes
	}
	t.Cleanup(func() { open() })
	items := []item{folder("d", 0o600), folder("d/e", 0), file("d/e/f", noise(1, 2*testBlock)), file("d/g", noise(2, 100))}
	p := pack(t, items...)
	mustDeliver(t, p, r, p.order("."))
	if again := mustDeliver(t, p, r, p.order(".")); again.sent != 0 || again.Skipped != 2 {
		t.Errorf("the second time: %+v", again)
	}
	if modes := open(); modes[0] != 0o600 || modes[1] != 0 {
		t.Errorf("modes are %v", modes)
	}
	checkTree(t, dir, items[2:]...)
}

// Who cannot read a file does not know whether it is the same: Force replaces it.
func TestFileOfSomebodyElse(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can have a file that another user cannot read")
	}
	dir := somebodysDir(t)
	p := pack(t, file("f", noise(1, 2*testBlock)))
	write(t, dir+"/f", noise(1, 2*testBlock))
	err := asUser(func() error {
		r, err := OpenRoot(dir)
		if err != nil {
			return err
		}
		defer r.Close()
		o := p.order(".")
		if _, err := p.deliver(r, o); !errors.Is(err, ErrExists) {
			return fmt.Errorf("without force: %w", err)
		}
		o.Force = true
		done, err := p.deliver(r, o)
		if err == nil && done.Written != 1 {
			err = fmt.Errorf("%+v", done)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	checkTree(t, dir, file("f", noise(1, 2*testBlock)))
}

// breakReads has every read of a file in place fail, as on a broken disk.
func breakReads(t *testing.T, d *Delivery, number uint64, path string) {
	t.Helper()
	f, err := d.files.use(fileKey{number, true}, func() (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) })
	if err != nil {
		t.Fatal(err)
	}
	d.files.done(f)
}

func TestFileOnABrokenDisk(t *testing.T) {
	large := []item{file("e", noise(1, 100)), file("f", noise(2, 3*testBlock)), file("g", noise(3, 100))}
	for name, c := range map[string]struct {
		items []item
		there []int // items that are in place
		done  outcome
	}{
		"alone":                     {large[1:2], []int{0}, outcome{Result: Result{1, 0}, sent: 3}},
		"among others":              {large, []int{0, 1, 2}, outcome{Result: Result{1, 2}, sent: 4}},
		"small, beside one to come": {[]item{file("d", noise(4, 100)), large[0]}, []int{1}, outcome{Result: Result{2, 0}, sent: 1}},
	} {
		for _, force := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, force %t", name, force), func(t *testing.T) {
				r, dir := openTest(t)
				for _, i := range c.there {
					write(t, filepath.Join(dir, c.items[i].Path), c.items[i].data)
				}
				p := pack(t, c.items...)
				o := p.order(".")
				o.Force = force
				d, err := r.Begin(o)
				if err != nil {
					t.Fatal(err)
				}
				defer d.Keep()
				if err := p.list(d, nil); err != nil {
					t.Fatal(err)
				}
				broken := len(c.there) / 2 // of those in place, the one in the middle
				number := c.there[broken]
				breakReads(t, d, uint64(number), filepath.Join(dir, c.items[number].Path))
				done, err := p.rest(d)
				if !force {
					if !errors.Is(err, ErrExists) {
						t.Errorf("without force: %v", err)
					}
					return
				}
				if err != nil || done != c.done {
					t.Errorf("%+v, %v", done, err)
				}
				checkTree(t, dir, c.items...)
			})
		}
	}
}

// rest is all of a push that comes after its manifest.
func (p *parcel) rest(d *Delivery) (done outcome, err error) {
	if err := errors.Join(p.match(d), d.Conflicts()); err != nil {
		return done, err
	}
	if done.sent, err = p.send(d); err != nil {
		return done, err
	}
	done.Result, err = d.Commit(context.Background())
	return done, err
}

// A push that is not committed leaves directories as closed as they were.
func TestRefusedPushLeavesModes(t *testing.T) {
	if !asSomebody(t) {
		return
	}
	items := []item{folder("d", 0o750), folder("d/e", 0o750), file("d/e/f", noise(1, 2*testBlock)), file("g", noise(2, 100))}
	p := pack(t, items...)
	for name, run := range map[string]func(r *Root, dir string) error{
		"refused": func(r *Root, dir string) error {
			write(t, dir+"/g", noise(3, 100))
			_, err := p.deliver(r, p.order("."))
			return err
		},
		"refused by the survey": func(r *Root, dir string) error {
			write(t, dir+"/g", noise(3, 101))
			_, err := p.deliver(r, p.order("."))
			return err
		},
		"commit is interrupted": func(r *Root, dir string) error {
			d, err := p.start(r, p.order("."))
			if err != nil {
				return err
			}
			defer d.Keep()
			if _, err := p.send(d); err != nil {
				return err
			}
			left := 3 // both directories are being filled
			_, err = d.Commit(interruption{context.Background(), &left})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := openTest(t)
			if err := errors.Join(os.MkdirAll(dir+"/d/e", 0o755), os.Chmod(dir+"/d/e", 0o500), os.Chmod(dir+"/d", os.ModeSticky|0o055)); err != nil {
				t.Fatal(err)
			}
			if err := run(r, dir); err == nil {
				t.Error("it came through")
			}
			info, err := os.Lstat(dir + "/d")
			if err != nil || info.Mode() != os.ModeDir|os.ModeSticky|0o055 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			os.Chmod(dir+"/d", 0o700)
			if info, err = os.Lstat(dir + "/d/e"); err != nil || info.Mode().Perm() != 0o500 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			mustDeliverForced(t, p, r)
			checkTree(t, dir, items...)
		})
	}
}

package target

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// patient is a context that ends when it has been asked so often.
type patient struct {
	context.Context
	left *int
}

func (p patient) Err() error {
	if *p.left--; *p.left < 0 {
		return context.Canceled
	}
	return nil
}

// stopsAnywhere commits until nobody stops it, each time a little later. It returns how often it was stopped, and how many bytes were moved then.
func stopsAnywhere(t *testing.T, begin func() *Delivery) (times int, moved uint64) {
	t.Helper()
	for ; times < 1000; times++ {
		d, left := begin(), times
		_, err := d.Commit(patient{context.Background(), &left})
		moved = d.Moved()
		d.Keep()
		if err == nil {
			return times, moved
		}
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrExists) {
			t.Errorf("stopped after %d looks it says %v", times, err)
		}
	}
	t.Fatal("it never comes to its end")
	return times, moved
}

// begun is a delivery that has only to be committed.
func begun(t *testing.T, p *parcel, r *Root, o Order) *Delivery {
	t.Helper()
	d, err := p.start(r, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.send(d); err != nil {
		t.Fatal(err)
	}
	return d
}

// A commit that compares a large file tells that it gets on, and stops when it should: that is no conflict.
func TestCommitStopsWhileItCompares(t *testing.T) {
	data := noise(1, 40*testBlock)
	for name, items := range map[string][]item{
		"a file":      {file("f", data)},
		"a hard link": {file("e", data), hardlink("f", "e")},
	} {
		t.Run(name, func(t *testing.T) {
			p := pack(t, items...)
			times, moved := stopsAnywhere(t, func() *Delivery {
				r, dir := openTest(t)
				d := begun(t, p, r, p.order("."))
				write(t, dir+"/f", data) // meanwhile
				return d
			})
			if times < 10 || moved < uint64(len(data)) {
				t.Errorf("it was asked %d times whether to go on, and told of %d bytes", times, moved)
			}
		})
	}
}

// The same of copies.
func TestCommitStopsBeforeItCopies(t *testing.T) {
	data := noise(1, 2*testBlock)
	p := pack(t, file("f", data))
	r, dir := openTest(t)
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, data)
	times, moved := stopsAnywhere(t, func() *Delivery {
		os.Remove(dir + "/f")
		hard(t, outside, dir+"/f")
		return begun(t, p, r, p.order("."))
	})
	if times != 2 || moved != uint64(len(data)) {
		t.Errorf("it was asked %d times whether to go on, and told of %d bytes", times, moved)
	}
	if left := partialsOf(t, dir); left != 0 {
		t.Errorf("%d partials are left", left)
	}
}

// A file that is taken over is copied, and its two blocks are compared once more.
func TestCommitStopsWhileItTakesOver(t *testing.T) {
	needsRoot(t)
	data := noise(1, 2*testBlock)
	p := pack(t, owned("f", data, 0o4755, 0))
	times, moved := stopsAnywhere(t, func() *Delivery {
		r, dir := openTest(t)
		write(t, dir+"/f", data)
		if err := os.Chown(dir+"/f", somebody, somebody); err != nil {
			t.Fatal(err)
		}
		o := p.order(".")
		o.Preserve = true
		return begun(t, p, r, o)
	})
	if times < 8 || moved < 2*uint64(len(data)) {
		t.Errorf("it was asked %d times whether to go on, and told of %d bytes", times, moved)
	}
}

func TestLargeCopyStopsInBetween(t *testing.T) {
	r, dir := openTest(t)
	p := pack(t, file("f", nil))
	d, err := p.start(r, p.order("."))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	from, to, left := open("from"), open("to"), 1
	if err := from.Truncate(2 * copiedAtOnce); err != nil {
		t.Fatal(err)
	}
	err = d.copyBytes(patient{context.Background(), &left}, to, from, 2*copiedAtOnce)
	if !errors.Is(err, context.Canceled) || d.Moved() != copiedAtOnce {
		t.Errorf("%d bytes were copied: %v", d.Moved(), err)
	}
}

// What differs is still said, however often it looks.
func TestComparedAndDifferent(t *testing.T) {
	data := noise(1, 40*testBlock)
	p := pack(t, file("f", data))
	r, dir := openTest(t)
	d := begun(t, p, r, p.order("."))
	defer d.Keep()
	other := bytes.Clone(data)
	other[len(other)-1]++
	write(t, dir+"/f", other)
	if _, err := d.Commit(context.Background()); !errors.Is(err, ErrExists) || d.Moved() < uint64(len(data)) {
		t.Error(d.Moved(), err)
	}
}

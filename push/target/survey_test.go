package target

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What is in place of a sparse file may be long and full of zeros, all of which are read: who waits hears that it goes on, and can end it.
func TestSurveyIsHeardAndEnds(t *testing.T) {
	r, dir := openTest(t)
	image := sparse("image")
	if err := os.WriteFile(filepath.Join(dir, "image"), image.data, 0o600); err != nil {
		t.Fatal(err)
	}
	p := pack(t, image, file("lacking", noise(1, 100)))
	begin := func() *Delivery {
		d, err := r.Begin(p.order("."))
		if err != nil {
			t.Fatal(err)
		}
		for block := range d.Manifest().Blocks() {
			if err := d.WriteManifest(block, cut(d.Manifest(), p.manifest, block)); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}

	d := begin()
	last := uint64(0)
	heard := func(looked uint64) {
		if looked != last+1 {
			t.Errorf("%d follows %d", looked, last)
		}
		last = looked
	}
	if err := d.ManifestDone(context.Background(), heard); err != nil || last < 10 {
		t.Errorf("%d steps, %v", last, err)
	}
	d.Keep()

	d = begin()
	defer d.Keep()
	gone := errors.New("the pusher has gone")
	for after := range last {
		ctx, stop := context.WithCancelCause(context.Background())
		err := d.ManifestDone(ctx, func(looked uint64) {
			if looked == after+1 {
				stop(gone)
			}
		})
		if !errors.Is(err, gone) {
			t.Fatalf("ended after %d steps, it says %v", after+1, err)
		}
	}
	if err := d.ManifestDone(context.Background(), nil); err != nil || !d.placed.has(0) || d.need != 100 {
		t.Errorf("after that it does not find what is there, and %d bytes that are not: %v", d.need, err)
	}
}

// The holes of another file say nothing, though it comes in the place of the right one for the time of reading.
func TestHolesOfAnotherFile(t *testing.T) {
	r, dir := openTest(t)
	image := sparse("d/image")
	filled := bytes.Clone(image.data)
	filled[100] = 1
	for path, data := range map[string][]byte{"/d/image": filled, "/other/image": image.data, "/d/first": nil, "/other/first": nil} {
		write(t, dir+path, data)
	}
	swap := func() {
		if err := unix.Renameat2(unix.AT_FDCWD, dir+"/d", unix.AT_FDCWD, dir+"/other", unix.RENAME_EXCHANGE); err != nil {
			t.Fatal(err)
		}
	}
	p := pack(t, folder("d", 0o755), file("d/first", nil), image)
	d, err := r.Begin(p.order("."))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	err = p.list(d, func(looked uint64) {
		if looked == 3 { // the image is next, in a directory that is open by now
			swap()
		}
	})
	if !errors.Is(err, ErrExists) {
		t.Error(err)
	}
}

// A file that has just changed is not read before whatever changes it next gives it another ctime.
func TestYoungFileIsWaitedFor(t *testing.T) {
	r, dir := openTest(t)
	p := pack(t, file("f", noise(1, 100)))
	write(t, dir+"/f", noise(1, 100))
	d, err := r.Begin(p.order("."))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	if err := p.list(d, nil); err != nil {
		t.Fatal(err)
	}
	changed := statOfPath(t, dir+"/f").Ctim
	if age := time.Since(time.Unix(changed.Unix())); age < fileTick {
		t.Errorf("it is read %v after it was changed", age)
	}
}

// It may take long to see whether two files that should be one are identical: that is heard, too.
func TestSameFilesAreHeard(t *testing.T) {
	r, dir := openTest(t)
	data := noise(1, 3<<20)
	p := pack(t, file("a", data), hardlink("b", "a"))
	write(t, dir+"/a", data)
	write(t, dir+"/b", data)
	d, err := r.Begin(p.order("."))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Keep()
	last := uint64(0)
	if err := p.list(d, func(looked uint64) { last = looked }); err != nil || last < 10 {
		t.Errorf("%d steps, %v", last, err)
	}
}

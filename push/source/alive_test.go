package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a directory that takes a while for each piece.
type slow struct {
	listed
	each time.Duration
}

func (s *slow) Readdirnames(n int) ([]string, error) {
	time.Sleep(s.each)
	return s.listed.Readdirnames(n)
}

// What takes long and adds no entry is told of all the same, and not more often than anybody would look.
func TestLongListingGetsOn(t *testing.T) {
	for _, each := range []time.Duration{time.Millisecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			told := 0
			w := &walker{ctx: t.Context(), told: time.Now(), progress: func(uint64, uint64) { told++ }}
			began := time.Now()
			if _, err := readNames(&slow{listed{300 * 1024, 4}, each}, maxNames, w.alive); err != nil {
				t.Fatal(err)
			}
			if most := int(time.Since(began) / tellEvery); told < min(most, 300) || told > most {
				t.Errorf("in %v it was told %d times that the scan gets on", time.Since(began), told)
			}
		})
	}
}

// patient is a context that ends when it has been asked so often. It counts.
type patient struct {
	context.Context
	asked, ends int
}

func (p *patient) Err() error {
	if p.asked++; p.asked > p.ends {
		return context.Canceled
	}
	return nil
}

// A scan can be ended while it lists a directory, and while it looks for holes.
func TestScanEndsInBetween(t *testing.T) {
	const files, holes = 1100, 20
	for name, c := range map[string]struct {
		make  func(dir string) error
		steps int
	}{
		"a large directory":      {manyFiles(files), files + files/1024 + 1},
		"a file with many holes": {manyHoles(holes), 1 + holes},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			ctx := &patient{t.Context(), 0, 1 << 30}
			if err := scanned(ctx, dir); err != nil || ctx.asked < c.steps {
				t.Fatalf("it was asked %d times whether to go on, not %d: %v", ctx.asked, c.steps, err)
			}
			for ends := range 5 {
				var of *Error
				if err := scanned(&patient{t.Context(), 0, ends}, dir); !errors.Is(err, context.Canceled) || errors.As(err, &of) {
					t.Errorf("a scan that ends at step %d says %v", ends, err)
				}
			}
		})
	}
}

func manyFiles(n int) func(dir string) error {
	return func(dir string) (err error) {
		for i := range n {
			err = errors.Join(err, os.WriteFile(fmt.Sprint(dir, "/", i), nil, 0o600))
		}
		return err
	}
}

func manyHoles(n int) func(dir string) error {
	return func(dir string) error {
		f, err := os.Create(dir + "/sparse")
		for i := range n {
			_, other := f.WriteAt([]byte{1}, int64(2*i+1)<<20)
			err = errors.Join(err, other)
		}
		return errors.Join(err, f.Close())
	}
}

// scanned is the error of a scan of what is in a directory.
func scanned(ctx context.Context, dir string) error {
	s, err := Scan(ctx, Config{Paths: []string{dir + "/"}, Spool: os.TempDir()})
	if err == nil {
		err = s.Close()
	}
	return err
}

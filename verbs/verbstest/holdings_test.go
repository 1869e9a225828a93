package verbstest

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Whatever is left open is named, and what was given back is not.
func TestExcessIsNamed(t *testing.T) {
	end := make(chan struct{})
	for _, c := range []struct {
		what string
		open func() (closer func() error, err error)
	}{
		{"1 more descriptors", func() (func() error, error) {
			f, err := os.Open(os.DevNull)
			return f.Close, err
		}},
		{"1 more mappings of shared memory", func() (func() error, error) {
			p, err := mapOwnPages(8)
			return p.close, err
		}},
		{"1 more mappings of shared memory", func() (func() error, error) {
			f, err := os.CreateTemp("/dev/shm", "weft-verbstest")
			if err != nil {
				return nil, err
			}
			b, err := syscall.Mmap(int(f.Fd()), 0, 1, syscall.PROT_READ, syscall.MAP_SHARED)
			return func() error { return errors.Join(syscall.Munmap(b), os.Remove(f.Name())) }, errors.Join(err, f.Close())
		}},
		{"goroutines", func() (func() error, error) {
			go runUntil(end)
			return func() error { close(end); return nil }, nil
		}},
	} {
		before, err := baseline()
		if err != nil {
			t.Fatal(err)
		}
		giveBack, err := c.open()
		if err != nil {
			t.Fatal(err)
		}
		now, err := held()
		if err != nil {
			t.Fatal(err)
		}
		if excess := before.excess(now); excess == nil || !strings.Contains(excess.Error(), c.what) {
			t.Errorf("%s: the excess is called %v", c.what, excess)
		}
		if err := giveBack(); err != nil {
			t.Error(err)
		}
		if err := before.returned(); err != nil {
			t.Errorf("%s: given back, and still there is %v", c.what, err)
		}
	}
}

// What another process does meanwhile is not counted.
func TestFilesOfOthersAreNoExcess(t *testing.T) {
	before, err := baseline()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("/dev/shm", "weft-verbstest")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(folder)
	if err := before.returned(); err != nil {
		t.Error(err)
	}
}

// runUntil is stopped by the test that started it.
func runUntil(end <-chan struct{}) { <-end }

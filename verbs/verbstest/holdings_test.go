package verbstest

import (
	"os"
	"strings"
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
		{"1 more mappings of memfds", func() (func() error, error) {
			p, err := mapOwnPages(8)
			return p.close, err
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

// runUntil is stopped by the test that started it.
func runUntil(end <-chan struct{}) { <-end }

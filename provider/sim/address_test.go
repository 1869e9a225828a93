package sim

import (
	"errors"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// An address is refused with ErrArgument, or names a node that exists and numbers that are not 0; nothing panics.
func FuzzAddress(f *testing.F) {
	fabric, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	if _, err := fabric.NewDevice(NodeConfig{Name: "a"}); err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"sim:a/qp1#1", "sim:b/qp1#1", "sim:a/qp0#1", "sim:a/qp1#4294967296", "sim:a/qp1", "x", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := fabric.parseAddress(driver.Address(text))
		if err != nil {
			if !errors.Is(err, driver.ErrArgument) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if c.node == nil || c.number == 0 || c.epoch == 0 {
			t.Errorf("%q was taken for %+v", text, c)
		}
	})
}

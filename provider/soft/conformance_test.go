package soft_test

import (
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// The in-process lane keeps the whole contract: its ends are goroutines, and killing one is Device.Kill.
func TestConformance(t *testing.T) {
	verbstest.Run(t, func(verbstest.TB) verbstest.Lab {
		return verbstest.Goroutines(verbstest.GoroutineConfig{
			Open:         func() (driver.Device, error) { return soft.New(soft.Config{}) },
			Kill:         func(d driver.Device) { d.(*soft.Device).Kill() },
			Capabilities: capabilities(),
		})
	}, verbstest.Options{})
}

// capabilities are all but virtual time. Budgets are smaller in a hurry; the race detector finds in little traffic what it
// finds at all, and it counts allocations of its own.
func capabilities() verbstest.Capabilities {
	c := verbstest.Capabilities{Has: verbstest.Everything &^ verbstest.ExactTime}
	if testing.Short() {
		c.QueuePairs, c.Traffic, c.Repeat = 500, 64<<20, 5
	}
	if verbstest.RaceDetector {
		c.QueuePairs, c.Traffic, c.Repeat = 200, 64<<20, 5
		c.Has &^= verbstest.Allocations
	}
	return c
}

package soft_test

import (
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// The lane of shared memory keeps the contract between devices of one process, too.
func TestConformanceShm(t *testing.T) {
	verbstest.Run(t, func(verbstest.TB) verbstest.Lab {
		return verbstest.Goroutines(verbstest.GoroutineConfig{
			Open:         func() (driver.Device, error) { return soft.New(soft.Config{Lanes: soft.SharedMemory}) },
			Kill:         func(d driver.Device) { d.(*soft.Device).Kill() },
			Capabilities: capabilities(),
		})
	}, verbstest.Options{})
}

package soft_test

import (
	"log/slog"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// The TCP lane keeps the whole contract too.
func TestConformanceTCP(t *testing.T) {
	verbstest.Run(t, func(verbstest.TB) verbstest.Lab {
		return verbstest.Goroutines(verbstest.GoroutineConfig{
			Open:         func() (driver.Device, error) { return soft.New(soft.Config{Lanes: soft.TCP, Log: slog.Default()}) },
			Kill:         func(d driver.Device) { d.(*soft.Device).Kill() },
			Capabilities: wireCapabilities(),
		})
	}, verbstest.Options{})
}

// wireCapabilities ask for fewer connections: each takes a descriptor at both ends.
func wireCapabilities() verbstest.Capabilities {
	c := capabilities()
	if c.QueuePairs == 0 {
		c.QueuePairs = 2000
	}
	return c
}

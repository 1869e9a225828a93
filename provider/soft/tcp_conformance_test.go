package soft_test

import (
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// The TCP lane keeps the whole contract too.
func TestConformanceTCP(t *testing.T) {
	conformWire(t, soft.Config{Lanes: soft.TCP}, wireCapabilities())
}

// TLS changes nothing but that package tls allocates.
func TestConformanceTLS(t *testing.T) {
	if testing.Short() {
		t.Skip("the same again, encrypted")
	}
	c := wireCapabilities()
	c.Has &^= verbstest.Allocations
	c.QueuePairs, c.Traffic = 200, 256<<20
	conformWire(t, soft.Config{Lanes: soft.TCP, TLS: soft.OwnTLS(t)}, c)
}

func conformWire(t *testing.T, config soft.Config, c verbstest.Capabilities) {
	verbstest.Run(t, func(verbstest.TB) verbstest.Lab {
		return verbstest.Goroutines(verbstest.GoroutineConfig{
			Open:         func() (driver.Device, error) { return soft.New(config) },
			Kill:         func(d driver.Device) { d.(*soft.Device).Kill() },
			Capabilities: c,
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

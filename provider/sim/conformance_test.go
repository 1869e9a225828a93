package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/verbs/driver"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// Simulated nodes keep the whole contract, in virtual time, whatever chance decides.
func TestConformance(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			verbstest.Run(t, func(tb verbstest.TB) verbstest.Lab { return newLab(tb, seed) }, verbstest.Options{})
		})
		if testing.Short() || verbstest.RaceDetector {
			break
		}
	}
}

// newLab makes a fabric of its own for one test. Each seed has a jitter of its own, too: 5 %, then once and twice the
// latency, so that messages of different queue pairs overtake each other.
func newLab(tb verbstest.TB, seed uint64) verbstest.Lab {
	fabric, err := sim.New(sim.Config{Seed: seed, Jitter: float64(seed), PeerTimeout: 10 * time.Millisecond})
	if err != nil {
		tb.Fatalf("new fabric: %v", err)
	}
	nodes := 0
	return verbstest.Simulated(verbstest.SimulatedConfig{
		Fabric: fabric,
		Open: func() (driver.Device, error) {
			nodes++
			return fabric.NewDevice(sim.NodeConfig{Name: fmt.Sprintf("node%d", nodes)})
		},
		Kill: func(d driver.Device) {
			if err := fabric.Crash(d.(*sim.Device).Name()); err != nil {
				tb.Errorf("crash: %v", err)
			}
		},
		Capabilities: capabilities(),
		Limit:        time.Second,
	})
}

// capabilities are all but those that need several threads: nobody sleeps in virtual time, and a driven loop that scans
// is called for each Write. A simulated copy costs as much as a real one, and its network's arithmetic on top.
func capabilities() verbstest.Capabilities {
	c := verbstest.Capabilities{Has: verbstest.Everything &^ (verbstest.Sleeps | verbstest.Preemptive | verbstest.SharedWaits)}
	if testing.Short() || verbstest.RaceDetector {
		c.QueuePairs, c.Traffic, c.Repeat = 200, 64<<20, 5
	}
	if verbstest.RaceDetector {
		c.Has &^= verbstest.Allocations
	}
	return c
}

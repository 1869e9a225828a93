package ibv_test

import (
	"os"
	"testing"

	"github.com/weft-fabric/weft/verbs/verbstest"
)

// budget is small: Soft-RoCE in an emulated machine moves 25 MB/s when the machine is busy. With WEFT_LONG it is enough for rare events,
// such as a packet that lands after its permission was taken away (without the pause of ADR 10 one was seen, in the 18th change).
func budget(has verbstest.Capability) verbstest.Capabilities {
	c := verbstest.Capabilities{Has: has, QueuePairs: 40, Peers: 4, Traffic: 4 << 20, Repeat: 2, Moments: 2}
	if os.Getenv("WEFT_LONG") != "" {
		c.Repeat, c.Moments = 40, 10
	}
	return c
}

// What the labs have. Why the rest is missing stands in docs/rdma-skips.md.
const (
	always = verbstest.OneSided | verbstest.OwnNIC | verbstest.Sleeps | verbstest.Allocations | verbstest.SharedReceives |
		verbstest.MemoryAccess | verbstest.Preemptive | verbstest.SharedWaits
	inProcess   = always | verbstest.Stop
	inProcesses = always | verbstest.Stop | verbstest.Kill
	onTheWire   = always | verbstest.Kill
)

// onlyInProcess names what devices of one process might do to each other. The rest of the suite runs between processes, and here
// only with WEFT_LONG.
var onlyInProcess = []string{"ReconnectedEndsCarryData", "CloseUnderTraffic", "SharedReceivesServeAll", "StoppedTargetIsWritten", "ManyPeers"}

// The suite between devices of one process.
func TestConformance(t *testing.T) {
	needDevice(t)
	options := verbstest.Options{Only: onlyInProcess}
	if os.Getenv("WEFT_LONG") != "" {
		options.Only = nil
	}
	verbstest.Run(t, func(verbstest.TB) verbstest.Lab { return goroutines(budget(inProcess)) }, options)
}

// The whole suite between processes, which are killed and stopped.
func TestConformanceProcesses(t *testing.T) {
	needDevice(t)
	crew := verbstest.Processes(child, budget(inProcesses))
	defer func() {
		if err := crew.Close(); err != nil {
			t.Error(err)
		}
	}()
	verbstest.Run(t, crew.Lab, verbstest.Options{})
}

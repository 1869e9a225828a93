package soft_test

import (
	"os"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// The TCP lane between devices of one process, where the race detector sees both sides.
func TestConformanceTCP(t *testing.T) { testGoroutines(t, soft.TCP) }

// The shared-memory lane between devices of one process.
func TestConformanceShm(t *testing.T) { testGoroutines(t, soft.SharedMemory) }

// The TCP lane between processes. A process that is stopped is silent.
func TestConformanceTCPProcesses(t *testing.T) {
	testProcesses(t, soft.TCP, verbstest.Silence, verbstest.OneSided)
}

// The shared-memory lane between processes: truly one-sided, but a process that is stopped starts nothing.
func TestConformanceShmProcesses(t *testing.T) { testProcesses(t, soft.SharedMemory, 0, 0) }

func testGoroutines(t *testing.T, lanes soft.Lanes) {
	c := capabilities()
	c.QueuePairs = 500 // each may take a descriptor at both ends, which are in this process
	c.Repeat, c.Moments = 6, 5
	verbstest.Run(t, func(verbstest.TB) verbstest.Lab { return goroutines(lanes, c) }, verbstest.Options{})
}

func testProcesses(t *testing.T, lanes soft.Lanes, has, hasNot verbstest.Capability) {
	if verbstest.RaceDetector {
		t.Skip("the race detector does not see what another process does")
	}
	c := amongProcesses()
	c.Has = c.Has&^hasNot | has
	crew := verbstest.Processes(child(lanes), c)
	defer func() {
		if err := crew.Close(); err != nil {
			t.Error(err)
		}
	}()
	verbstest.Run(t, crew.Lab, verbstest.Options{})
}

// amongProcesses is what lanes between processes have in common. There is no NIC besides the process. Each command goes
// through a pipe, and who is killed must be started, so budgets are small unless there is time.
func amongProcesses() verbstest.Capabilities {
	c := verbstest.Capabilities{Has: verbstest.Everything &^ (verbstest.ExactTime | verbstest.OwnNIC),
		QueuePairs: 200, Peers: 20, Traffic: 64 << 20, Repeat: 3, Moments: 10}
	if os.Getenv("WEFT_LONG") != "" {
		c.QueuePairs, c.Peers, c.Traffic, c.Repeat, c.Moments = 10_000, 1000, 0, 40, 200
	}
	return c
}

package ibv_test

import (
	"testing"

	"github.com/weft-fabric/weft/verbs/verbstest"
)

// budget is small: Soft-RoCE in an emulated machine moves 25 MB/s.
func budget(has verbstest.Capability) verbstest.Capabilities {
	return verbstest.Capabilities{Has: has, QueuePairs: 40, Peers: 4, Traffic: 4 << 20, Repeat: 2, Moments: 2}
}

// absent is what no device behind libibverbs has.
const absent = verbstest.Kill | verbstest.ExactTime | verbstest.Chains | verbstest.CPUAtomics | verbstest.StrongKeys |
	verbstest.LastWordLast

// The whole suite between devices of one process.
func TestConformance(t *testing.T) {
	needDevice(t)
	verbstest.Run(t, func(verbstest.TB) verbstest.Lab { return goroutines(budget(verbstest.Everything &^ absent)) }, verbstest.Options{})
}

// The whole suite between processes, which are killed and stopped.
func TestConformanceProcesses(t *testing.T) {
	needDevice(t)
	crew := verbstest.Processes(child, budget(verbstest.Everything&^absent|verbstest.Kill))
	defer func() {
		if err := crew.Close(); err != nil {
			t.Error(err)
		}
	}()
	verbstest.Run(t, crew.Lab, verbstest.Options{})
}

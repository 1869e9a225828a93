//go:build weftpause

package soft_test

import (
	"os"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// A writer stops at every step inside the gate, when it is new and, if there is time, when it is warm: see
// verbstest.RunPaused.
func TestPausedInsideTheGate(t *testing.T) {
	c := amongProcesses()
	c.Has |= verbstest.Pauses
	crew := verbstest.Processes(child(soft.SharedMemory), c)
	defer func() {
		if err := crew.Close(); err != nil {
			t.Error(err)
		}
	}()
	var steps []string
	for _, step := range soft.PauseSteps() {
		steps = append(steps, step)
		if os.Getenv("WEFT_LONG") != "" {
			steps = append(steps, step+":20", step+":333")
		}
	}
	if len(steps) == 0 {
		t.Fatal("there are no steps to pause at")
	}
	verbstest.RunPaused(t, crew.Lab, steps)
}

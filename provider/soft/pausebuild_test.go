//go:build !weftpause

package soft_test

import (
	"os/exec"
	"testing"

	"github.com/weft-fabric/weft/verbs/verbstest"
)

// The build that pauses inside the gate is not the one that everybody uses, so its test is run from here.
func TestPauseBuild(t *testing.T) {
	if verbstest.RaceDetector {
		t.Skip("the race detector does not see what another process does")
	}
	out, err := exec.Command("go", "test", "-tags", "weftpause", "-count=1", "-run", "^TestPausedInsideTheGate$", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go test -tags weftpause: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}

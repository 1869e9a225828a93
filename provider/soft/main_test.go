package soft_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// childVariable is set, to the lanes that it shall take, in the environment of a process that serves ends instead of
// running tests.
const childVariable = "WEFT_SOFT_CHILD"

func TestMain(m *testing.M) {
	lanes := os.Getenv(childVariable)
	if lanes == "" {
		leaktest.Main(m)
	}
	if err := serve(lanes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve offers ends on devices with some lanes to the process that started this one.
func serve(text string) error {
	lanes, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return fmt.Errorf("%s: %w", childVariable, err)
	}
	return verbstest.Serve(os.Stdin, os.Stdout, goroutines(soft.Lanes(lanes), verbstest.Capabilities{}))
}

// child is this test binary once more, serving.
func child(lanes soft.Lanes) func() *exec.Cmd {
	return func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		// The race detector would let each child sleep for a second before it exits.
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childVariable, lanes), "GORACE=atexit_sleep_ms=0")
		cmd.Stderr = os.Stderr
		return cmd
	}
}

// peerTimeout is the bound in tests of lanes. A lab's limit on hangs, one minute, is twenty times as long and a little more:
// a machine that is merely slow does not miss it.
const peerTimeout = 2 * time.Second

// goroutines is a lab in this process whose devices keep to some lanes.
func goroutines(lanes soft.Lanes, capabilities verbstest.Capabilities) verbstest.Lab {
	return verbstest.Goroutines(verbstest.GoroutineConfig{
		Open: func() (driver.Device, error) {
			return soft.New(soft.Config{Lanes: lanes, PeerTimeout: peerTimeout})
		},
		Kill:         func(d driver.Device) { d.(*soft.Device).Kill() },
		Capabilities: capabilities,
	})
}

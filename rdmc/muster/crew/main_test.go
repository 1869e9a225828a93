package crew

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
)

// childVariable is set in the environment of a member.
const childVariable = "WEFT_CREW_MEMBER"

// roceVariable names the RDMA device to test with. The Soft-RoCE rig sets it.
const roceVariable = "WEFT_ROCE"

// patience bounds what should end by itself: a hang fails, a slow machine does not. A virtual machine on a busy host is very
// slow.
var patience = hangLimit()

func hangLimit() time.Duration {
	if hasDevice() {
		return 5 * time.Minute
	}
	return 2 * time.Minute
}

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		leaktest.Main(m)
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hasDevice reports whether there is an RDMA device to test with.
func hasDevice() bool { return os.Getenv(roceVariable) != "" }

// lanes are what the tests run on: the RDMA device where there is one, the software NIC elsewhere.
func lanes() []string {
	if hasDevice() {
		return []string{"ibv"}
	}
	return []string{"shm", "tcp"}
}

// onLanes runs a test on every lane.
func onLanes(t *testing.T, test func(t *testing.T, lane string)) {
	t.Helper()
	for _, lane := range lanes() {
		t.Run(lane, func(t *testing.T) { test(t, lane) })
	}
}

// onLanesAtOnce does so on all at a time: for tests that mostly wait.
func onLanesAtOnce(t *testing.T, test func(t *testing.T, lane string)) {
	t.Helper()
	onLanes(t, func(t *testing.T, lane string) {
		t.Parallel()
		test(t, lane)
	})
}

// inMachine is how much of something is tried: little in a virtual machine, which is slow, unless there is time.
func inMachine(lane string, little, much int) int {
	if lane == "ibv" && !isLong() {
		return little
	}
	return much
}

// isLong reports whether the long variants are asked for.
func isLong() bool { return os.Getenv("WEFT_LONG") != "" }

// openLane opens a device that has one lane only.
func openLane(lane string, timeout time.Duration) (driver.Device, error) {
	if lane == "ibv" {
		return ibv.Open(ibv.Config{Device: os.Getenv(roceVariable), PeerTimeout: timeout})
	}
	return soft.New(soft.Config{Name: "crew", Lanes: softLanes[lane], PeerTimeout: timeout})
}

var softLanes = map[string]soft.Lanes{"shm": soft.SharedMemory, "tcp": soft.TCP}

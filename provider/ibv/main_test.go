package ibv_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/verbs/driver"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// roceVariable names the RDMA device to test with. The Soft-RoCE rig sets it.
const roceVariable = "WEFT_ROCE"

// childVariable is set in the environment of a process that serves ends instead of running tests.
const childVariable = "WEFT_IBV_CHILD"

func TestMain(m *testing.M) {
	if address := os.Getenv(relayVariable); address != "" {
		if err := runRelay(address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(childVariable) == "" {
		leaktest.Main(m)
	}
	if err := verbstest.Serve(os.Stdin, os.Stdout, goroutines(verbstest.Capabilities{})); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// needDevice skips a test where there is no device.
func needDevice(t *testing.T) {
	t.Helper()
	if os.Getenv(roceVariable) == "" {
		t.Skip("it needs an RDMA device: make test-roce runs this in a virtual machine that has one")
	}
}

// child is this test binary once more, serving.
func child() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = os.Stderr
	return cmd
}

// goroutines is a lab in this process.
func goroutines(capabilities verbstest.Capabilities) verbstest.Lab {
	return verbstest.Goroutines(verbstest.GoroutineConfig{
		Open: func() (driver.Device, error) {
			return ibv.Open(ibv.Config{Device: os.Getenv(roceVariable), PeerTimeout: peerTimeout})
		},
		Capabilities: capabilities,
		ScanEvery:    scanEvery,
	})
}

// scanEvery is long: ends that wake ten thousand times a second take all the time that an emulated machine has.
const scanEvery = 5 * time.Millisecond

const peerTimeout = 4 * time.Second

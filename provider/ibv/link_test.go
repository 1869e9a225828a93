package ibv_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/ibv"
)

// A device that tests may take away, on an interface that leads nowhere.
const (
	spareDevice  = "rxe9"
	spareLink    = "spare0"
	spareAddress = "10.9.9.1/24"
)

// makeSpare makes the spare device, in a machine that is there for nothing else.
func makeSpare(t *testing.T) {
	t.Helper()
	needDevice(t)
	if os.Getenv("WEFT_MACHINES") != "1" {
		t.Skip("it makes network interfaces and takes them away: make test-roce runs this in a virtual machine")
	}
	shell(t, "ip link add "+spareLink+" type dummy; ip addr add "+spareAddress+" dev "+spareLink+"; ip link set "+spareLink+" up")
	shell(t, "rdma link add "+spareDevice+" type rxe netdev "+spareLink)
	t.Cleanup(func() {
		_ = exec.Command("rdma", "link", "delete", spareDevice).Run() // perhaps the test has done it
		_ = exec.Command("ip", "link", "delete", spareLink).Run()
	})
	var err error
	for end := time.Now().Add(hangs); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = ibv.Usable(ibv.Config{Device: spareDevice}); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// shell runs a command that must succeed.
func shell(t *testing.T, command string) {
	t.Helper()
	if said, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, said)
	}
}

package ibv_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/provider/ibv/devices"
	"github.com/weft-fabric/weft/verbs/driver"
)

// refused checks that the device cannot be opened, and that the error says why and what to do.
func refused(t *testing.T, device string, why error, remedy string) {
	t.Helper()
	d, err := ibv.Open(ibv.Config{Device: device})
	if err == nil {
		d.Close()
	}
	if !errors.Is(err, why) || !strings.Contains(fmt.Sprint(err), remedy) || strings.Contains(fmt.Sprint(err), "\n") {
		t.Errorf("opening %q: %v; want %q and %q", device, err, why, remedy)
	}
}

func TestWrongDevices(t *testing.T) {
	needDevice(t)
	name := os.Getenv(roceVariable)
	refused(t, "nothing0", devices.ErrUnknownDevice, "there are "+name)
	refused(t, name+":9", devices.ErrUnknownPort, "its only port is 1")
	refused(t, name+":x", devices.ErrSyntax, "write it as mlx5_0")
}

func TestUnusablePorts(t *testing.T) {
	makeSpare(t)
	shell(t, "ip link set "+spareLink+" down")
	refused(t, spareDevice, devices.ErrPortDown, "ip link set "+spareLink+" up")
	shell(t, "ip addr flush dev "+spareLink+"; ip link set "+spareLink+" addrgenmode none; ip link set "+spareLink+" up")
	refused(t, spareDevice, devices.ErrNoGID, "ip addr add ADDRESS/24 dev "+spareLink)
	shell(t, "rdma link delete "+spareDevice)
	refused(t, spareDevice, devices.ErrUnknownDevice, "there are "+os.Getenv(roceVariable))
}

// Without the privilege to lock any amount of memory, a limit that is too small is named, with how to raise it.
func TestMemlockTooSmall(t *testing.T) {
	needDevice(t)
	child := exec.Command("prlimit", "--memlock=65536:65536", os.Args[0], "-test.run=^TestRegisterALot$", "-test.v")
	child.Env = append(os.Environ(), lockVariable+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	said, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "the limit is 64 KiB: raise it by ulimit -l unlimited") {
		t.Errorf("%v\n%s", err, said)
	}
}

// lockVariable is set in the process that has a limit on locked memory.
const lockVariable = "WEFT_IBV_MEMLOCK"

func TestRegisterALot(t *testing.T) {
	if os.Getenv(lockVariable) == "" {
		t.Skip("only for TestMemlockTooSmall")
	}
	d, err := ibv.Open(ibv.Config{Device: os.Getenv(roceVariable)})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	domain, err := d.NewDomain()
	if err != nil {
		t.Fatal(err)
	}
	defer domain.Close()
	_, err = domain.(driver.Allocator).Alloc(1<<20, 0)
	if !errors.Is(err, driver.ErrLimit) {
		t.Errorf("a megabyte: %v", err)
	}
	t.Log(err)
}

package ibv_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/provider/ibv/devices"
)

// rigLink is the interface below the device in a rig of one machine: a veth whose other end carries nothing.
const rigLink = "wire0"

// idleLink returns the interface below the device, if it is one that carries nothing: only that may be taken away.
func idleLink(t *testing.T) devices.Link {
	t.Helper()
	list, err := devices.Machine{}.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if d.Name != os.Getenv(roceVariable) || d.Driver != "rxe" {
			continue
		}
		about, err := exec.Command("ip", "-details", "link", "show", d.Ports[0].Link.Name).Output()
		if err == nil && (strings.Contains(string(about), "dummy") || d.Ports[0].Link.Name == rigLink) {
			return d.Ports[0].Link
		}
	}
	t.Skip("it takes the device's network away, and does so only to Soft-RoCE on an interface that carries nothing")
	return devices.Link{}
}

// restore makes the device and its interface as they were. Some of it may be there.
func restore(t *testing.T, l devices.Link) {
	t.Helper()
	kind := "dummy"
	if l.Name == rigLink {
		kind = "veth peer name end0; ip link set end0 up"
	}
	script := fmt.Sprintf("ip link add %s type %s; ip link set %s mtu %d\n", l.Name, kind, l.Name, l.MTU)
	for _, a := range l.Addresses {
		if !a.Addr().IsLinkLocalUnicast() {
			script += fmt.Sprintf("ip addr add %v dev %s\n", a, l.Name)
		}
	}
	script += fmt.Sprintf("ip link set %s up; rdma link add %s type rxe netdev %s", l.Name, os.Getenv(roceVariable), l.Name)
	said, _ := exec.Command("sh", "-c", script).CombinedOutput()
	var err error
	for end := time.Now().Add(hangs); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = ibv.Usable(ibv.Config{Device: os.Getenv(roceVariable)}); err == nil {
			return
		}
	}
	t.Fatalf("the device did not come back: %v\n%s", err, said)
}

// shell runs a command that must succeed.
func shell(t *testing.T, command string) {
	t.Helper()
	if said, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, said)
	}
}

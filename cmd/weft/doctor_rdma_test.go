package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/provider/ibv/devices"
	"github.com/weft-fabric/weft/provider/ibv/native"
)

// card is a device with one port on an interface that is not connected to anything but the test.
func card() devices.Device {
	gid := devices.GID{Raw: netip.MustParseAddr("10.0.0.5").As16(), Kind: devices.KindRoCEv2, Prefix: 24, Index: 3, Link: "eth2", MTU: 1500, Local: true}
	return devices.Device{Name: "mlx5_0", Driver: "mlx5_core", Type: "CA", Firmware: "16.35", File: "/dev/infiniband/uverbs0", Ports: []devices.Port{{
		Number: 1, State: devices.Active, Physical: "LinkUp", LinkLayer: devices.Ethernet, Mbps: 100_000, Link: devices.Link{Name: "eth2", MTU: 1500},
		GIDs: []devices.GID{gid}}}}
}

// viewOf is a machine with one device that works.
func viewOf(t *testing.T, list ...devices.Device) rdmaView {
	v := rdmaView{sys: t.TempDir(), flow: func(string) priorities { return notTold }, devices: list, port: native.PortAttr{Active: true, MTU: 3, Ethernet: true}}
	for _, module := range []string{"ib_uverbs", "mlx5_ib"} {
		if err := os.MkdirAll(filepath.Join(v.sys, "module", module), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	v.choice, v.refused = devices.Choose(list, "", netip.Addr{})
	return v
}

// said is every finding as "state name: text (fix)".
func said(found []finding) string {
	var lines []string
	for _, f := range found {
		line := string(f.State) + " " + f.Name + ": " + f.Text
		if f.Fix != "" {
			line += " (" + f.Fix + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestDoctorOnRDMA(t *testing.T) {
	without := errors.New("libibverbs.so.1: cannot open shared object file: No such file or directory")
	for name, c := range map[string]struct {
		change func(*rdmaView)
		usable bool
		lines  string
		never  string // a word that would be untrue
	}{
		"all well": {func(*rdmaView) {}, true, `ok kernel modules: ib_uverbs, mlx5_ib: loaded
ok mlx5_0:1: Ethernet, ACTIVE, 100 Gb/s, driver mlx5_core, firmware 16.35, GID 3 = 10.0.0.5 (RoCE v2 on eth2)
ok chosen: mlx5_0:1: it is the only usable port
ok device file: /dev/infiniband/uverbs0 can be opened
ok library: libibverbs.so.1 opens mlx5_0
warning path MTU: 1024 bytes, as eth2 has an MTU of 1500 (large messages are faster with 4096: ip link set eth2 mtu 4200 or more, on both hosts and all switches between)
ok PFC and ECN: on eth2 PFC is unknown, as its driver does not tell; ECN is unknown, as its driver does not tell; what the switches`, "not needed"},
		"no device": {func(v *rdmaView) { *v = viewOf(t) }, false, `absent devices: none, and none is needed
ok library: libibverbs.so.1 is there`, "chosen"},
		"no device, no library": {func(v *rdmaView) { *v = viewOf(t); v.library = without }, false,
			"absent library: libibverbs.so.1: cannot open shared object file: No such file or directory; without a device it is not needed", "install"},
		"no device, no cgo": {func(v *rdmaView) { *v = viewOf(t); v.library = native.ErrNoCgo }, false,
			"absent library: built without cgo: cannot load RDMA; without a device it is not needed", "install"},
		"no device, but asked for": {func(v *rdmaView) { *v = viewOf(t); v.wanted = whoWantsRDMA("", "ibv") }, false,
			"problem devices: none, and WEFT_PROVIDER asks for ibv (plug one in and load its driver, or make a software one", "needed"},
		"no device, no cgo, but asked for": {func(v *rdmaView) {
			*v = viewOf(t)
			v.wanted, v.library = whoWantsRDMA("mlx5_0", ""), native.ErrNoCgo
		}, false, "problem library: built without cgo: cannot load RDMA (use the default build (make build))", "needed"},
		"no library": {func(v *rdmaView) { v.library = without }, false,
			"problem library: libibverbs.so.1: cannot open shared object file: No such file or directory (install it: apt install libibverbs1 ibverbs-providers", "opens"},
		"no cgo": {func(v *rdmaView) { v.library = native.ErrNoCgo }, false,
			"problem library: built without cgo: cannot load RDMA (use the default build (make build))", "install"},
		"no driver for users": {func(v *rdmaView) { v.unopened = unix.ENODEV }, false,
			"problem library: libibverbs.so.1 is there, but no such device (install the device's part of it: apt install ibverbs-providers", "opens"},
		"a sick device": {func(v *rdmaView) { v.unopened = unix.EIO }, false,
			"problem library: libibverbs.so.1 is there, but input/output error (ibv_devinfo -v may say more", "opens"},
		"no file": {func(v *rdmaView) { v.file = fs.ErrNotExist }, false,
			"problem device file: /dev/infiniband/uverbs0 is not there (give it to the container: docker run --device /dev/infiniband/uverbs0, or in Kubernetes", "opens"},
		"a forbidden file": {func(v *rdmaView) { v.file = fs.ErrPermission }, false,
			"problem device file: permission denied (chmod 666 /dev/infiniband/uverbs0", "opens"},
		"no module": {func(v *rdmaView) { _ = os.Remove(filepath.Join(v.sys, "module/ib_uverbs")) }, true,
			"warning kernel modules: mlx5_ib: loaded (modprobe ib_uverbs: without it", "not needed"},
		"down": {func(v *rdmaView) {
			d := card()
			d.Ports[0].State = "DOWN"
			*v = viewOf(t, d)
		}, false, `warning mlx5_0:1: is DOWN (the wire: LinkUp) (ip link set eth2 up, or plug in its cable)
problem chosen: none: no port can be used (one of those above)
ok library: libibverbs.so.1 is there`, "opens"},
		"unreadable": {func(v *rdmaView) {
			*v = rdmaView{sys: v.sys, unlisted: fs.ErrPermission, refused: devices.ErrNoDevice}
		}, false, "warning devices: permission denied (let it read /sys)", "none is needed"},
		"jumbo frames": {func(v *rdmaView) { v.port.MTU = 5 }, true, "ok path MTU: 4096 bytes\n", "faster"},
		"InfiniBand": {func(v *rdmaView) { v.choice.Port.LinkLayer = devices.InfiniBand }, true,
			"ok path MTU: 1024 bytes\nok PFC and ECN: not needed: InfiniBand does not lose packets", "eth2 has"},
		"Soft-RoCE": {func(v *rdmaView) { v.choice.Device.Driver = "rxe" }, true, "ok PFC and ECN: not for Soft-RoCE", "dcb"},
	} {
		v := viewOf(t, card())
		c.change(&v)
		found := v.examine()
		checkFindings(t, found)
		text := said(found)
		if !strings.Contains(text, c.lines) || strings.Contains(text, c.never) || (v.usable() == nil) != c.usable {
			t.Errorf("%s: usable: %v, want %v with %q and without %q in\n%s", name, v.usable(), c.usable, c.lines, c.never, text)
		}
	}
}

func TestDoctorObeysTheDevice(t *testing.T) {
	t.Setenv("WEFT_DEVICE", "mlx5_7")
	v := viewOf(t, card())
	v.choice, v.refused = devices.Choose(v.devices, os.Getenv("WEFT_DEVICE"), netip.Addr{})
	want := "problem chosen: none: WEFT_DEVICE asks for mlx5_7 (there is no RDMA device mlx5_7: there are mlx5_0)"
	if text := said(v.examine()); !strings.Contains(text, want) || strings.Contains(text, "opens") {
		t.Errorf("no %q in\n%s", want, text)
	}
}

func TestDoctorOnLostPackets(t *testing.T) {
	for _, c := range []struct {
		flow priorities
		ecn  string // of each priority; empty: the driver does not tell
		want string
	}{
		{notTold, "0 0 0 1 0 1 0 0", "ok PFC and ECN: on eth2 PFC is unknown, as its driver does not tell; ECN is on for 2 of 8 priorities; what"},
		{1, "", "ok PFC and ECN: on eth2 PFC is on for 1 of 8 priorities; ECN is unknown"},
		{0, "", "ok PFC and ECN: on eth2 PFC is off; ECN is unknown"},
		{0, "0 0 0 0 0 0 0 0", "warning PFC and ECN: on eth2 PFC is off; ECN is off; what the switches have cannot be seen from here (a full network will lose"},
	} {
		v := viewOf(t, card())
		v.flow = func(string) priorities { return c.flow }
		for priority, on := range strings.Fields(c.ecn) {
			folder := filepath.Join(v.sys, "class/net/eth2/ecn/roce_rp/enable")
			if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, fmt.Sprint(priority)), []byte(on+"\n"), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if text := said([]finding{v.examineLoss()}); !strings.HasPrefix(text, c.want) {
			t.Errorf("%s, want %s", text, c.want)
		}
	}
	if got := systemFlow("lo"); got != notTold {
		t.Errorf("the loopback interface has flow control: %v", got)
	}
}

func TestDoctorShowsNotTooManyPorts(t *testing.T) {
	var list []devices.Device
	for range 40 {
		list = append(list, card())
	}
	if found := viewOf(t, list...).examinePorts(); len(found) != 17 || found[16].Text != "24, which are not shown" {
		t.Errorf("%d lines, the last %+v", len(found), found[len(found)-1])
	}
}

// The provider is tried only where RDMA can be used, and missing hardware is no fault.
func TestDoctorTriesRDMA(t *testing.T) {
	ibv := lane{name: "ibv", what: "RDMA"}
	broken := viewOf(t, card())
	broken.library = native.ErrNoCgo
	for _, c := range []struct {
		view rdmaView
		want string
	}{
		{viewOf(t), "absent ibv: RDMA: no RDMA device, and none is needed"},
		{broken, "problem ibv: RDMA: a device is there, but cannot be used (see RDMA below)"},
	} {
		if text := said([]finding{examineLane(context.Background(), ibv, c.view)}); text != c.want {
			t.Errorf("%s, want %s", text, c.want)
		}
	}
}

func TestMayLock(t *testing.T) {
	for text, want := range map[string]bool{
		"Name:\tweft\nCapEff:\t0000000000004000\n": true,
		"CapEff:\t000001ffffffffff\nCapBnd:\t0\n":  true,
		"CapPrm:\t0000000000004000\nCapEff:\t0\n":  false,
		"CapEff:\tffffffffffffbfff\n":              false,
		"CapEff:\tx\n":                             false,
		"":                                         false,
	} {
		if got := mayLock(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

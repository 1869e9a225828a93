package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/provider/ibv/devices"
	"github.com/weft-fabric/weft/provider/ibv/native"
)

// This file is what the doctor says of the way from a program to its RDMA device, and from there to the peer's.

func (v rdmaView) examineLibrary() finding {
	const name = "library"
	switch {
	case errors.Is(v.library, native.ErrNoCgo):
		return v.unlessNeeded(good(name, "built without cgo: cannot load RDMA"), "use the default build (make build)")
	case v.library != nil:
		return v.unlessNeeded(good(name, "%v", v.library), "install it: apt install libibverbs1 ibverbs-providers, or dnf install libibverbs")
	case v.unopened != nil:
		return good(name, "libibverbs.so.1 is there, but %v", v.unopened).but(problem, libraryFix(v.unopened))
	case v.usable() == nil:
		return good(name, "libibverbs.so.1 opens %s", v.choice.Device.Name)
	}
	return good(name, "libibverbs.so.1 is there")
}

// unlessNeeded is for what is missing: that is a problem only if there is a device.
func (v rdmaView) unlessNeeded(f finding, fix string) finding {
	if len(v.devices) == 0 {
		f.Text += "; without a device it is not needed"
		return f.but(absent, "")
	}
	return f.but(problem, fix)
}

func libraryFix(err error) string {
	if errors.Is(err, unix.ENODEV) {
		return "install the device's part of it: apt install ibverbs-providers, or dnf install libibverbs"
	}
	return "ibv_devinfo -v may say more; report it, with what weft doctor --json prints"
}

func (v rdmaView) examineChoice() finding {
	const name = "chosen"
	if v.refused != nil {
		if wanted := os.Getenv("WEFT_DEVICE"); wanted != "" {
			return good(name, "none: WEFT_DEVICE asks for %s", wanted).but(problem, v.refused.Error())
		}
		return good(name, "none: no port can be used").but(problem, "one of those above")
	}
	return good(name, "%v: %s", v.choice, v.choice.Why)
}

func (v rdmaView) examineFile() finding {
	const name = "device file"
	path := v.choice.Device.File
	switch {
	case errors.Is(v.file, os.ErrNotExist):
		return good(name, "%s is not there", path).but(problem, "give it to the container: docker run --device "+path+
			", or in Kubernetes the resource of an RDMA device plugin (such as rdma/hca)")
	case v.file != nil:
		return good(name, "%v", v.file).but(problem, "chmod 666 "+path+" (Debian's rdma-core does), or let the container have it: docker run --device "+path)
	}
	return good(name, "%s can be opened", path)
}

// bestMTU is the largest that RDMA knows, and linkMTU what a network interface needs for it.
const (
	bestMTU = 4096
	linkMTU = 4200
)

// examineMTU says how large the packets of RDMA are. They are smaller than those of IP, in steps of two.
func (v rdmaView) examineMTU() finding {
	mtu := 128 << v.port.MTU
	f := good("path MTU", "%d bytes", mtu)
	gid := v.choice.GIDs[0]
	if v.choice.Port.LinkLayer != devices.Ethernet || mtu >= bestMTU {
		return f
	}
	f.Text += fmt.Sprintf(", as %s has an MTU of %d", gid.Link, gid.MTU)
	return f.but(warning, fmt.Sprintf("large messages are faster with 4096: ip link set %s mtu %d or more, on both hosts and all switches between", gid.Link, linkMTU))
}

// examineLoss says what is known about packets that are lost when the network is full. RoCE goes on, but slowly.
func (v rdmaView) examineLoss() finding {
	const name = "PFC and ECN"
	link := v.choice.GIDs[0].Link
	switch {
	case v.choice.Port.LinkLayer == devices.InfiniBand:
		return good(name, "not needed: InfiniBand does not lose packets")
	case v.choice.Device.Driver == "rxe":
		return good(name, "not for Soft-RoCE: its packets are the kernel's UDP")
	}
	text := "cannot be seen from here, and the switches matter, too: look at dcb pfc show dev %[1]s (or mlnx_qos -i %[1]s)"
	if on, known := v.ecnPriorities(link); known {
		text = fmt.Sprintf("ECN is on for %d of 8 priorities; PFC ", on) + text
	}
	return good(name, text, link)
}

// ecnPriorities counts the priorities for which a mlx5 reacts to marked packets, where its driver tells.
func (v rdmaView) ecnPriorities(link string) (on int, known bool) {
	for priority := range 8 {
		b, err := os.ReadFile(filepath.Join(v.sys, "class/net", link, "ecn/roce_rp/enable", fmt.Sprint(priority)))
		if err != nil {
			return 0, false
		}
		if len(b) > 0 && b[0] == '1' {
			on++
		}
	}
	return on, true
}

package main

import (
	"errors"
	"fmt"
	"os"

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

// unlessNeeded is for what is missing: that is a problem only if there is a device, or somebody asks for one.
func (v rdmaView) unlessNeeded(f finding, fix string) finding {
	if len(v.devices) == 0 && v.wanted == "" {
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

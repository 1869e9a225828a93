package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/provider/ibv/devices"
	"github.com/weft-fabric/weft/provider/ibv/native"
)

// rdmaView is what the doctor sees of RDMA: first what the kernel shows, then what libibverbs makes of it.
type rdmaView struct {
	sys      string                       // /sys
	flow     func(link string) priorities // with flow control
	wanted   string                       // who wants RDMA: "WEFT_DEVICE asks for mlx5_0"; empty: nobody, it would be welcome
	devices  []devices.Device
	unlisted error // why the devices are not known
	choice   devices.Choice
	refused  error // why there is no choice
	library  error // why libibverbs cannot be loaded
	file     error // why the chosen device's file cannot be opened; nil also without a choice
	port     native.PortAttr
	unopened error // why libibverbs does not open the chosen device; nil also if it was not asked
}

// lookAtRDMA looks at this machine. Device and provider are what WEFT_DEVICE and WEFT_PROVIDER say.
func lookAtRDMA(device, provider string) rdmaView {
	v := rdmaView{sys: "/sys", flow: systemFlow, wanted: whoWantsRDMA(device, provider), library: native.Load()}
	v.devices, v.unlisted = devices.Machine{}.List()
	v.choice, v.refused = devices.Choose(v.devices, device, netip.Addr{})
	if v.refused != nil {
		return v
	}
	v.file = tryFile(v.choice.Device.File)
	if v.library == nil && v.file == nil {
		v.port, v.unopened = askPort(v.choice)
	}
	return v
}

func whoWantsRDMA(device, provider string) string {
	switch {
	case device != "":
		return "WEFT_DEVICE asks for " + device
	case provider == "ibv":
		return "WEFT_PROVIDER asks for ibv"
	}
	return ""
}

func tryFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// askPort opens a device as the provider will.
func askPort(c devices.Choice) (port native.PortAttr, err error) {
	device, err := native.Open(c.Device.Name)
	if err != nil {
		return port, err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	return device.Port(uint8(c.Port.Number))
}

// usable says why no RDMA device can be used, if so.
func (v rdmaView) usable() error {
	for _, err := range []error{v.unlisted, v.refused, v.library, v.file, v.unopened} {
		if err != nil {
			return err
		}
	}
	return nil
}

// examine says what was seen, the cause before its effects.
func (v rdmaView) examine() []finding {
	found := append([]finding{v.examineModules()}, v.examinePorts()...)
	if len(v.devices) > 0 {
		found = append(found, v.examineChoice())
	}
	if v.refused == nil {
		found = append(found, v.examineFile())
	}
	found = append(found, v.examineLibrary())
	if v.usable() == nil {
		found = append(found, v.examineMTU(), v.examineLoss())
	}
	return found
}

// rdmaModules are the parts of the kernel that RDMA takes: what programs talk to, and drivers.
var rdmaModules = strings.Fields("ib_uverbs rdma_rxe mlx5_ib mlx4_ib bnxt_re irdma hns_roce_hw_v2 qedr erdma mana_ib ionic_rdma")

func (v rdmaView) examineModules() finding {
	const name = "kernel modules"
	var loaded []string
	for _, m := range rdmaModules {
		if _, err := os.Stat(filepath.Join(v.sys, "module", m)); err == nil {
			loaded = append(loaded, m)
		}
	}
	if len(loaded) == 0 {
		return good(name, "none for RDMA is loaded").but(absent, "")
	}
	f := good(name, "%s: loaded", strings.Join(loaded, ", "))
	if len(v.devices) > 0 && !slices.Contains(loaded, "ib_uverbs") {
		return f.but(warning, "modprobe ib_uverbs: without it programs do not reach the devices")
	}
	return f
}

// examinePorts has a line for each port, or one that says that there is none.
func (v rdmaView) examinePorts() (found []finding) {
	const most = 16
	switch {
	case v.unlisted != nil:
		return []finding{good("devices", "%v", v.unlisted).but(warning, "let it read /sys")}
	case len(v.devices) == 0 && v.wanted != "":
		return []finding{good("devices", "none, and %s", v.wanted).but(problem, remedy(v.refused))}
	case len(v.devices) == 0:
		return []finding{good("devices", "none, and none is needed").but(absent, "")}
	}
	for _, d := range v.devices {
		for _, p := range d.Ports {
			found = append(found, examinePort(d, p))
		}
	}
	if more := len(found) - most; more > 0 {
		found = append(found[:most], good("more ports", "%d, which are not shown", more))
	}
	return found
}

// remedy is what a refusal says to do.
func remedy(err error) string {
	var refused *devices.Refusal
	if errors.As(err, &refused) {
		return refused.Remedy
	}
	return err.Error()
}

func examinePort(d devices.Device, p devices.Port) finding {
	name := fmt.Sprintf("%s:%d", d.Name, p.Number)
	var refused *devices.Refusal
	if errors.As(d.Check(p), &refused) {
		return good(name, "%s", strings.TrimPrefix(refused.What, name+" ")).but(warning, refused.Remedy)
	}
	words := []string{string(p.LinkLayer), p.State, fmt.Sprintf("%g Gb/s", float64(p.Mbps)/1000), "driver " + orNone(d.Driver)}
	if d.Firmware != "" {
		words = append(words, "firmware "+d.Firmware)
	}
	for i, g := range p.Usable() {
		if i == 4 {
			words = append(words, "and more")
			break
		}
		words = append(words, fmt.Sprintf("GID %d = %v", g.Index, describeGID(g)))
	}
	return good(name, "%s", strings.Join(words, ", "))
}

func describeGID(g devices.GID) string {
	if g.Link == "" {
		return g.String()
	}
	return fmt.Sprintf("%v (%v on %s)", g, g.Kind, g.Link)
}

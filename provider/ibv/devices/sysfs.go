package devices

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is where devices are looked for. The zero value is this machine.
type Machine struct {
	Sys   string                 // folder instead of /sys
	Links func() ([]Link, error) // instead of the interfaces of this network namespace
}

// List returns the devices by name. A machine without RDMA has none, which is no error. What disappears meanwhile is
// left out.
func (m Machine) List() ([]Device, error) {
	m = m.withDefaults()
	names, err := m.names()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	links, err := m.Links()
	if err != nil {
		return nil, fmt.Errorf("list the network interfaces: %w", err)
	}
	files := m.files()
	var found []Device
	for _, name := range names[:min(len(names), maxDevices)] {
		r := reader{filepath.Join(m.Sys, "class/infiniband", name), links}
		d := r.device(name)
		d.File = files[name]
		found = append(found, d)
	}
	return found, nil
}

func (m Machine) withDefaults() Machine {
	if m.Sys == "" {
		m.Sys = "/sys"
	}
	if m.Links == nil {
		m.Links = systemLinks
	}
	return m
}

// names lists the devices, sorted.
func (m Machine) names() (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(m.Sys, "class/infiniband"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the kernel has no RDMA, or has not loaded it
	}
	if err != nil {
		return nil, fmt.Errorf("list the RDMA devices: %w", err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// files maps devices to the files through which programs use them.
func (m Machine) files() map[string]string {
	files := make(map[string]string)
	folder := filepath.Join(m.Sys, "class/infiniband_verbs")
	entries, _ := os.ReadDir(folder) // it is missing without module ib_uverbs
	for _, e := range entries[:min(len(entries), 2*maxDevices)] {
		r := reader{folder: filepath.Join(folder, e.Name())}
		if name := r.text("ibdev"); name != "" {
			files[name] = "/dev/infiniband/" + e.Name()
		}
	}
	return files
}

// reader reads below the folder of one device.
type reader struct {
	folder string
	links  []Link
}

// text returns what a file says, without the space around it. A file that is missing or unreadable says nothing: the
// kernel refuses to show what is not set. There are hundreds of them, each of which is read whole by one call; package os would take
// twice as many calls.
func (r reader) text(name string) string {
	fd, err := unix.Open(r.folder+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = unix.Close(fd) }()
	b := make([]byte, maxText)
	n, err := unix.Read(fd, b)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b[:n]))
}

// numbers lists the names in a folder that are numbers from least up to, not including, end, in order.
func (r reader) numbers(name string, least, end int) []int {
	entries, _ := os.ReadDir(filepath.Join(r.folder, name))
	there := make(map[int]bool)
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && strconv.Itoa(n) == e.Name() {
			there[n] = true
		}
	}
	var found []int
	for n := least; n < end; n++ {
		if there[n] {
			found = append(found, n)
		}
	}
	return found
}

func (r reader) device(name string) Device {
	d := Device{Name: name, Driver: r.driver(), Type: meaning(r.text("node_type")), GUID: r.text("node_guid"), Firmware: r.text("fw_ver")}
	for _, n := range r.numbers("ports", 1, maxPorts+1) {
		d.Ports = append(d.Ports, r.port(n))
	}
	return d
}

// driver names the driver of the hardware. Soft-RoCE has none, but describes itself; and only it names the interface
// that it stands on as its parent.
func (r reader) driver() string {
	if target, err := os.Readlink(filepath.Join(r.folder, "device/driver")); err == nil {
		return filepath.Base(target)
	}
	if r.text("parent") != "" || r.text("node_desc") == "rxe" {
		return "rxe"
	}
	return ""
}

package contest

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/internal/printable"
)

// maxName is how many bytes of a maker's word are kept.
const maxName = 200

// Machine is what it ran on, and the versions of the peers.
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Virtual string `json:"virtual,omitempty"` // "yes", or whose it is; empty: it is not virtual, or that is not known
	Kernel  string `json:"kernel"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	UCX     string `json:"ucx,omitempty"`
	OpenMPI string `json:"openmpi,omitempty"`
	MPICH   string `json:"mpich,omitempty"`
	UDPCast string `json:"udpcast,omitempty"`
	Aria2   string `json:"aria2,omitempty"`
	Rsync   string `json:"rsync,omitempty"`
}

func thisMachine() Machine {
	m := Machine{CPU: "unknown", Cores: runtime.NumCPU(), Kernel: "unknown", Go: runtime.Version(),
		OS: runtime.GOOS + "/" + runtime.GOARCH}
	if kernel := fileWord("/proc/sys/kernel/osrelease"); kernel != "" {
		m.Kernel = kernel
	}
	cpuinfo := fileWord("/proc/cpuinfo")
	if model := cpuField(cpuinfo, "model name"); model != "" {
		m.CPU = clean(model)
	}
	m.Virtual = virtual(cpuinfo, fileWord("/sys/class/dmi/id/sys_vendor"), fileWord("/sys/class/dmi/id/product_name"))
	return m
}

// virtual tells whose virtual machine it is: a processor of one has the flag hypervisor, and the board's names tell whose.
// Where processors have no such flag (ARM), only the names of well-known makers do.
func virtual(cpuinfo, vendor, product string) string {
	board := clean(vendor + " " + product)
	flagged := slices.Contains(strings.Fields(cpuField(cpuinfo, "flags")), "hypervisor")
	known := slices.ContainsFunc([]string{"QEMU", "KVM", "VMware", "VirtualBox", "Virtual Machine", "Xen", "Parallels"},
		func(name string) bool { return strings.Contains(board, name) })
	switch {
	case !flagged && !known:
		return ""
	case board == "":
		return "yes"
	}
	return board
}

// clean is a maker's word as it can be kept and printed: a board may have any bytes.
func clean(text string) string { return strings.TrimSpace(printable.Clean(text, maxName)) }

// cpuField is a line's value in /proc/cpuinfo, of the first core.
func cpuField(cpuinfo, name string) string {
	for line := range strings.Lines(cpuinfo) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// fileWord is what a small file of the kernel says; nothing if it is not there.
func fileWord(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

package contest

import (
	"strings"
	"testing"
)

func TestVirtual(t *testing.T) {
	const real, guest = "model name\t: X\nflags\t\t: fpu sse2\n", "model name\t: X\nflags\t\t: fpu hypervisor sse2\n\nflags\t: fpu\n"
	for _, c := range []struct{ cpuinfo, vendor, product, want string }{
		{real, "Dell Inc.", "PowerEdge R640", ""},
		{real, "", "", ""},
		{guest, "", "", "yes"},
		{guest, "Amazon EC2", "m5.large", "Amazon EC2 m5.large"},
		{"", "QEMU", "QEMU Virtual Machine", "QEMU QEMU Virtual Machine"}, // ARM
		{guest, "QEMU\x00", "\x1b[31mpc\xff\n", "QEMU   [31mpc?"},
		{guest, "\x00", "\x00", "yes"},
		{guest, strings.Repeat("x", 1000), "", strings.Repeat("x", maxName)},
		{"flags\t: nohypervisor\n", "", "", ""},
	} {
		if got := virtual(c.cpuinfo, c.vendor, c.product); got != c.want {
			t.Errorf("%q, %q, %q: %q, want %q", c.cpuinfo, c.vendor, c.product, got, c.want)
		}
	}
}

func TestThisMachine(t *testing.T) {
	if m := thisMachine(); m.CPU == "" || m.Cores < 1 || m.Kernel == "" || m.Go == "" || m.OS == "" {
		t.Errorf("%+v", m)
	}
}

package machine

import (
	"fmt"
	"os/exec"
	"syscall"
)

// Descriptors that a machine inherits.
const (
	fdOut     = 3 + iota // what the command writes to standard output
	fdErr                // and to standard error
	fdConsole            // what the kernel says
	fdInitrd             // the file that the guest starts from
	fdWire               // a socket to the other machine, if there are two
)

// qemu returns the program that is a machine, not started. Hardware acceleration is not used: where it is offered it need
// not work, and software emulation is fast enough.
func qemu(kit Kit, number int, config Config) *exec.Cmd {
	args := []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-sandbox", "on",
		"-accel", "tcg,thread=multi", "-cpu", processor, "-smp", fmt.Sprint(config.CPUs), "-m", fmt.Sprint(config.MemoryMiB),
		"-kernel", kit.image, "-initrd", fmt.Sprintf("/proc/self/fd/%d", fdInitrd), "-append", kernelLine,
		"-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
		"-device", "virtio-serial-pci",
	}
	args = append(args, port("out", fdOut, "virtserialport,nr=1")...)
	args = append(args, port("err", fdErr, "virtserialport,nr=2")...)
	args = append(args, port("console", fdConsole, "isa-serial")...)
	if config.Machines > 1 {
		args = append(args, "-netdev", fmt.Sprintf("socket,id=wire,fd=%d", fdWire),
			"-device", fmt.Sprintf("virtio-net-pci,netdev=wire,romfile=,speed=10000,duplex=full,mac=52:54:00:00:00:%02x", number))
	}
	cmd := exec.Command(kit.emulator, args...)
	cmd.Stderr = config.Log
	// A group of its own keeps Ctrl-C for us, who end the machine; and should we be killed, it dies too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// processor is all that can be emulated but the fast instructions for copying bytes, which are slow in emulation: kernels
// take them where they are, and copy byte by byte then, so that others could see half of a word. Without them, and without the
// kernel's module for fast checksums (see wanted), rxe moves 2.6 times as much.
const processor = "max,-erms,-fsrm"

// kernelLine has the console carry warnings and worse, ends the machine when the kernel panics, and has it believe the
// emulated time-stamp counter, which is the same on all processors and needs no trap to be read.
const kernelLine = "console=ttyS0 loglevel=5 panic=-1 mitigations=off clocksource=tsc tsc=reliable"

// port connects a device of the guest to an inherited descriptor.
func port(name string, fd int, device string) []string {
	return []string{
		"-add-fd", fmt.Sprintf("fd=%d,set=%d", fd, fd),
		"-chardev", fmt.Sprintf("file,id=%s,append=on,path=/dev/fdset/%d", name, fd),
		"-device", fmt.Sprintf("%s,chardev=%s", device, name),
	}
}

package machine

import (
	"debug/elf"
	_ "embed" // the guest's scripts
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed init.sh
var initScript []byte

//go:embed guest.sh
var guestScript []byte

// writeInitrd writes the file system that the guest begins with: a shell, the modules, the scripts, the command.
func writeInitrd(to io.Writer, kernel Kernel, mark, command string) error {
	shell, err := readBusybox()
	if err != nil {
		return err
	}
	a := &archive{to: to}
	for _, folder := range []string{"bin", "dev", "proc", "sys", "modules", "host", "layer", "root"} {
		a.add(folder, fs.ModeDir|0o755, nil)
	}
	a.add("bin/busybox", 0o755, shell)
	for _, file := range kernel.modules {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a kernel module: %w", err)
		}
		a.add("modules/"+filepath.Base(file), 0o644, data)
	}
	a.add("init", 0o755, initScript)
	a.add("guest.sh", 0o644, guestScript)
	a.add("command.sh", 0o644, []byte(command))
	a.add("mark", 0o644, []byte(mark+"\n"))
	return a.close()
}

// readBusybox reads the guest's shell, which has to need no library.
func readBusybox() ([]byte, error) {
	file, err := exec.LookPath("busybox")
	if err != nil {
		return nil, fmt.Errorf("%w: busybox is missing; install busybox-static", ErrUnavailable)
	}
	program, err := elf.Open(file)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", file, err)
	}
	defer program.Close()
	if program.Section(".interp") != nil {
		return nil, fmt.Errorf("%w: %s needs shared libraries; install busybox-static", ErrUnavailable, file)
	}
	return os.ReadFile(file)
}

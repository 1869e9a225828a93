package machine

import (
	"debug/elf"
	_ "embed" // the guest's scripts
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
)

//go:embed init.sh
var initScript []byte

//go:embed guest.sh
var guestScript []byte

// writeInitrd writes the file system that the guest begins with: a shell, the modules, the scripts, the command.
func writeInitrd(to io.Writer, kit Kit, mark, command string) error {
	a := &archive{to: to}
	for _, folder := range []string{"bin", "dev", "proc", "sys", "modules", "host", "layer", "root"} {
		a.add(folder, fs.ModeDir|0o755, nil)
	}
	a.addFile("bin/busybox", 0o755, kit.shell)
	for _, file := range kit.modules {
		a.addFile("modules/"+filepath.Base(file), 0o644, file)
	}
	a.add("init", 0o755, initScript)
	a.add("guest.sh", 0o644, guestScript)
	a.add("command.sh", 0o644, []byte(command))
	a.add("mark", 0o644, []byte(mark+"\n"))
	return a.close()
}

// findShell returns the file of the guest's shell, which has to need no library.
func findShell() (string, error) {
	file, err := findTool("busybox", "busybox-static")
	if err != nil {
		return "", err
	}
	program, err := elf.Open(file)
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", file, err)
	}
	defer func() { _ = program.Close() }()
	if program.Section(".interp") != nil {
		return "", fmt.Errorf("%w: %s needs shared libraries; install busybox-static", ErrUnavailable, file)
	}
	return file, nil
}

// findTool returns the file of a program of the host, which is in a Debian package.
func findTool(name, debian string) (string, error) {
	file, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %s is missing; install %s", ErrUnavailable, name, debian)
	}
	return file, nil
}

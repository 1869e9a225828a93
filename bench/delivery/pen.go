package delivery

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pen is a control group: who is started in it stays in it, and so does whoever is started by them. Launchers of other
// programs start ranks that outlive them; here nobody gets lost.
type pen struct {
	path string
	dir  *os.File
}

// ownName is what names of control groups and folders begin with, so that a later run can remove what this one may leave
// behind if it is killed. The process that made them follows.
const ownName = "weft-bench-"

const (
	penEmpty  = 10 * time.Second // until everybody has ended
	penGlance = 5 * time.Millisecond
)

// newPen makes a pen, and removes those that were left by processes that are gone, with whoever is still in them.
func newPen() (*pen, error) {
	root, err := groupRoot()
	if err != nil {
		return nil, err
	}
	sweep(root)
	path := filepath.Join(root, ownName+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &pen{path, dir}, nil
}

// groupRoot is the folder of this process's own control group, of version 2.
func groupRoot() (string, error) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return "", err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return findGroup(string(mounts), string(own))
}

// findGroup joins where control groups are mounted and which one a process is in.
func findGroup(mounts, own string) (string, error) {
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[2] != "cgroup2" {
			continue
		}
		for group := range strings.Lines(own) {
			if path, found := strings.CutPrefix(strings.TrimSpace(group), "0::/"); found {
				return filepath.Join(fields[1], path), nil
			}
		}
	}
	return "", errors.New("there are no control groups (cgroup2) here, which count the processor time; mount them")
}

// sweep ends what a run that was killed has left behind.
func sweep(root string) {
	for _, path := range orphans(root) {
		_ = (&pen{path: path}).clear() // who cannot be ended now is found by the look at the cores
	}
}

// orphans are what processes that are gone have left in a folder.
func orphans(folder string) (paths []string) {
	all, _ := filepath.Glob(filepath.Join(folder, ownName+"*"))
	for _, path := range all {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), ownName), "-")
		pid, err := strconv.Atoi(owner)
		if err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			paths = append(paths, path)
		}
	}
	return paths
}

// hold has a command run in the pen.
func (p *pen) hold(c *exec.Cmd) {
	c.SysProcAttr.UseCgroupFD, c.SysProcAttr.CgroupFD = true, int(p.dir.Fd())
}

// cpu is what everybody in the pen has used so far, in seconds.
func (p *pen) cpu() (float64, error) {
	text, err := os.ReadFile(filepath.Join(p.path, "cpu.stat"))
	if err != nil {
		return 0, err
	}
	return parseUsage(string(text))
}

func parseUsage(stat string) (seconds float64, err error) {
	for line := range strings.Lines(stat) {
		if micros, found := strings.CutPrefix(line, "usage_usec "); found {
			n, err := strconv.ParseUint(strings.TrimSpace(micros), 10, 64)
			return float64(n) / 1e6, err
		}
	}
	return 0, errors.New("the control group does not count processor time")
}

// close ends everybody in the pen, and removes it.
func (p *pen) close() error { return errors.Join(p.dir.Close(), p.clear()) }

// clear kills until nobody is left: somebody may have been about to be born.
func (p *pen) clear() error {
	for end := time.Now().Add(penEmpty); time.Now().Before(end); time.Sleep(penGlance) {
		_ = os.WriteFile(filepath.Join(p.path, "cgroup.kill"), []byte("1"), 0)
		if os.Remove(p.path) == nil {
			return nil
		}
	}
	return fmt.Errorf("processes in %s do not end", p.path)
}

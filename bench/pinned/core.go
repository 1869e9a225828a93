package pinned

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Cores picks two cores for the two sides of a measurement: the first that this process may use, and the next that is
// not the same core's other thread.
func Cores() (first, second int, err error) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return 0, 0, fmt.Errorf("which cores this process may use: %w", err)
	}
	first = -1
	for core := range len(may) * 64 {
		switch {
		case !may.IsSet(core):
		case first < 0:
			first = core
		case !siblings(first, core):
			return first, core, nil
		}
	}
	return 0, 0, errors.New("measuring needs two cores, and this process may use only one; see taskset and cpuset")
}

// siblings reports whether two CPUs are threads of one core. A machine that does not say has none.
func siblings(a, b int) bool {
	text := func(core int) string {
		t, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", core))
		if err != nil {
			return fmt.Sprint(core)
		}
		return strings.TrimSpace(string(t))
	}
	return text(a) == text(b)
}

// OnCore runs f in a thread that stays on one core. A process that f starts inherits that.
func OnCore(core int, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	only.Set(core)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("stay on core %d: %w", core, err)
	}
	return errors.Join(f(), unix.SchedSetaffinity(0, &before))
}

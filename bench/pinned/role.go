package pinned

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// roleVariable names the role in the environment of a process that has one.
const roleVariable = "WEFT_BENCH_ROLE"

// Role is the work of one process. Its main goroutine is locked to its thread, and the garbage collector is off.
type Role func(parent *Line) error

// Main runs the role that this process was started as, and exits. In a process without a role it does nothing.
func Main(roles map[string]Role) {
	name, ok := os.LookupEnv(roleVariable)
	if !ok {
		return
	}
	if err := play(name, roles); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(name string, roles map[string]Role) error {
	role := roles[name]
	if role == nil {
		return fmt.Errorf("%s=%s is no role of this program; unset it", roleVariable, name)
	}
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	parent := newLine(os.Stdin, os.Stdout, 0)
	return role(&parent)
}

// Unlocked runs f in a goroutine that may change threads, as those of most programs do: to wake one that is locked takes
// another switch of threads.
func Unlocked(f func() error) error {
	ended := make(chan error)
	go func() { ended <- f() }()
	return <-ended
}

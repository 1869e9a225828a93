package cast

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what this process has used so far, itself and the kernel for it.
func processorTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // it cannot fail for the process itself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

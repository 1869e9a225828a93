// Package yield is how those who look for something again and again, instead of sleeping until it comes, leave room for others.
package yield

import "syscall"

// Core offers the core to other processes. What a spinner waits for may be waiting for that very core, where there are
// more processes than cores; where there are not, the offer costs half a microsecond.
func Core() { _, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }

package soft

import "golang.org/x/sys/unix"

// processHandle tells whether a process has ended. The kernel lets go of a dying process's memory before it closes its
// sockets, and reports its end after that; so who finds the socket closed waits a moment for the report.
type processHandle struct{ fd int }

// lastMoment is how long, in milliseconds, a process may take from closing its sockets to its end.
const lastMoment = 1000

func watchProcess(pid int) *processHandle {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil || pid == unix.Getpid() {
		closeDescriptor(fd)
		return &processHandle{-1}
	}
	return &processHandle{fd}
}

// hasEnded reports whether the process is known to have ended. Of one that cannot be watched nothing is known.
func (p *processHandle) hasEnded() bool {
	if p.fd < 0 {
		return false
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, lastMoment)
		if err != unix.EINTR {
			return n > 0
		}
	}
}

func (p *processHandle) close() { closeDescriptor(p.fd) }

package connect

import (
	"net"
	"syscall"
)

// credentials asks the kernel who is at the other end of a Unix socket; nil: it is none.
func credentials(conn net.Conn) *Credentials {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return nil
	}
	var peer *syscall.Ucred
	failed := raw.Control(func(fd uintptr) {
		peer, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if failed != nil || err != nil {
		return nil
	}
	return &Credentials{Process: peer.Pid, User: peer.Uid, Group: peer.Gid}
}

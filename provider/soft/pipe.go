package soft

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pipe is a connected byte stream that never blocks. Both calls return how many bytes they moved, and EAGAIN if that
// is none; a read that returns less than it could has emptied the stream.
type pipe interface {
	// readv fills the pieces in their order. At the end of the stream it returns 0 and no error.
	readv(into []iovec) (int, syscall.Errno)
	writev(from []iovec) (int, syscall.Errno)
	// clean reports whether nothing of what was written still waits for room. It tries to write that.
	clean() bool
	// finish ends this side's half of the stream, behind what was written.
	finish()
	close()
}

// iovec is a piece of memory, as the kernel wants it. It is an address and no pointer: registered memory lies outside the
// Go heap, and what lies on it is kept by whoever built the list.
type iovec struct {
	base   uintptr
	length uint64
}

func iovecOf(b []byte) iovec {
	return iovec{uintptr(unsafe.Pointer(unsafe.SliceData(b))), uint64(len(b))}
}

// bytes is the memory again. Only a stream that copies needs it.
func (v iovec) bytes() []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&v.base))), v.length)
}

// sizeOf sums the lengths.
func sizeOf(list []iovec) (n uint64) {
	for i := range list {
		n += list[i].length
	}
	return n
}

// briefCall is how many bytes a system call may move without the scheduler being told: it is over before another
// processor could have taken over.
const briefCall = 64 << 10

// socket is a stream socket, in the kernel's hands alone: not in those of package net.
type socket struct {
	fd      int
	message unix.Msghdr // kept here, because a local one would be allocated
}

func (s *socket) readv(into []iovec) (int, syscall.Errno) {
	for {
		n, errno := call(unix.SYS_READV, uintptr(s.fd), uintptr(unsafe.Pointer(unsafe.SliceData(into))),
			uintptr(len(into)), sizeOf(into) > briefCall+inputSize)
		if errno != syscall.EINTR {
			return n, errno
		}
	}
}

// writev uses sendmsg, which can be asked not to raise SIGPIPE.
func (s *socket) writev(from []iovec) (int, syscall.Errno) {
	s.message.Iov = (*unix.Iovec)(unsafe.Pointer(unsafe.SliceData(from)))
	s.message.SetIovlen(len(from))
	for {
		n, errno := call(unix.SYS_SENDMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.message)),
			unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, sizeOf(from) > briefCall)
		if errno != syscall.EINTR {
			return n, errno
		}
	}
}

// call makes a system call that moves bytes. One that takes a while lets the scheduler know.
func call(trap, a, b, c uintptr, long bool) (int, syscall.Errno) {
	var n uintptr
	var errno syscall.Errno
	if long {
		n, _, errno = syscall.Syscall(trap, a, b, c)
	} else {
		n, _, errno = syscall.RawSyscall(trap, a, b, c)
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

func (s *socket) clean() bool { return true }

func (s *socket) finish() { _ = unix.Shutdown(s.fd, unix.SHUT_WR) }

func (s *socket) close() { _ = unix.Close(s.fd) }

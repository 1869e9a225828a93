package soft

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file replaces pages of memory that the process is using, without losing one of its stores: with userfaultfd, the
// kernel makes whoever stores to a page wait until the copy has taken its place. Reads go on.

// What <linux/userfaultfd.h> says.
const (
	uffdAPI            = 0xaa
	uffdUserModeOnly   = 1
	uffdFeatureWP      = 1 << 0
	uffdFeatureWPShmem = 1 << 12
	uffdModeWP         = 1 << 1
	uffdProtect        = 1 << 0
	uffdioAPI          = 0xc018aa3f
	uffdioRegister     = 0xc020aa00
	uffdioWriteProtect = 0xc018aa06
)

// openFaults returns a descriptor that can hold up stores to shared memory. Without privilege, only those of the program
// itself can wait; a system call that stores there meanwhile fails with EFAULT.
func openFaults() (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK, 0, 0)
	if errno != 0 {
		fd, _, errno = unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK|uffdUserModeOnly, 0, 0)
	}
	if errno != 0 {
		return -1, fmt.Errorf("userfaultfd: %w", errno)
	}
	api := [3]uint64{uffdAPI, uffdFeatureWP | uffdFeatureWPShmem}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, uffdioAPI, uintptr(unsafe.Pointer(&api))); errno != 0 {
		unix.Close(int(fd))
		return -1, fmt.Errorf("userfaultfd for shared memory: %w", errno)
	}
	return int(fd), nil
}

// canFreeze reports whether this kernel lets this process do it.
var canFreeze = sync.OnceValue(func() bool {
	fd, err := openFaults()
	closeDescriptor(fd)
	return err == nil
})

// replace gives the whole pages around a stretch of memory new pages of the same content, at the end of the file.
func (b *backing) replace(memory []byte, s stretch) error {
	page := uint64(os.Getpagesize())
	from := s.offset &^ (page - 1)
	length := (s.offset+s.length+page-1)&^(page-1) - from
	if err := unix.Ftruncate(b.fd, b.size+int64(length)); err != nil {
		return fmt.Errorf("a file of %d bytes more: %w", length, err)
	}
	faults, err := openFaults()
	if err != nil {
		return err
	}
	defer unix.Close(faults)
	start := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))) + from
	register := [4]uint64{start, length, uffdModeWP}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(faults), uffdioRegister, uintptr(unsafe.Pointer(&register))); errno != 0 {
		return fmt.Errorf("userfaultfd: register %d bytes: %w", length, errno)
	}
	protect := [3]uint64{start, length, uffdProtect}
	if errno := exchange(faults, &protect, b.fd, uintptr(start), uintptr(length), uintptr(b.size)); errno != 0 {
		return fmt.Errorf("exchange %d bytes: %w", length, errno)
	}
	b.free(from, length)
	b.extents = append(b.extents, extent{from, length, uint64(b.size)})
	b.size += int64(length)
	return nil
}

// exchange holds up all stores to the pages, copies them to the end of the file, and maps the copy over them.
//
// It must not be interrupted in between: whoever waits for the pages cannot be stopped, so a collector that wants to stop
// the world would wait for him, and he for this goroutine, which the collector has stopped already. A function that does
// not split the stack is not preempted, and a raw system call does not tell the scheduler.
//
//go:nosplit
func exchange(faults int, protect *[3]uint64, fd int, start, length, at uintptr) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(faults), uffdioWriteProtect, uintptr(unsafe.Pointer(protect)))
	for done := uintptr(0); errno == 0 && done < length; {
		var n uintptr
		n, _, errno = unix.RawSyscall6(unix.SYS_PWRITE64, uintptr(fd), start+done, length-done, at+done, 0, 0)
		done += n
		if n == 0 && errno == 0 {
			errno = unix.EIO
		}
	}
	if errno == 0 {
		_, _, errno = unix.RawSyscall6(unix.SYS_MMAP, start, length, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_SHARED|unix.MAP_FIXED|unix.MAP_NORESERVE, uintptr(fd), at)
	}
	if errno != 0 { // let them go on
		protect[2] = 0
		_, _, _ = unix.RawSyscall(unix.SYS_IOCTL, uintptr(faults), uffdioWriteProtect, uintptr(unsafe.Pointer(protect)))
	}
	return errno
}

// free gives the old pages of a piece back, if they lie together. Who still writes to them gets others, of its own.
func (b *backing) free(offset, length uint64) {
	for i := len(b.extents) - 1; i >= 0; i-- {
		e := b.extents[i]
		if offset >= e.offset && offset+length <= e.offset+e.length {
			_ = unix.Fallocate(b.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(e.at+offset-e.offset), int64(length))
			return
		}
		if offset < e.offset+e.length && e.offset < offset+length {
			return
		}
	}
}

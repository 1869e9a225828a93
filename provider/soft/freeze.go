package soft

import (
	"fmt"
	"os"
	"slices"
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
		closeDescriptor(int(fd))
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

// replaceAll gives everything that somebody who was put out may write to new pages. If those are too many pieces to be
// told to others, all in between gets new pages too.
func (b *backing) replaceAll(memory []byte, out []ousted) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fd < 0 {
		return nil // closed meanwhile: there is nothing left to save
	}
	pieces := make([]stretch, 0, len(out))
	for _, o := range out {
		pieces = append(pieces, o.named)
	}
	if len(b.extents)+len(pieces) > maxExtents {
		pieces = []stretch{{length: uint64(len(memory))}}
	}
	for _, s := range pieces {
		if err := b.replace(memory, s); err != nil {
			return err
		}
	}
	return nil
}

// replace gives the whole pages around a stretch of memory new pages of the same content, at the end of the file.
func (b *backing) replace(memory []byte, s stretch) error {
	page := uint64(os.Getpagesize())
	from := s.offset &^ (page - 1)
	length := (s.offset+s.length+page-1)&^(page-1) - from
	at := uint64(b.size)
	if err := unix.Ftruncate(b.fd, b.size+int64(length)); err != nil {
		return fmt.Errorf("a file of %d bytes more: %w", length, err)
	}
	b.size += int64(length)
	faults, err := openFaults()
	if err != nil {
		return err
	}
	start := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))) + from
	register := [4]uint64{start, length, uffdModeWP}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(faults), uffdioRegister, uintptr(unsafe.Pointer(&register))); errno != 0 {
		closeDescriptor(faults)
		return fmt.Errorf("userfaultfd: register %d bytes: %w", length, errno)
	}
	protect := [3]uint64{start, length, uffdProtect}
	if errno := exchange(faults, &protect, b.fd, uintptr(start), uintptr(length), uintptr(at)); errno != 0 {
		return fmt.Errorf("exchange %d bytes: %w", length, errno)
	}
	b.free(from, length)
	b.addExtent(extent{from, length, at})
	return nil
}

// addExtent notes where pages lie now, and forgets those that it hides. The first extent is all of the memory and stays.
func (b *backing) addExtent(e extent) {
	b.extents = append(slices.DeleteFunc(b.extents, func(old extent) bool {
		return old != b.extents[0] && old.offset >= e.offset && old.offset+old.length <= e.offset+e.length
	}), e)
}

// exchange holds up all stores to the pages, copies them to the end of the file, maps the copy over them, and closes
// faults, which lets those who wait go on, whatever has happened.
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
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(faults), 0, 0)
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

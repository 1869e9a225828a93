package soft

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// newMemfd makes a nameless file of zeros in memory that can never shrink: whoever maps it will not find it truncated.
func newMemfd(name string, size int64) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, fmt.Errorf("memfd_create: %w%s", err, descriptorHint(err))
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("memfd of %d bytes: %w", size, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("seal a memfd: %w", err)
	}
	return fd, nil
}

// cannotShrink reports whether a file is sealed so that its pages stay.
func cannotShrink(fd int) bool {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	return err == nil && seals&unix.F_SEAL_SHRINK != 0
}

// mapShared maps a piece of a file for reading and writing. Pages that are never touched cost nothing.
func mapShared(fd int, offset int64, size int) ([]byte, error) {
	b, err := unix.Mmap(fd, offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	return b, nil
}

// descriptorHint says what to do when file descriptors have run out.
func descriptorHint(err error) string {
	if err == unix.EMFILE || err == unix.ENFILE {
		return " (raise the limit of open files: ulimit -n)"
	}
	return ""
}

// wholePages rounds a size up to whole pages.
func wholePages(size int) int {
	page := os.Getpagesize()
	return (size + page - 1) / page * page
}

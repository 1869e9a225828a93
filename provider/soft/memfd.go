package soft

import (
	"errors"
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
		closeDescriptor(fd)
		return -1, fmt.Errorf("memfd of %d bytes: %w", size, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		closeDescriptor(fd)
		return -1, fmt.Errorf("seal a memfd: %w", err)
	}
	return fd, nil
}

// checkFile reports what is wrong with a neighbour's file that must hold size bytes for ever: whoever touches a page that
// is not there dies. Only memory files can be sealed; of those, huge pages may run out.
func checkFile(fd int, size uint64) error {
	var stat unix.Stat_t
	var system unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, &stat), unix.Fstatfs(fd, &system)); err != nil {
		return err
	}
	switch {
	case !cannotShrink(fd):
		return errNotSealed
	case system.Type != unix.TMPFS_MAGIC:
		return fmt.Errorf("a neighbour's memory is a file of kind %#x, not a plain memfd", system.Type)
	case stat.Size < 0 || uint64(stat.Size) < size:
		return fmt.Errorf("a neighbour's memory is a file of %d bytes, and should have %d", stat.Size, size)
	}
	return nil
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
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return " (raise the limit of open files: ulimit -n)"
	}
	return ""
}

// wholePages rounds a size up to whole pages.
func wholePages(size int) int {
	page := os.Getpagesize()
	return (size + page - 1) / page * page
}

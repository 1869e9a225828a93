package target

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// How paths are resolved. An entry's never follows a link.
const (
	entryResolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS
	destResolve  = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS
	wholeResolve = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS // for the root /, where absolute links lead below it
)

// openBelow opens a path below a directory; the kernel sees to it that it stays there.
func openBelow(dir *os.File, path string, flags int, resolve uint64) (*os.File, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve}
	for range 1000 { // EAGAIN: something was renamed meanwhile, and the kernel cannot be sure
		fd, err := unix.Openat2(int(dir.Fd()), path, &how)
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return nil, err
		}
	}
	return nil, unix.EAGAIN
}

// openEntry opens what an entry names, to read.
func openEntry(dir *os.File, path string) (*os.File, error) {
	// A pipe that somebody put there must not hold us up.
	return openBelow(dir, path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, entryResolve)
}

// openPath opens a directory that entries are in, as a path only.
func openPath(dir *os.File, path string) (*os.File, error) {
	return openBelow(dir, path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, entryResolve)
}

// statAt is fstatat of a name in a directory; links are not followed.
func statAt(dir *os.File, name string) (unix.Stat_t, error) {
	var s unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), name, &s, unix.AT_SYMLINK_NOFOLLOW)
	return s, err
}

func statFile(f *os.File) (unix.Stat_t, error) {
	var s unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &s)
	return s, err
}

func statOf(info fs.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func isKind(s *unix.Stat_t, kind uint32) bool { return s.Mode&unix.S_IFMT == kind }

// drop closes what was only read or found, where nothing can be lost.
func drop(c io.Closer) { _ = c.Close() }

// folders finds the folders of entries below DEST. The last one stays open, or is known not to be there: entries come in walk order.
type folders struct {
	dest   *os.File
	path   string
	last   *os.File
	failed error // to open it
}

// of returns the folder of a path, open as a path only, and the name in it.
func (f *folders) of(path string) (dir *os.File, name string, err error) {
	parent, name := split(path)
	if parent == "" {
		return f.dest, name, nil
	}
	if f.path != parent {
		f.close()
		f.path = parent
		f.last, f.failed = openPath(f.dest, parent)
	}
	return f.last, name, f.failed
}

func (f *folders) close() {
	if f.last != nil {
		drop(f.last)
	}
	f.path, f.last = "", nil
}

func split(path string) (parent, name string) {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[:i], path[i+1:]
		}
	}
	return "", path
}

package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// root is a directory below which files of the source are opened, and never elsewhere: symbolic links are not followed.
//
// An entry's path at the receiver is top, or top/rest, or (with an empty top) just rest. Here it is name/rest below the directory.
type root struct {
	fd     int
	shared bool   // the descriptor is that of an earlier root
	given  string // as the user wrote it
	top    string // name at the receiver; empty: the contents of the directory are sent
	name   string // of the file below the directory; empty: the directory itself is sent
}

// openRoots opens what the user has named.
func openRoots(paths []string) ([]*root, error) {
	if len(paths) == 0 {
		return nil, errors.New("nothing to push: name a file or a directory")
	}
	var roots []*root
	parents := make(map[string]int) // directories of single files, which many sources may share
	for _, path := range paths {
		r, err := openRoot(path, parents)
		if err != nil {
			closeRoots(roots)
			return nil, err
		}
		roots = append(roots, r)
	}
	return roots, nil
}

func openRoot(path string, parents map[string]int) (*root, error) {
	if path == "" {
		return nil, &Error{Path: path, Reason: ErrMissing}
	}
	real, err := filepath.EvalSymlinks(withoutSlash(path))
	if err != nil {
		return nil, named(path, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, named(path, err)
	}
	contents := isContents(path)
	if contents && !info.IsDir() {
		return nil, &Error{Path: path, Reason: ErrMissing, Detail: "a slash at the end asks for a directory, and this is none"}
	}
	r := &root{given: path, fd: -1}
	if !contents {
		if r.top, err = topName(path); err != nil {
			return nil, named(path, err)
		}
	}
	directory := real
	if !info.IsDir() {
		directory, r.name = filepath.Dir(real), filepath.Base(real)
		if fd, ok := parents[directory]; ok {
			r.fd, r.shared = fd, true
			return r, nil
		}
	}
	if r.fd, err = openAt(unix.AT_FDCWD, directory, unix.O_DIRECTORY|unix.O_RDONLY); err != nil {
		return nil, named(path, err)
	}
	if r.name != "" {
		parents[directory] = r.fd
	}
	return r, nil
}

// isContents reports whether a path stands for what is in a directory.
func isContents(path string) bool {
	return path == "." || strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.")
}

// withoutSlash is a path without the slashes behind it, which would make another error of a file.
func withoutSlash(path string) string {
	if plain := strings.TrimRight(path, "/"); plain != "" {
		return plain
	}
	return "/"
}

// topName is the name of a source at the receiver. That of ".." is known by its place only.
func topName(path string) (string, error) {
	if base := filepath.Base(path); base != ".." {
		return base, nil
	}
	absolute, err := filepath.Abs(path)
	return filepath.Base(absolute), err
}

// below is where an entry lies below the directory of its root.
func (r *root) below(entry string) string {
	if r.top == "" {
		return entry
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(entry, r.top), "/")
	switch {
	case r.name != "":
		return r.name
	case rest == "":
		return "."
	}
	return rest
}

// path is where an entry lies, for people.
func (r *root) path(entry string) string {
	if r.name != "" {
		return r.given
	}
	rest := r.below(entry)
	if rest == "." || rest == "" {
		return r.given
	}
	return strings.TrimRight(r.given, "/") + "/" + rest
}

// open opens an entry.
func (r *root) open(entry string, flags int) (int, error) {
	return openBeneath(r.fd, r.below(entry), flags)
}

// openBeneath opens a path below a directory, and follows no symbolic link on the way.
func openBeneath(directory int, path string, flags int) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | safely),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := again(func() (int, error) { return unix.Openat2(directory, path, &how) })
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // old kernels, and sandboxes that do not know the call
		return openStepwise(directory, path, flags)
	}
	return fd, err
}

// openStepwise does the same one name at a time.
func openStepwise(directory int, path string, flags int) (int, error) {
	at := directory
	for {
		name, rest, more := strings.Cut(path, "/")
		step := flags
		if more {
			step = unix.O_PATH | unix.O_DIRECTORY
		}
		fd, err := openAt(at, name, step|unix.O_NOFOLLOW)
		if at != directory {
			shut(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at, path = fd, rest
	}
}

// safely: what has become a pipe or a terminal must not hold us up.
const safely = unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_NOFOLLOW

func openAt(directory int, path string, flags int) (int, error) {
	return again(func() (int, error) { return unix.Openat(directory, path, flags|safely&^unix.O_NOFOLLOW, 0) })
}

// again repeats what a signal has interrupted.
func again[T any](call func() (T, error)) (T, error) {
	for {
		if result, err := call(); !errors.Is(err, unix.EINTR) {
			return result, err
		}
	}
}

// shut closes what was only read: nothing can be lost.
func shut(fd int) { _ = unix.Close(fd) }

func closeRoots(roots []*root) {
	for _, r := range roots {
		if !r.shared {
			shut(r.fd)
		}
	}
}

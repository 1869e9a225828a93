package target

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// isClosed reports whether the mode of a file of our own keeps us from reading it: a push may have given it that mode.
func isClosed(s *unix.Stat_t) bool {
	user := os.Geteuid()
	return user != 0 && s.Uid == uint32(user) && s.Mode&unix.S_IRUSR == 0
}

// openThere opens a file in place, to read, also one that is closed to us. Who only compares changes nothing, not for a moment.
func (d *Delivery) openThere(dir *os.File, path string) (*os.File, error) {
	f, refused := openEntry(dir, path)
	if !errors.Is(refused, unix.EACCES) || d.order.Verify {
		return f, refused
	}
	at, err := openBelow(dir, path, unix.O_PATH|unix.O_NOFOLLOW, entryResolve)
	if err != nil {
		return nil, err
	}
	defer drop(at)
	d.unlocking.Lock() // or another would take the mode of the moment for that of the file
	defer d.unlocking.Unlock()
	there, err := statFile(at)
	if err != nil || !isKind(&there, unix.S_IFREG) || !isClosed(&there) {
		return nil, errors.Join(err, refused)
	}
	return d.unlock(at, &there)
}

// unlock opens a file that is closed to us: it has the right for as long as that takes. Its ctime changes thereby, and not its content.
func (d *Delivery) unlock(at *os.File, there *unix.Stat_t) (*os.File, error) {
	// A path only cannot be changed, but by its name in /proc, which leads nowhere else.
	name, mode := fmt.Sprintf("/proc/self/fd/%d", at.Fd()), there.Mode&0o7777
	if err := unix.Chmod(name, mode|unix.S_IRUSR); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err = errors.Join(err, unix.Chmod(name, mode)); err != nil {
		return nil, closing(err, f)
	}
	after, err := statFile(f)
	if err == nil {
		err = d.links.note(there, &after)
	}
	if err != nil {
		return nil, closing(err, f)
	}
	return f, nil
}

// closing closes what is of no use.
func closing(err error, f *os.File) error {
	if f != nil {
		drop(f)
	}
	return err
}

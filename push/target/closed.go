package target

import (
	"errors"
	"fmt"
	"os"
	"slices"

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

// admitted is a directory that was closed to us, and is open for the time of a delivery.
type admitted struct {
	path  string // below DEST
	inode inode
	mode  uint32 // that it had
}

// ownerRights are what it takes to place files in a directory.
const ownerRights = 0o700

// admit sees to it that files can be placed in a directory that is there. A user's own may be closed to it: then it says how that was.
func admit(dir *os.File, name, path string) (*admitted, error) {
	s, err := statAt(dir, name)
	if err != nil {
		return nil, err
	}
	if !isKind(&s, unix.S_IFDIR) {
		return nil, unix.ENOTDIR
	}
	if user := os.Geteuid(); user == 0 || s.Uid != uint32(user) || s.Mode&ownerRights == ownerRights {
		return nil, nil //nolint:nilnil // it is open
	}
	f, err := openPath(dir, name)
	if err != nil {
		return nil, err
	}
	defer drop(f)
	if s, err = statFile(f); err != nil {
		return nil, err
	}
	was := &admitted{path, stampOf(&s).Inode, s.Mode & 0o7777}
	return was, chmodPath(f, was.mode|ownerRights)
}

// chmodPath changes what is open as a path only. That can be done by its name in /proc, which leads nowhere else.
func chmodPath(f *os.File, mode uint32) error {
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), mode)
}

// restore gives a directory the mode that it had, unless it has got another one meanwhile, or is another one.
func (a *admitted) restore(dest *os.File) error {
	f, err := openPath(dest, a.path)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer drop(f)
	s, err := statFile(f)
	if err != nil || stampOf(&s).Inode != a.inode || s.Mode&0o1777 != a.mode&0o1777|ownerRights { // setgid may be lost
		return err
	}
	return chmodPath(f, a.mode)
}

// closeAgain closes the directories that the survey has opened: those within others first.
func (d *Delivery) closeAgain() error {
	var errs []error
	for _, was := range slices.Backward(d.admitted) {
		errs = append(errs, explain(was.restore(d.place.dir), "close", d.place.shown(was.path)))
	}
	return errors.Join(errs...)
}

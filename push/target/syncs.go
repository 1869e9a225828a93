package target

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncs makes durable what was written: the kernel does, and tests look on.
type syncs interface {
	file(f *os.File) error         // its content and metadata; of a directory, the names in it
	filesystem(dir *os.File) error // all of the one that it is in
}

// kernel is what an agent asks.
type kernel struct{}

func (kernel) file(f *os.File) error         { return f.Sync() }
func (kernel) filesystem(dir *os.File) error { return unix.Syncfs(int(dir.Fd())) }

// syncFolder makes what was named in a directory durable.
func syncFolder(s syncs, dir *os.File) error {
	f, err := openBelow(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, entryResolve)
	if err != nil {
		return err
	}
	return errors.Join(s.file(f), f.Close())
}

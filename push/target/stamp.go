package target

import (
	"time"

	"golang.org/x/sys/unix"
)

// inode is a file, whatever its names are.
type inode struct{ Dev, Ino uint64 }

// stamp is a file at a moment. Whatever changes it, or its names, changes its ctime, which nobody can set. It is compared and not ordered: the
// clock may be set back. Who writes through a mapping of the file may be seen late. The mtime tells who has written to it from what we
// ourselves have done to its names and its mode, in the same tick of the clock perhaps.
type stamp struct {
	Inode inode
	Ctime int64 // nanoseconds
	Mtime int64
}

func stampOf(s *unix.Stat_t) stamp { return stamp{inode{s.Dev, s.Ino}, s.Ctim.Nano(), s.Mtim.Nano()} }

// How coarse the clocks of files are: a tick of the kernel, with room to spare, and that of filesystems which know no parts of a second.
const (
	fileTick   = 20 * time.Millisecond
	coarseTick = 2 * time.Second
)

// unsettled is how long a file must still be left alone until whatever changes it next gives it another ctime. One of the future has it
// from another clock, and is not waited for.
func unsettled(s *unix.Stat_t, now time.Time) time.Duration {
	tick := fileTick
	if s.Ctim.Nsec == 0 {
		tick = coarseTick
	}
	age := now.Sub(time.Unix(s.Ctim.Unix()))
	if age < 0 {
		return 0
	}
	return max(tick-age, 0)
}

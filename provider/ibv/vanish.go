package ibv

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lookForDevice is how often the watcher looks whether the device is still there: a removed one is found within this.
const lookForDevice = 500 * time.Millisecond

// footprint is what the kernel shows of a device that programs can use. When a device is removed, this goes first. A driver that can take a
// device from under its users then says so by an event. Others (rxe) say nothing, and whoever removes the device waits until the last
// user has let go of it.
type footprint struct {
	path  string
	inode uint64 // the next device may get the same name
}

// footprintOf finds the footprint of the device that is used through a file such as /dev/infiniband/uverbs0.
func footprintOf(file string) footprint {
	f := footprint{path: filepath.Join("/sys/class/infiniband_verbs", filepath.Base(file))}
	f.inode, _ = f.look() // of a device that cannot be seen now, nothing can be learnt later
	return f
}

// isGone reports whether the device was removed.
func (f footprint) isGone() bool {
	inode, known := f.look()
	return f.inode != 0 && known && inode != f.inode
}

// look returns which device is there, 0 for none. Known is false if the kernel does not tell.
func (f footprint) look() (inode uint64, known bool) {
	info, err := os.Stat(f.path)
	if err != nil {
		return 0, os.IsNotExist(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino, true
}

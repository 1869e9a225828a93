package target

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// metadata is what an entry has beside its content.
type metadata struct {
	mode     uint32
	uid, gid uint32
	time     int64 // nanoseconds
	owner    bool  // uid and gid count
}

// metadataOf is what is to be set: nothing that gives rights to others unless it is asked for.
func (d *Delivery) metadataOf(e *manifest.Entry) metadata {
	m := metadata{e.Mode & 0o777, e.UID, e.GID, e.ModTime, d.order.Preserve && os.Geteuid() == 0}
	if d.order.Preserve {
		m.mode = e.Mode & 0o7777
	}
	return m
}

// apply sets what is not so already. It is told what is there, and says whether anything had to be done.
func (m *metadata) apply(f *os.File, there *unix.Stat_t) (changed bool, err error) {
	fd := int(f.Fd())
	mode := there.Mode & 0o7777
	if m.owner && (there.Uid != m.uid || there.Gid != m.gid) {
		if err := unix.Fchown(fd, int(m.uid), int(m.gid)); err != nil {
			return true, err
		}
		changed, mode = true, ^uint32(0) // a new owner takes setuid away
	}
	if mode != m.mode {
		if err := unix.Fchmod(fd, m.mode); err != nil {
			return true, err
		}
		changed = true
	}
	if there.Mtim.Nano() != m.time {
		return true, unix.UtimesNanoAt(fd, "", m.times(), unix.AT_EMPTY_PATH)
	}
	return changed, nil
}

// applyLink sets what a symbolic link has.
func (m *metadata) applyLink(dir *os.File, name string) error {
	if m.owner {
		if err := unix.Fchownat(int(dir.Fd()), name, int(m.uid), int(m.gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	return unix.UtimesNanoAt(int(dir.Fd()), name, m.times(), unix.AT_SYMLINK_NOFOLLOW)
}

// times leaves the time of the last access alone.
func (m *metadata) times() []unix.Timespec {
	return []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(m.time)}
}

package target

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// metadata is what an entry has beside its content.
type metadata struct {
	mode     uint32
	keeps    uint32 // bits of the mode that stay as they are
	uid, gid uint32
	time     int64 // nanoseconds
	owner    bool  // uid and gid count
}

// metadataOf is what is to be set: nothing that gives rights to others unless it is asked for.
func (d *Delivery) metadataOf(e *manifest.Entry) metadata {
	m := metadata{mode: e.Mode & d.given(), uid: e.UID, gid: e.GID, time: e.ModTime, owner: d.givesOwners()}
	if e.Kind == manifest.Directory { // to whom it gives rights is a matter of the host, as long as the push does not say it
		m.keeps = 0o7777 &^ d.given()
	}
	return m
}

// given are the bits of modes that a push gives.
func (d *Delivery) given() uint32 {
	switch {
	case d.givesOwners():
		return 0o7777
	case d.order.Preserve: // who runs a file would else get the rights of this process's user, who is not the one that was meant
		return 0o1777
	}
	return 0o777
}

// modeFor is the mode that what is there is to have.
func (m *metadata) modeFor(there *unix.Stat_t) uint32 { return m.mode | there.Mode&m.keeps }

// apply sets what is not so already. It is told what is there.
func (m *metadata) apply(f *os.File, there *unix.Stat_t) error {
	fd := int(f.Fd())
	mode := there.Mode & 0o7777
	if m.owner && (there.Uid != m.uid || there.Gid != m.gid) {
		if err := unix.Fchown(fd, int(m.uid), int(m.gid)); err != nil {
			return err
		}
		mode = ^uint32(0) // a new owner takes setuid away
	}
	if want := m.modeFor(there); mode != want {
		if err := unix.Fchmod(fd, want); err != nil {
			return err
		}
	}
	if there.Mtim.Nano() != m.time {
		return m.applyTime(fd)
	}
	return nil
}

func (m *metadata) applyTime(fd int) error {
	return unix.UtimesNanoAt(fd, "", m.times(), unix.AT_EMPTY_PATH)
}

// isSo reports whether nothing has to be set.
func (m *metadata) isSo(there *unix.Stat_t) bool {
	return there.Mode&0o7777 == m.modeFor(there) && there.Mtim.Nano() == m.time && (!m.owner || there.Uid == m.uid && there.Gid == m.gid)
}

// whileWritten is the mode with which a file may be made before it is placed: its own, if the agent can still read and write it, and it gives
// nobody the rights of its owner.
func (m *metadata) whileWritten() uint32 {
	if m.mode&^0o777 == 0 && m.mode&privateMode == privateMode {
		return m.mode
	}
	return privateMode
}

// isSoOfLink is isSo for a symbolic link, whose mode says nothing.
func (m *metadata) isSoOfLink(there *unix.Stat_t) bool {
	of := *m
	of.mode = there.Mode & 0o7777
	return of.isSo(there)
}

// keepOwner is for a copy: unless an owner is to be set it has that of the original, if this process may give files away.
func (m *metadata) keepOwner(there *unix.Stat_t) {
	if !m.owner && os.Geteuid() == 0 {
		m.owner, m.uid, m.gid = true, there.Uid, there.Gid
	}
}

// applyLink sets what a symbolic link has: the one of a name in a directory or, without a name, the one that is open.
func (m *metadata) applyLink(dir *os.File, name string) error {
	if m.owner {
		if err := unix.Fchownat(int(dir.Fd()), name, int(m.uid), int(m.gid), linkItself); err != nil {
			return err
		}
	}
	return unix.UtimesNanoAt(int(dir.Fd()), name, m.times(), linkItself)
}

const linkItself = unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH

// times leaves the time of the last access alone.
func (m *metadata) times() []unix.Timespec {
	return []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(m.time)}
}

package host

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
)

// holder names a resolver among those of the directory. It is drawn when the resolver opens.
type holder [16]byte

func (h holder) file() string { return holderPrefix + hex.EncodeToString(h[:]) }

// A holder file: what it is, up to when the lease runs (8), and whose it is, for people (8).
const (
	holderMagic = "weftHOL1"
	atEnd       = 8
	atProcess   = 16
	holderSize  = 24
)

// moment is a time of CLOCK_MONOTONIC, which is the same for all processes of the host.
type moment int64

func now() moment {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(fmt.Sprintf("host: CLOCK_MONOTONIC: %v", err)) // Linux has it
	}
	return moment(t.Nano())
}

// real is the moment by clock.Real, or a little before.
func (m moment) real() clock.Time {
	before := clock.Real.Now()
	return before.Add(time.Duration(m - now()))
}

// lease is one's own holder file: open and locked for as long as the process lives.
type lease struct {
	dir    *directory
	holder holder
	file   *os.File
	length time.Duration
	end    moment // up to when it surely runs. The file may say a later end, which was written too late to be sure of
}

// newLease makes a holder file. It is locked before others can see it. The caller has the directory's lock.
func newLease(dir *directory, length time.Duration) (*lease, error) {
	l := &lease{dir: dir, length: length, end: now() + moment(length)}
	_, _ = rand.Read(l.holder[:]) // crypto/rand never fails: it ends the process instead
	b := append([]byte(holderMagic), make([]byte, holderSize-len(holderMagic))...)
	binary.BigEndian.PutUint64(b[atEnd:], uint64(l.end))
	binary.BigEndian.PutUint64(b[atProcess:], uint64(os.Getpid()))
	if err := dir.write(newFile+"-holder", b); err != nil {
		return nil, err
	}
	var err error
	if l.file, err = dir.open(newFile+"-holder", os.O_RDWR); err != nil {
		return nil, err
	}
	if err = flock(l.file, syscall.LOCK_EX); err == nil {
		err = os.Rename(l.file.Name(), dir.join(l.holder.file()))
	}
	if err != nil {
		_ = l.file.Close()
		return nil, err
	}
	return l, nil
}

// renew writes a new end. Sure is whether nobody can have found the lease run out: then it holds. Otherwise the directory's lock
// is needed, to learn what has been taken over.
func (l *lease) renew() (sure bool, err error) {
	old, end := l.end, now()+moment(l.length)
	if err := l.write(end); err != nil {
		return false, err
	}
	if now() >= old {
		return false, nil
	}
	l.end = end
	return true, nil
}

// renewLocked is renew for who has the directory's lock: while he has it nobody takes anything over. Sure is whether nobody
// can have before.
func (l *lease) renewLocked() (sure bool, err error) {
	start := now()
	if err := l.write(start + moment(l.length)); err != nil {
		return false, err
	}
	sure = start < l.end
	l.end = start + moment(l.length)
	return sure, nil
}

// errRemoved is a holder file that somebody has removed: nobody sees that we live.
var errRemoved = errors.New("the directory of services was removed")

func (l *lease) write(end moment) error {
	if _, err := l.file.WriteAt(binary.BigEndian.AppendUint64(nil, uint64(end)), atEnd); err != nil {
		return err
	}
	info, err := l.file.Stat()
	if err == nil && info.Sys().(*syscall.Stat_t).Nlink == 0 {
		return errRemoved
	}
	return err
}

// close gives the lease up: everybody can see that the holder is gone.
func (l *lease) close() error {
	return errors.Join(l.dir.remove(l.holder.file()), l.file.Close())
}

// dead reports whether the process of a holder has ended: nobody locks its file, or it is gone.
func (d *directory) dead(h holder) bool {
	file, err := d.open(h.file(), os.O_RDONLY)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = file.Close() }()
	return flock(file, syscall.LOCK_SH) == nil
}

// expired reports whether a holder's lease has run out. A file that is not one promises nothing.
func (d *directory) expired(h holder) bool {
	b, err := d.read(h.file(), holderSize)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if len(b) != holderSize || string(b[:len(holderMagic)]) != holderMagic {
		d.report(h.file(), fmt.Errorf("it does not begin with %q", holderMagic))
		return true
	}
	return now() >= moment(binary.BigEndian.Uint64(b[atEnd:]))
}

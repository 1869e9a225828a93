package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
)

// What the files of a directory are called. Those of services are called as fileOf says.
const (
	lockFile     = "lock"    // holds the highest epoch that was given here
	holderPrefix = "holder-" // and the holder, in hexadecimal digits
	newFile      = ".new"    // what is being written, under the lock
)

const (
	maxFiles    = 1 << 16
	lockTimeout = 5 * time.Second
)

// directory is where the processes meet. Its methods may be called from any goroutine; those that write need the lock.
type directory struct {
	path string
	log  *slog.Logger

	mu       sync.Mutex
	reported map[string]bool // files that the log was told of
}

func defaultDir() string {
	base := "/dev/shm"
	if info, err := os.Stat(base); err != nil || !info.IsDir() {
		base = os.TempDir()
	}
	return filepath.Join(base, "weft-"+strconv.Itoa(os.Getuid()))
}

// openDirectory makes the directory if it is not there. Others must not be able to write to it: they could claim for us.
func openDirectory(path string, log *slog.Logger) (*directory, error) {
	switch err := os.Mkdir(path, 0o700); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: it can be made only in a directory that is there", err)
	case err != nil && !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	switch {
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a directory", path)
	case owner != os.Getuid():
		return nil, fmt.Errorf("%s belongs to user %d, not to %d: remove it, or name another directory", path, owner, os.Getuid())
	case info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("%s can be written to by others (mode %#o): name one that only you can enter (chmod 0700), or that is not there yet", path, info.Mode().Perm())
	}
	return &directory{path: path, log: log, reported: map[string]bool{}}, nil
}

func (d *directory) join(name string) string { return filepath.Join(d.path, name) }

// open opens a file of the directory. It follows no link.
func (d *directory) open(name string, flags int) (*os.File, error) {
	return os.OpenFile(d.join(name), flags|syscall.O_NOFOLLOW, 0o600)
}

// lock waits until nobody else writes here. The file is opened anew each time, so that goroutines exclude each other too.
func (d *directory) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	file, err := d.open(lockFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 5*time.Millisecond) {
		err := flock(file, syscall.LOCK_EX)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = kept(pause.For(ctx, wait))
		}
		if err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
		}
	}
}

// kept is why nobody waits for a lock any longer, or nil.
func kept(err error) error {
	if err != nil {
		return fmt.Errorf("another process keeps it; is one stopped (state T)? %w", err)
	}
	return nil
}

// flock takes a lock, or fails with EWOULDBLOCK. It is released when the file is closed.
func flock(file *os.File, how int) error {
	for {
		if err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// nextEpoch is higher than any that was given in this directory, and at least so high. By the wall clock it is also higher
// than one of a directory that was lost. The caller has the lock.
func (d *directory) nextEpoch(atLeast uint64) (uint64, error) {
	file, err := d.open(lockFile, os.O_RDWR)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	var last [8]byte
	if _, err := file.ReadAt(last[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	epoch := max(binary.BigEndian.Uint64(last[:])+1, uint64(time.Now().UnixNano()), atLeast)
	_, err = file.WriteAt(binary.BigEndian.AppendUint64(nil, epoch), 0)
	return epoch, err
}

// read reads a file of at most limit bytes. One that does not exist, or is not this user's, is fs.ErrNotExist.
func (d *directory) read(name string, limit int) ([]byte, error) {
	file, err := d.open(name, os.O_RDONLY|syscall.O_NONBLOCK) // a pipe must not hold us up
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() {
		return nil, fmt.Errorf("%s is not a file of this user's: %w", name, fs.ErrNotExist)
	}
	b, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err == nil && len(b) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return b, err
}

// write makes a file, or replaces it: who reads sees the old or the new one. The caller has the lock.
func (d *directory) write(name string, b []byte) error {
	if err := os.WriteFile(d.join(newFile), b, 0o600); err != nil {
		return err
	}
	return os.Rename(d.join(newFile), d.join(name))
}

func (d *directory) remove(name string) error {
	err := os.Remove(d.join(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// names returns the files of the directory whose names begin so; if there are too many files, not all of them, and an error.
func (d *directory) names(prefix string) (names []string, err error) {
	file, err := os.Open(d.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	all, err := file.Readdirnames(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for _, name := range all {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	if len(all) > maxFiles {
		return names, fmt.Errorf("%s has more than %d files: remove those that do not belong there", d.path, maxFiles)
	}
	return names, nil
}

// report tells the log of a file that is ignored, once.
func (d *directory) report(name string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reported[name] || len(d.reported) >= maxFiles {
		return
	}
	d.reported[name] = true
	d.log.Warn("a file that is no record of a service is ignored", "file", d.join(name), "error", err)
}

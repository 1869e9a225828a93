package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
)

// listenFile opens a Unix socket at path. Its file outlives a process that is killed, and then stands in the way: one
// that nobody answers at is replaced. The directory is locked meanwhile, because between bind and listen a socket looks
// dead, and two that start at once must not take each other's away.
func listenFile(ctx context.Context, path string) (net.Listener, func(), error) {
	unlock, err := lockDirectory(ctx, filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	if err := clearStale(ctx, path); err != nil {
		return nil, nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, nil, err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	mine, err := os.Lstat(path)
	if err != nil {
		return nil, nil, errors.Join(err, listener.Close())
	}
	return listener, func() { removeOwn(path, mine) }, nil
}

// clearStale removes the socket of a process that is gone. It fails if one answers, or if the file is something else.
func clearStale(ctx context.Context, path string) error {
	file, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if file.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%w: the file is no socket; remove it, or choose another path", syscall.EADDRINUSE)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = conn.Close()
		return fmt.Errorf("%w: stop the process that listens there, or choose another path", syscall.EADDRINUSE)
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	}
	return fmt.Errorf("find out whether the socket is alive: %w", err)
}

// removeOwn takes the file away unless somebody has put another one there. It is called while the socket still answers,
// so that no starting process takes it for dead.
func removeOwn(path string, mine os.FileInfo) {
	if now, err := os.Lstat(path); err == nil && os.SameFile(now, mine) {
		_ = os.Remove(path)
	}
}

// lockDirectory keeps other listeners of this package out until the returned function is called. A lock on the directory
// itself leaves no file behind, and ends with the process.
func lockDirectory(ctx context.Context, path string) (func(), error) {
	directory, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(directory.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = directory.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || pause.For(ctx, 5*time.Millisecond) != nil {
			return nil, errors.Join(fmt.Errorf("lock directory %s: %w", path, err), directory.Close())
		}
	}
}

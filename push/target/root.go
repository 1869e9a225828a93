package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Names below the root.
const (
	weftFolder    = ".weft"
	partialFolder = "partial"
)

// Root is the directory below which everything is that pushes may touch. It is safe for concurrent use.
type Root struct {
	given string   // as the caller named it, absolute
	dir   string   // where that leads
	at    *os.File // dir
	tree  *os.Root // dir
	syncs syncs

	examiners chan []byte // memory of those who hash

	mutex  sync.Mutex
	claims map[*claim]struct{}
}

// OpenRoot opens a directory for pushes. It creates nothing.
func OpenRoot(dir string) (*Root, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("root %q: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	r := &Root{given: given, dir: real, syncs: kernel{}, examiners: newExaminers(), claims: make(map[*claim]struct{})}
	if err := r.open(); err != nil {
		return nil, fmt.Errorf("root %q: %w", dir, err)
	}
	return r, nil
}

func (r *Root) open() (err error) {
	if r.at, err = os.OpenFile(r.dir, unix.O_DIRECTORY, 0); err != nil {
		return err
	}
	probe, err := openBelow(r.at, ".", unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_BENEATH)
	if err != nil {
		return errors.Join(fmt.Errorf("openat2, which needs Linux 5.6: %w", err), r.at.Close())
	}
	if r.tree, err = os.OpenRoot(r.dir); err != nil {
		return errors.Join(err, probe.Close(), r.at.Close())
	}
	return probe.Close()
}

// Close closes the root; its deliveries must have ended.
func (r *Root) Close() error { return errors.Join(r.tree.Close(), r.at.Close()) }

// Free is how many bytes a push may take.
func (r *Root) Free() (uint64, error) { return freeAt(r.at) }

func freeAt(dir *os.File) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &s); err != nil {
		return 0, fmt.Errorf("free space: %w", err)
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// partials opens the folder of partials; fs.ErrNotExist if there is none and it is not to be made.
func (r *Root) partials(create bool) (*os.Root, error) {
	weft, err := openFolder(r.tree, weftFolder, create)
	if err != nil {
		return nil, err
	}
	defer drop(weft)
	return openFolder(weft, partialFolder, create)
}

// openFolder opens a folder of ours. It believes only in a directory that belongs to this process and that nobody else can enter:
// who may write to the root could have put another one there, or a link.
func openFolder(in *os.Root, name string, create bool) (*os.Root, error) {
	if create {
		if err := in.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, explain(err, "create folder", filepath.Join(in.Name(), name))
		}
	}
	folder, err := in.OpenRoot(name)
	if err != nil {
		return nil, explain(err, "open folder", filepath.Join(in.Name(), name))
	}
	if err := checkOurs(in, folder, name); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}

func checkOurs(in, folder *os.Root, name string) error {
	there, err := in.Lstat(name)
	if err != nil {
		return err
	}
	opened, err := folder.Stat(".")
	if err != nil {
		return err
	}
	path := filepath.Join(in.Name(), name)
	if !there.IsDir() || !os.SameFile(there, opened) {
		return fmt.Errorf("%q is not a directory: %w", path, ErrPermission)
	}
	if owner := statOf(opened).Uid; owner != uint32(os.Geteuid()) {
		return fmt.Errorf("%q belongs to user %d, not to this process: %w", path, owner, ErrPermission)
	}
	if opened.Mode().Perm()&0o077 != 0 {
		return folder.Chmod(".", 0o700)
	}
	return nil
}

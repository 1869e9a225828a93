package target

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// place is where a push goes.
type place struct {
	dir   *os.File // the deepest directory on the way to DEST that is there
	rel   string   // how dir is found below the root, links not resolved
	below []string // directories from there to DEST that are not there yet
	name  string   // of a single file; "": entries keep their names
	path  string   // of DEST, with all links resolved, the name of a single file included
	label string   // the same below the root, for people: roots may differ from host to host
}

// find resolves DEST.
func (r *Root) find(o *Order) (*place, error) {
	rel, err := r.relative(o.Dest)
	if err != nil {
		return nil, err
	}
	dir, err := r.openDest(rel)
	switch {
	case err == nil:
		return r.placeAt(dir, rel, nil, "")
	case o.Single && !strings.HasSuffix(o.Dest, "/") && rel != "." && (missing(err) || errors.Is(err, unix.ENOTDIR)):
		return r.deepest(filepath.Dir(rel), filepath.Base(rel), o)
	}
	return r.deepest(rel, "", o)
}

// deepest finds what is there of a path.
func (r *Root) deepest(rel, name string, o *Order) (*place, error) {
	var below []string
	for {
		dir, err := r.openDest(rel)
		if err == nil {
			if err := leadsNowhere(dir, below); err != nil {
				return nil, errors.Join(explainDest(err, o.Dest), dir.Close())
			}
			return r.placeAt(dir, rel, below, name)
		}
		if !missing(err) || rel == "." {
			return nil, explainDest(err, o.Dest)
		}
		below = append([]string{filepath.Base(rel)}, below...)
		rel = filepath.Dir(rel)
	}
}

// leadsNowhere refuses a link on the way to DEST that leads to nothing: a directory could not be made there.
func leadsNowhere(dir *os.File, below []string) error {
	if len(below) == 0 {
		return nil
	}
	if s, err := statAt(dir, below[0]); err == nil && isKind(&s, unix.S_IFLNK) {
		return fmt.Errorf("%q is a link that leads nowhere: %w", below[0], ErrNotDirectory)
	}
	return nil
}

func explainDest(err error, dest string) error {
	if errors.Is(err, unix.EXDEV) {
		return fmt.Errorf("destination %q: a link on the way leads %w", dest, ErrOutside)
	}
	return explain(err, "destination", dest)
}

func (r *Root) openDest(rel string) (*os.File, error) {
	resolve := uint64(destResolve)
	if r.dir == "/" {
		resolve = wholeResolve
	}
	return openBelow(r.at, rel, unix.O_PATH|unix.O_DIRECTORY, resolve)
}

// relative is DEST as a path below the root.
func (r *Root) relative(dest string) (string, error) {
	if dest == "" || strings.ContainsRune(dest, 0) {
		return "", fmt.Errorf("destination %q is no path: %w", dest, ErrOutside)
	}
	rel := filepath.Clean(dest)
	if filepath.IsAbs(rel) {
		below, ok := trimRoot(rel, r.dir)
		if !ok {
			below, ok = trimRoot(rel, r.given)
		}
		if !ok {
			return "", fmt.Errorf("destination %q is %w %q", dest, ErrOutside, r.dir)
		}
		rel = below
	}
	if !filepath.IsLocal(rel) {
		return "", fmt.Errorf("destination %q is %w %q", dest, ErrOutside, r.dir)
	}
	return rel, nil
}

func trimRoot(path, root string) (string, bool) {
	below, ok := strings.CutPrefix(path+"/", strings.TrimSuffix(root, "/")+"/")
	return filepath.Clean("./" + below), ok
}

// placeAt finishes a place: what of it is ours alone is not for pushes.
func (r *Root) placeAt(dir *os.File, rel string, below []string, name string) (*place, error) {
	there, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("where is the destination? %w", err), dir.Close())
	}
	path := filepath.Join(append(append([]string{there}, below...), name)...)
	label, ok := trimRoot(path, r.dir)
	switch {
	case ok && (label == weftFolder || strings.HasPrefix(label, weftFolder+"/")):
		return nil, errors.Join(fmt.Errorf("destination %q is the agent's own folder: %w", path, ErrOutside), dir.Close())
	case !ok:
		label = path
	}
	return &place{dir, rel, below, name, path, label}, nil
}

// stillThere checks that the place is where DEST leads: the directory could be moved, out of the root too, while a push is under way.
func (r *Root) stillThere(p *place, dest string) error {
	dir, err := r.openDest(p.rel)
	if err != nil {
		return fmt.Errorf("destination %q was moved away (%s): %w", dest, err.Error(), ErrChanged)
	}
	defer drop(dir)
	is, err := statFile(dir)
	was, other := statFile(p.dir)
	if err := errors.Join(err, other); err != nil {
		return err
	}
	if stampOf(&is).Inode != stampOf(&was).Inode {
		return fmt.Errorf("destination %q is another directory now: %w", dest, ErrChanged)
	}
	return nil
}

// absent reports that DEST, or the directory of a single file, was not there.
func (p *place) absent() bool { return len(p.below) > 0 }

// of is the path of an entry below DEST.
func (p *place) of(path string) string {
	if p.name != "" {
		return p.name
	}
	return path
}

// shown is the path of an entry, for people.
func (p *place) shown(path string) string {
	if p.name != "" {
		return p.label
	}
	return filepath.Join(p.label, path)
}

func (p *place) close() error { return p.dir.Close() }

// create makes what is missing on the way to DEST.
func (p *place) create(s syncs) error {
	for len(p.below) > 0 {
		next, err := p.enter(s, p.below[0])
		if err != nil {
			return explain(err, "create directory", p.label)
		}
		drop(p.dir)
		p.dir, p.rel, p.below = next, filepath.Join(p.rel, p.below[0]), p.below[1:]
	}
	return nil
}

func (p *place) enter(s syncs, name string) (*os.File, error) {
	if err := unix.Mkdirat(int(p.dir.Fd()), name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, err
	}
	if err := syncFolder(s, p.dir); err != nil {
		return nil, err
	}
	return openPath(p.dir, name)
}

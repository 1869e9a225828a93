package target

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/internal/units"
)

// check finds the place of a push, and looks at all that can be in its way before its manifest is known.
func (r *Root) check(o *Order) (*place, error) {
	if o.Block <= 0 || o.Manifest.Size > math.MaxInt64 || o.Manifest.Content > math.MaxInt64 {
		return nil, fmt.Errorf("an order with blocks of %d bytes, a manifest of %d and a content of %d", o.Block, o.Manifest.Size, o.Manifest.Content)
	}
	if o.Single && (o.Manifest.Entries != 1 || o.Manifest.Files != 1) {
		return nil, fmt.Errorf("an order for a single file with %d entries", o.Manifest.Entries)
	}
	p, err := r.find(o)
	if err != nil {
		return nil, err
	}
	if err := r.checkPlace(o, p); err != nil {
		drop(p.dir)
		return nil, err
	}
	return p, nil
}

func (r *Root) checkPlace(o *Order, p *place) error {
	if err := r.checkTops(o, p); err != nil || o.Verify {
		return err
	}
	if err := r.sameFilesystem(p); err != nil {
		return err
	}
	if err := mayWrite(p.dir, p.path); err != nil {
		return err
	}
	if _, err := r.tree.Lstat(weftFolder); missing(err) {
		if err := mayWrite(r.at, r.dir); err != nil {
			return err
		}
	}
	return r.checkSpace(o, p)
}

func mayWrite(dir *os.File, path string) error {
	return explain(unix.Faccessat(int(dir.Fd()), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS), "write to", path)
}

// checkTops refuses names that are this agent's own.
func (r *Root) checkTops(o *Order, p *place) error {
	for _, top := range o.Manifest.Tops {
		if first, _, _ := strings.Cut(top, "/"); p.path == r.dir && first == weftFolder {
			return fmt.Errorf("%q is the agent's own folder: %w", filepath.Join(r.dir, weftFolder), ErrOutside)
		}
	}
	return nil
}

// sameFilesystem checks that a rename from our folder to the place is possible.
func (r *Root) sameFilesystem(p *place) error {
	ours, err := mountOf(r.at)
	if err != nil {
		return err
	}
	theirs, err := mountOf(p.dir)
	if err != nil {
		return err
	}
	if ours != theirs {
		return fmt.Errorf("destination %q is %w", p.path, ErrOtherFilesystem)
	}
	return nil
}

// mount is a filesystem as renames see it: the same device can be mounted twice.
type mount struct {
	major, minor uint32
	id           uint64
}

func mountOf(dir *os.File) (mount, error) {
	var s unix.Statx_t
	if err := unix.Statx(int(dir.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &s); err != nil {
		return mount{}, explain(err, "look at", dir.Name())
	}
	return mount{s.Dev_major, s.Dev_minor, s.Mnt_id}, nil
}

// checkSpace compares what is free with what a push takes that finds nothing there. One that does is judged when its manifest is known.
func (r *Root) checkSpace(o *Order, p *place) error {
	if !p.absent() && r.anyTop(o, p) || r.hasPartial(o, p) {
		return nil
	}
	return r.room(o.Manifest.Disk + o.Manifest.Size)
}

func (r *Root) room(need uint64) error {
	free, err := r.Free()
	if err != nil {
		return err
	}
	if need > free {
		return fmt.Errorf("%w below %q: %s needed, %s free", ErrSpace, r.dir, units.Bytes(need), units.Bytes(free))
	}
	return nil
}

func (r *Root) anyTop(o *Order, p *place) bool {
	for _, top := range o.Manifest.Tops {
		if first, err := openBelow(p.dir, p.of(top), unix.O_PATH|unix.O_NOFOLLOW, entryResolve); err == nil {
			drop(first)
			return true
		}
	}
	return false
}

func (r *Root) hasPartial(o *Order, p *place) bool {
	partials, err := r.partials(false)
	if err != nil {
		return false
	}
	defer drop(partials)
	_, err = partials.Lstat(partialName(o, p))
	return err == nil
}

package target

import (
	"errors"
	"fmt"
	"io/fs"
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
	if err := r.sameFilesystem(o, p); err != nil {
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

// mayWrite checks that names can be given in a directory, and made durable: for that it must be read.
func mayWrite(dir *os.File, path string) error {
	return explain(unix.Faccessat(int(dir.Fd()), ".", unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS), "write to", path)
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

// sameFilesystem checks that a rename from our folder to the place is possible, and to the directories there that the push names first. The others
// are looked at when the manifest is known.
func (r *Root) sameFilesystem(o *Order, p *place) error {
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
	if p.absent() || p.name != "" {
		return nil
	}
	for _, top := range o.Manifest.Tops {
		if err := p.sameMount(ours, p.dir, top, top); err != nil {
			return err
		}
	}
	return nil
}

// sameMount checks that what is under a name, if anything is, lies on a mount.
func (p *place) sameMount(ours mount, dir *os.File, name, path string) error {
	theirs, err := mountIn(dir, name)
	if err == nil && theirs != ours {
		err = fmt.Errorf("%q is %w", p.shown(path), ErrOtherFilesystem)
	}
	if missing(err) {
		return nil
	}
	return err
}

// mount is a filesystem as renames see it: the same device can be mounted twice.
type mount struct {
	major, minor uint32
	id           uint64
}

func mountOf(dir *os.File) (mount, error) { return mountIn(dir, "") }

// mountIn is where a name in a directory lies; an empty one is the directory.
func mountIn(dir *os.File, name string) (mount, error) {
	var s unix.Statx_t
	const flags = unix.AT_EMPTY_PATH | unix.AT_SYMLINK_NOFOLLOW
	if err := unix.Statx(int(dir.Fd()), name, flags, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &s); err != nil {
		return mount{}, explain(err, "look at", filepath.Join(dir.Name(), name))
	}
	return mount{s.Dev_major, s.Dev_minor, s.Mnt_id}, nil
}

// checkSpace compares what is free with what a push takes that finds nothing there. One that does is judged when its manifest is known.
func (r *Root) checkSpace(o *Order, p *place) error {
	if !p.absent() && r.mayHave(o, p) || r.hasPartial(o, p) {
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

// mayHave reports whether something of a push may be in place already: what is under one of its names, unless it is too short.
func (r *Root) mayHave(o *Order, p *place) bool {
	for _, top := range o.Manifest.Tops {
		first, err := openBelow(p.dir, p.of(top), unix.O_PATH|unix.O_NOFOLLOW, entryResolve)
		if err != nil {
			continue
		}
		isNone := o.Manifest.Entries == 1 && isShorter(first, o.Manifest.Content)
		if drop(first); !isNone {
			return true
		}
	}
	return false
}

// isShorter reports whether something is a file of fewer bytes.
func isShorter(file *os.File, bytes uint64) bool {
	var s unix.Stat_t
	err := unix.Fstat(int(file.Fd()), &s)
	return err == nil && s.Mode&unix.S_IFMT == unix.S_IFREG && uint64(s.Size) < bytes
}

// hasPartial reports whether an earlier attempt has left anything of the content: where the disk was full, there are files without any.
func (r *Root) hasPartial(o *Order, p *place) bool {
	partials, err := r.partials(false)
	if err != nil {
		return false
	}
	defer drop(partials)
	err = fs.WalkDir(partials.FS(), partialName(o, p)+"/"+dataFolder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := entry.Info(); err == nil && info.Size() > 0 {
			return errFound
		}
		return nil
	})
	return errors.Is(err, errFound)
}

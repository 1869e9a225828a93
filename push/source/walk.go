package source

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// coarsestClock is how far the times of two changes may lie apart and still be the same to a file system, in nanoseconds.
const coarsestClock = 2e9

// walker writes the manifest of a source.
type walker struct {
	ctx      context.Context
	source   *Source
	progress func(entries, bytes uint64)
	out      *manifest.Writer
	seen     *sightings
	links    *links

	entries, bytes  uint64
	began, youngest int64     // when the scan began; the last change of a file
	told            time.Time // when progress was told last
	at              int       // root that is walked
	room            int       // bytes that names may still take
}

// item is something in a directory.
type item struct {
	directory int    // descriptor
	name      string // in it
	entry     string // path at the receiver
	stat      unix.Stat_t
}

func (w *walker) root() *root { return w.source.roots[w.at] }

// path is where an entry of the present root lies, for people.
func (w *walker) path(entry string) string { return w.root().path(entry) }

func (w *walker) walkAll() error {
	if err := checkTops(w.source.roots); err != nil {
		return err
	}
	for i, r := range w.source.roots {
		w.at = i
		if err := w.walkRoot(r); err != nil {
			return err
		}
	}
	w.report()
	return nil
}

// walkRoot walks one of the named sources.
func (w *walker) walkRoot(r *root) error {
	if r.top == "" {
		return w.walkDirectory(r.fd, ".", "")
	}
	name := r.name
	if name == "" {
		name = "."
	}
	return w.visit(r.fd, name, r.top)
}

// visit adds what has a name in a directory, and what is below that.
func (w *walker) visit(directory int, name, entry string) error {
	if err := w.alive(); err != nil {
		return err
	}
	i := &item{directory: directory, name: name, entry: entry}
	if err := i.look(); err != nil {
		return found(w.path(entry), err)
	}
	switch i.stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return w.addFile(i)
	case unix.S_IFLNK:
		return w.addSymlink(i)
	case unix.S_IFDIR:
		if err := w.add(i, &manifest.Entry{Kind: manifest.Directory}); err != nil {
			return err
		}
		return w.walkDirectory(directory, name, entry)
	}
	return w.skip(i)
}

func (i *item) look() error {
	_, err := again(func() (int, error) {
		return 0, unix.Fstatat(i.directory, i.name, &i.stat, unix.AT_SYMLINK_NOFOLLOW)
	})
	return err
}

// walkDirectory walks what is in a directory, in the order of the names.
func (w *walker) walkDirectory(parent int, name, entry string) error {
	fd, err := openAt(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return found(w.path(entry), err)
	}
	directory := os.NewFile(uintptr(fd), name)
	defer directory.Close() //nolint:errcheck // it was read only
	list, err := readNames(directory, w.room, w.alive)
	if err != nil {
		return w.found(entry, err)
	}
	w.room -= list.bytes
	defer func() { w.room += list.bytes }()
	for i := range list.Len() {
		child := list.name(i)
		if entry == "" {
			err = w.visitTop(fd, child)
		} else {
			err = w.visit(fd, child, entry+"/"+child)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// visitTop visits a name in a directory of which the contents are sent, unless another source has it too.
func (w *walker) visitTop(directory int, name string) error {
	for i, other := range w.source.roots {
		if i != w.at && other.has(name) {
			return duplicate(w.path(name), other.path(name))
		}
	}
	return w.visit(directory, name, name)
}

// add writes an entry of which the kind's own fields are set.
func (w *walker) add(i *item, e *manifest.Entry) error {
	if !isTime(i.stat.Mtim) {
		year := time.Unix(i.stat.Mtim.Unix()).UTC().Year()
		return &Error{Path: w.path(i.entry), Reason: ErrRefused, Detail: fmt.Sprintf("its time of modification is of the year %d, and not between 1677 and 2262: touch it", year)}
	}
	e.Path, e.Mode, e.UID, e.GID, e.ModTime = i.entry, i.stat.Mode&0o7777, i.stat.Uid, i.stat.Gid, i.stat.Mtim.Nano()
	if err := w.out.Add(e); err != nil {
		return &Error{Path: w.path(i.entry), Reason: ErrRefused, Cause: err}
	}
	w.entries++
	w.bytes += e.Content()
	if e.Kind == manifest.File || e.Kind == manifest.Hardlink {
		w.source.span += uint64(i.stat.Size)
	}
	if w.entries%1024 == 0 {
		w.report()
	}
	if e.Kind != manifest.File { // what happens to others from now on changes nothing in what is sent
		return w.seen.add(sight{root: uint32(w.at)})
	}
	change := i.stat.Ctim.Nano()
	w.youngest = max(w.youngest, change)
	return w.seen.add(sight{uint32(w.at), i.stat.Dev, i.stat.Ino, change})
}

// isTime reports whether a manifest has room for a time: nanoseconds since 1970, in 64 bits.
func isTime(t unix.Timespec) bool { return unix.NsecToTimespec(t.Nano()) == t }

// tellEvery is how often progress is told at least, while there is any.
const tellEvery = 100 * time.Millisecond

// alive is called with each step: a large directory, or the holes of a large file, take long, and add no entry. It fails when the scan is to end.
func (w *walker) alive() error {
	if time.Since(w.told) >= tellEvery {
		w.report()
	}
	return w.ctx.Err()
}

// found is an error about an entry that was seen a moment ago, unless it is that the scan is to end.
func (w *walker) found(entry string, cause error) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	return found(w.path(entry), cause)
}

func (w *walker) report() {
	w.told = time.Now()
	if w.progress != nil {
		w.progress(w.entries, w.bytes)
	}
}

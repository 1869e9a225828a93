package source

import (
	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// addFile adds a regular file, or a link to an entry that is the same file.
func (w *walker) addFile(i *item) error {
	if first, ok := w.links.first(i); ok {
		return w.add(i, &manifest.Entry{Kind: manifest.Hardlink, Link: first})
	}
	if err := i.readable(); err != nil {
		return found(w.path(i.entry), err)
	}
	e := &manifest.Entry{Kind: manifest.File, Size: uint64(i.stat.Size)}
	if isSparse(&i.stat) {
		if err := w.addExtents(i, e); err != nil {
			return err
		}
	}
	return w.add(i, e)
}

// readable asks before anything is sent, and not when it is the file's turn.
func (i *item) readable() error {
	_, err := again(func() (int, error) {
		return 0, unix.Faccessat(i.directory, i.name, unix.R_OK, unix.AT_EACCESS)
	})
	return err
}

// addExtents finds the holes of a file.
func (w *walker) addExtents(i *item, e *manifest.Entry) error {
	fd, err := openAt(i.directory, i.name, unix.O_RDONLY|unix.O_NOFOLLOW)
	if err != nil {
		return found(w.path(i.entry), err)
	}
	defer shut(fd)
	if e.Extents, err = extentsOf(fd, e.Size, w.alive); err != nil {
		return w.found(i.entry, err)
	}
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil {
		return found(w.path(i.entry), err)
	}
	if now.Ino != i.stat.Ino || now.Ctim != i.stat.Ctim || now.Size != i.stat.Size {
		return &Error{Path: w.path(i.entry), Reason: ErrChanged, Detail: "while its holes were looked for"}
	}
	return nil
}

func (w *walker) addSymlink(i *item) error {
	var target [4097]byte
	n, err := again(func() (int, error) { return unix.Readlinkat(i.directory, i.name, target[:]) })
	if err != nil {
		return found(w.path(i.entry), err)
	}
	return w.add(i, &manifest.Entry{Kind: manifest.Symlink, Link: string(target[:n])})
}

// special names what cannot be sent.
var special = map[uint32]string{
	unix.S_IFSOCK: "a socket", unix.S_IFIFO: "a named pipe", unix.S_IFBLK: "a block device", unix.S_IFCHR: "a character device",
}

// skip passes over what cannot be sent, unless the user has named it.
func (w *walker) skip(i *item) error {
	what := special[i.stat.Mode&unix.S_IFMT]
	path := w.path(i.entry)
	if i.entry == w.root().top {
		return &Error{Path: path, Reason: ErrRefused, Detail: "it is " + what}
	}
	skipped := &w.source.skipped
	if skipped.Count++; len(skipped.Names) < MaxSkipped {
		skipped.Names = append(skipped.Names, shown(path)+" is "+what)
	}
	return nil
}

// maxLinkMemory is how many bytes of names of files with several links are remembered. In a tree with more, the rest are sent as
// files of their own.
const maxLinkMemory = 32 << 20

// links knows the files of which more names are to come.
type links struct {
	names  map[inode]*linked
	memory int // bytes that they take, about
	limit  int // of memory
}

type inode struct{ device, number uint64 }

type linked struct {
	entry string // the first
	left  int    // names that have not been seen
}

func newLinks(limit int) *links { return &links{names: make(map[inode]*linked), limit: limit} }

// first returns the entry that is the same file, if there was one, and remembers this one otherwise.
func (l *links) first(i *item) (entry string, ok bool) {
	if i.stat.Nlink < 2 {
		return "", false
	}
	key := inode{i.stat.Dev, i.stat.Ino}
	known := l.names[key]
	if known == nil {
		l.remember(key, i)
		return "", false
	}
	if known.left--; known.left == 0 {
		delete(l.names, key)
		l.memory -= known.cost()
	}
	return known.entry, true
}

func (l *links) remember(key inode, i *item) {
	known := &linked{i.entry, int(i.stat.Nlink) - 1}
	if l.memory+known.cost() > l.limit {
		return
	}
	l.names[key] = known
	l.memory += known.cost()
}

// cost is about what it takes in memory.
func (k *linked) cost() int { return len(k.entry) + 96 }

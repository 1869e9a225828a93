package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// file gives a file that came its metadata and its name.
func (c *commit) file(number uint64, e *manifest.Entry, dir *os.File, name string) error {
	data, m := dataName(number), c.metadataOf(e)
	if c.isReady(data, e, &m) {
		return c.name(data, e, dir, name)
	}
	f, err := c.openWhole(number, e)
	if err != nil {
		return err
	}
	defer drop(f)
	there, err := statFile(f)
	if err != nil {
		return err
	}
	if uint64(there.Size) != e.Size {
		return fmt.Errorf("%d of %d bytes are in the partial: %w", there.Size, e.Size, ErrChanged)
	}
	if _, err := m.apply(f, &there); err != nil {
		return err
	}
	if c.few {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return c.name(data, e, dir, name)
}

// isReady reports whether a file of the partial needs nothing but its name.
func (c *commit) isReady(data string, e *manifest.Entry, m *metadata) bool {
	if c.few || e.Content() == 0 {
		return false
	}
	there, err := statAt(c.partial.data, data)
	return err == nil && isKind(&there, unix.S_IFREG) && uint64(there.Size) == e.Size && m.isSo(&there)
}

// openWhole opens a file of the partial. One that has no content was never written.
func (c *commit) openWhole(number uint64, e *manifest.Entry) (*os.File, error) {
	if e.Content() == 0 {
		return c.openData(number, e)
	}
	return c.partial.openData(dataName(number), unix.O_RDWR)
}

// name moves what is under a name of the partial into place.
func (c *commit) name(data string, e *manifest.Entry, dir *os.File, name string) error {
	err := c.rename(data, dir, name)
	if errors.Is(err, unix.EEXIST) && e.Kind == manifest.File && c.sameContent(data, e, dir, name) {
		if err := c.partial.discard(data); err != nil {
			return err
		}
		return c.skip(e, dir, name)
	}
	if err == nil {
		c.result.Written++
	}
	return err
}

// rename replaces nothing without Force, whatever has come there meanwhile.
func (c *commit) rename(data string, dir *os.File, name string) error {
	from, to := int(c.partial.data.Fd()), int(dir.Fd())
	if c.order.Force {
		return unix.Renameat(from, data, to, name)
	}
	err := unix.Renameat2(from, data, to, name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // the filesystem cannot: the next best
		if _, err := statAt(dir, name); !missing(err) {
			return errors.Join(err, unix.EEXIST)
		}
		return unix.Renameat(from, data, to, name)
	}
	return err
}

// sameContent reports whether a file in place is what the partial has.
func (c *commit) sameContent(data string, e *manifest.Entry, dir *os.File, name string) bool {
	there, err := openEntry(dir, name)
	if err != nil {
		return false
	}
	defer drop(there)
	s, err := statFile(there)
	if err != nil || !isKind(&s, unix.S_IFREG) || uint64(s.Size) != e.Size {
		return false
	}
	ours, err := c.partial.openData(data, unix.O_RDONLY)
	if err != nil {
		return false
	}
	defer drop(ours)
	c.known[s.Ino] = s.Ctim
	return sameBytes(there, ours)
}

func sameBytes(a, b io.Reader) bool {
	left, right := make([]byte, 256<<10), make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(a, left)
		m, other := io.ReadFull(b, right)
		if n != m || !bytes.Equal(left[:n], right[:m]) {
			return false
		}
		if err != nil || other != nil {
			return ended(err) && ended(other)
		}
	}
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// skip leaves a file that is identical where it is, and gives it the metadata of the entry.
func (c *commit) skip(e *manifest.Entry, dir *os.File, name string) error {
	f, err := openEntry(dir, name)
	if missing(err) {
		return fmt.Errorf("%w (it has gone)", ErrChanged)
	}
	if err != nil {
		return err
	}
	defer drop(f)
	there, err := statFile(f)
	if err != nil {
		return err
	}
	if !isKind(&there, unix.S_IFREG) || uint64(there.Size) != e.Size || c.changed(&there) {
		return ErrChanged
	}
	c.result.Skipped++
	m := c.metadataOf(e)
	changed, err := m.apply(f, &there)
	if err == nil && changed && there.Nlink > 1 {
		return c.touch(f)
	}
	return err
}

// changed reports whether a file in place was changed since it was looked at, by somebody else. The clock of files is coarse: what
// happens within a tick after the look is not seen.
func (c *commit) changed(there *unix.Stat_t) bool {
	if ours, ok := c.known[there.Ino]; ok && ours == there.Ctim {
		return false
	}
	return there.Ctim.Nano() > c.since.UnixNano()
}

// touch remembers that it was us who changed a file that has other names, which may be entries too.
func (c *commit) touch(f *os.File) error {
	s, err := statFile(f)
	c.known[s.Ino] = s.Ctim
	return err
}

// symlink makes a symbolic link, or leaves one that leads to the same where it is.
func (c *commit) symlink(number uint64, e *manifest.Entry, dir *os.File, name string) error {
	m := c.metadataOf(e)
	if linkAt(dir, name) == e.Link {
		c.result.Skipped++
		return m.applyLink(dir, name)
	}
	return c.link(number, e, dir, name, func(data string) error {
		if err := unix.Symlinkat(e.Link, int(c.partial.data.Fd()), data); err != nil {
			return err
		}
		return m.applyLink(c.partial.data, data)
	})
}

// hardlink gives a file that was placed before another name.
func (c *commit) hardlink(number uint64, e *manifest.Entry, dir *os.File, name string) error {
	parent, first := split(e.Link)
	from, err := openPath(c.place.dir, "./"+parent)
	if err != nil {
		return err
	}
	defer drop(from)
	original, err := statAt(from, first)
	if err == nil && !isKind(&original, unix.S_IFREG) {
		err = fmt.Errorf("%q, of which it is another name, is not a file: %w", e.Link, ErrChanged)
	}
	if err != nil {
		return err
	}
	if there, err := statAt(dir, name); err == nil && there.Dev == original.Dev && there.Ino == original.Ino {
		c.result.Skipped++
		return nil
	}
	return c.link(number, e, dir, name, func(data string) error {
		return unix.Linkat(int(from.Fd()), first, int(c.partial.data.Fd()), data, 0)
	})
}

// link makes a link in the partial, and names it.
func (c *commit) link(number uint64, e *manifest.Entry, dir *os.File, name string, create func(data string) error) error {
	data := dataName(number)
	if err := errors.Join(c.partial.makeGroup(data), c.partial.discard(data)); err != nil {
		return err
	}
	if err := create(data); err != nil {
		return err
	}
	return c.name(data, e, dir, name)
}

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

// placing is an entry on its way to its name.
type placing struct {
	*manifest.Entry
	number uint64
	data   string   // what it is called in the partial
	dir    *os.File // where it goes
	name   string   // in dir
}

// file gives a file that came its metadata and its name.
func (c *commit) file(p *placing) error {
	m := c.metadataOf(p.Entry)
	if c.isReady(p, &m) {
		return c.name(p)
	}
	f, err := c.openWhole(p)
	if err != nil {
		return err
	}
	defer drop(f)
	there, err := statFile(f)
	if err != nil {
		return err
	}
	if uint64(there.Size) != p.Size {
		return fmt.Errorf("%d of %d bytes are in the partial: %w", there.Size, p.Size, ErrChanged)
	}
	if err := m.apply(f, &there); err != nil {
		return err
	}
	if c.few {
		if err := c.root.syncs.file(f); err != nil {
			return err
		}
	}
	return c.name(p)
}

// isReady reports whether a file of the partial needs nothing but its name.
func (c *commit) isReady(p *placing, m *metadata) bool {
	if c.few || p.Content() == 0 {
		return false
	}
	there, err := statAt(c.partial.data, p.data)
	return err == nil && isKind(&there, unix.S_IFREG) && uint64(there.Size) == p.Size && m.isSo(&there)
}

// openWhole opens a file of the partial. One that has no content was never written.
func (c *commit) openWhole(p *placing) (*os.File, error) {
	if p.Content() == 0 {
		return c.openData(p.number, p.Entry)
	}
	return c.partial.openData(p.data, unix.O_RDWR)
}

// name moves what is in the partial into place.
func (c *commit) name(p *placing) error {
	err := c.rename(p)
	if errors.Is(err, unix.EEXIST) && p.Kind != manifest.Symlink {
		there, same, stopped := c.sameContent(p)
		if stopped != nil {
			return stopped
		}
		if same {
			return c.found(p, &there)
		}
	}
	switch {
	case err != nil:
		return err
	case c.taken.has(p.number):
		c.result.Skipped++
	default:
		c.result.Written++
	}
	return nil
}

// found takes a file for the entry that is in its way, and identical.
func (c *commit) found(p *placing, there *unix.Stat_t) error {
	m := c.metadataOf(p.Entry)
	if p.Kind == manifest.Hardlink || m.takesOver(there) {
		c.result.Skipped++
		return c.replaceSame(p, p.data, stampOf(there))
	}
	if err := c.partial.discard(p.data); err != nil {
		return err
	}
	return c.skip(p, stampOf(there))
}

// rename replaces nothing without Force, whatever has come there meanwhile.
func (c *commit) rename(p *placing) error {
	if c.order.Force {
		return c.replace(p, p.data)
	}
	from, to := int(c.partial.data.Fd()), int(p.dir.Fd())
	err := unix.Renameat2(from, p.data, to, p.name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // the filesystem cannot: the next best
		if _, err := statAt(p.dir, p.name); !missing(err) {
			return errors.Join(err, unix.EEXIST)
		}
		return unix.Renameat(from, p.data, to, p.name)
	}
	return err
}

// replaceSame replaces what has the same content, if it is still what is there: for that nobody has to say Force.
func (c *commit) replaceSame(p *placing, data string, was stamp) error {
	there, err := statAt(p.dir, p.name)
	if missing(err) || err == nil && stampOf(&there) != was {
		return ErrChanged
	}
	if err != nil {
		return err
	}
	return c.replace(p, data)
}

// replace moves what has a name of the partial into place, whatever is there.
func (c *commit) replace(p *placing, data string) error {
	return c.remember(p.dir, p.name, func() error {
		return unix.Renameat(int(c.partial.data.Fd()), data, int(p.dir.Fd()), p.name)
	})
}

// remember changes names of a file, this one or others, and notes that its ctime has changed thereby: it may be in place of other entries too.
func (c *commit) remember(dir *os.File, name string, change func() error) error {
	if !c.links.some {
		return change()
	}
	f, err := openBelow(dir, name, unix.O_PATH|unix.O_NOFOLLOW, entryResolve)
	if err != nil {
		return change() // there is none
	}
	defer drop(f)
	before, err := statFile(f)
	if err == nil {
		err = change()
	}
	if err != nil {
		return err
	}
	after, err := statFile(f)
	if err != nil {
		return err
	}
	return c.links.note(&before, &after)
}

// sameContent reports whether the file in place is identical to what the partial has, and what it was before it was read. It fails only when
// the commit is to stop: what cannot be read is not the same.
func (c *commit) sameContent(p *placing) (was unix.Stat_t, same bool, stopped error) {
	ours, err := c.openOurs(p)
	if err != nil {
		return was, false, nil // then it is not the same
	}
	defer drop(ours)
	there, err := c.openThere(p.dir, p.name)
	if err != nil {
		return was, false, nil
	}
	defer drop(there)
	was, err = statFile(there)
	same = err == nil && sameSize(there, ours) && sameBytes(there, counting{ours, c})
	return was, same, c.ctx.Err()
}

// counting is a file that is compared as a whole: it takes long if it is large, and each piece of it counts.
type counting struct {
	io.Reader
	*commit
}

func (r counting) Read(into []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.Reader.Read(into)
	r.moved.Add(uint64(n))
	return n, err
}

// openOurs opens what the partial has, to read. A hard link is in place already, under its first name, and keeps the mode that it has.
func (c *commit) openOurs(p *placing) (*os.File, error) {
	if p.Kind == manifest.Hardlink {
		return c.openThere(c.partial.data, p.data)
	}
	return c.openWhole(p)
}

// sameSize reports whether both are files, of one size.
func sameSize(a, b *os.File) bool {
	left, err := statFile(a)
	right, other := statFile(b)
	return err == nil && other == nil && isKind(&left, unix.S_IFREG) && isKind(&right, unix.S_IFREG) && left.Size == right.Size
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

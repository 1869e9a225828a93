package target

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// symlink makes a symbolic link, or leaves one that leads to the same where it is.
func (c *commit) symlink(p *placing) error {
	m := c.metadataOf(p.Entry)
	create := func() error {
		if err := unix.Symlinkat(p.Link, int(c.partial.data.Fd()), p.data); err != nil {
			return err
		}
		return m.applyLink(c.partial.data, p.data)
	}
	f, err := openBelow(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW, entryResolve)
	if err == nil {
		defer drop(f)
		if linkAt(f, "") == p.Link {
			return c.skipSymlink(p, f, &m, create)
		}
	}
	return c.link(p, create)
}

// skipSymlink gives a symbolic link that is there its metadata. One that has other names is made anew, as a file is.
func (c *commit) skipSymlink(p *placing, f *os.File, m *metadata, create func() error) error {
	there, err := statFile(f)
	if err != nil {
		return err
	}
	c.result.Skipped++
	switch {
	case m.isSoOfLink(&there):
		return nil
	case there.Nlink == 1:
		return m.applyLink(f, "")
	}
	if err := c.make(p, create); err != nil {
		return err
	}
	return c.replaceSame(p, p.data, stampOf(&there))
}

// hardlink gives a file that was placed before another name.
func (c *commit) hardlink(p *placing) error {
	parent, first := split(p.Link)
	from, err := openPath(c.place.dir, "./"+parent)
	if err != nil {
		return err
	}
	defer drop(from)
	original, err := statAt(from, first)
	if err == nil && !isKind(&original, unix.S_IFREG) {
		err = fmt.Errorf("%q, of which it is another name, is not a file: %w", p.Link, ErrChanged)
	}
	if err != nil {
		return err
	}
	if there, err := statAt(p.dir, p.name); err == nil && stampOf(&there).Inode == stampOf(&original).Inode {
		c.result.Skipped++
		return nil
	}
	return c.remember(from, first, func() error {
		return c.link(p, func() error { return unix.Linkat(int(from.Fd()), first, int(c.partial.data.Fd()), p.data, 0) })
	})
}

// link makes a link in the partial, and names it.
func (c *commit) link(p *placing, create func() error) error {
	if err := c.make(p, create); err != nil {
		return err
	}
	return c.name(p)
}

// make makes a link in the partial.
func (c *commit) make(p *placing, create func() error) error {
	if err := errors.Join(c.partial.makeGroup(p.data), c.partial.discard(p.data)); err != nil {
		return err
	}
	return create()
}

package target

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// skip leaves a file that is identical where it is, and gives it the metadata of the entry.
func (c *commit) skip(p *placing, was stamp) error {
	f, err := c.openThere(p.dir, p.name)
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
	if err := c.unchanged(was, stampOf(&there)); err != nil {
		return err
	}
	m := c.metadataOf(p.Entry)
	if m.takesOver(&there) {
		return fmt.Errorf("%w (it is open to others)", ErrChanged) // it was not, or another was there
	}
	c.result.Skipped++
	if there.Nlink > 1 && !m.isSo(&there) {
		return c.separate(p, f, &there)
	}
	return m.apply(f, &there)
}

// unchanged checks that nobody else has changed a file in place, or put another one there, since it was looked at.
func (d *Delivery) unchanged(was, is stamp) error {
	if is == was {
		return nil
	}
	ours, err := d.links.explains(was, is)
	if err == nil && !ours {
		err = ErrChanged
	}
	return err
}

// separate gives an entry a file of its own with the content of the one in place, which has other names: they may be outside of DEST, or of
// other entries, and what is set must not show there. They are not counted, as a manifest can name a path twice. Entries that are hard
// links of this one come later, and are linked anew.
func (c *commit) separate(p *placing, from *os.File, there *unix.Stat_t) error {
	name := p.data + copySuffix
	to, err := c.copyData(c.ctx, from, p.Entry, name)
	if err != nil {
		return err
	}
	m := c.metadataOf(p.Entry)
	m.keepOwner(there)
	made, err := statFile(to)
	if err == nil {
		err = m.apply(to, &made)
	}
	if err == nil {
		err = c.root.syncs.file(to)
	}
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	return c.replaceSame(p, name, stampOf(there))
}

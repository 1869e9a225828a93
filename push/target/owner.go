package target

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// A file in place whose owner changes, or that gets rights of its own, is written anew if somebody else may have it open: who has it open, or
// mapped, can write to it for as long as he likes, and would write what another runs. What was copied of it is compared once more with what
// the push has, as he could write while it was copied.

// givesOwners reports whether a push says whom files belong to, and this process can do that.
func (d *Delivery) givesOwners() bool { return d.order.Preserve && os.Geteuid() == 0 }

// takesOver reports whether a file in place must not be given this metadata, but a copy of it.
func (m *metadata) takesOver(there *unix.Stat_t) bool {
	changes := there.Uid != m.uid || there.Gid != m.gid
	switch {
	case !m.owner:
		return false
	case m.mode&ownRights != 0: // whoever it belonged to before may have it open still
		return changes || m.mode&ownRights&^there.Mode != 0
	}
	return changes && isOpenToOthers(there)
}

// ownRights are the modes by which a file has rights whoever runs it.
const ownRights = unix.S_ISUID | unix.S_ISGID

// isOpenToOthers reports whether others than this process's user may have a file open to write.
func isOpenToOthers(there *unix.Stat_t) bool {
	return there.Uid != uint32(os.Geteuid()) || there.Mode&0o022 != 0
}

// countCopy has space judged for the copy of a file in place that will be taken over.
func (s *survey) countCopy(number uint64, e *manifest.Entry, there *unix.Stat_t) {
	m := s.metadataOf(e)
	if !s.order.Verify && m.takesOver(there) && !s.partial.shares {
		s.need += e.Content()
		s.counted.add(number)
	}
}

// noteWanted keeps the hash of a block that is held. The block was verified.
func (d *Delivery) noteWanted(block int, hash manifest.Hash) error {
	if !d.givesOwners() {
		return nil
	}
	return d.wanted.put(uint64(block), hash)
}

// noteCopied notes that the partial has a copy of a file in place which others could write to meanwhile.
func (d *Delivery) noteCopied(number uint64, e *manifest.Entry, from *os.File) error {
	if !d.givesOwners() {
		return nil
	}
	there, err := statFile(from)
	if err == nil && (isOpenToOthers(&there) || e.Mode&ownRights != 0) {
		d.copied.add(number)
	}
	return err
}

// takeOver copies the files in place that are to be taken over, and compares the copies. It is done before anything has its name: blocks are
// read whole, and have parts of other files.
func (c *commit) takeOver() error {
	if !c.givesOwners() {
		return nil
	}
	there := folders{dest: c.place.dir}
	defer there.close()
	doubtful := newBitset(uint64(c.layouts.content.Blocks()))
	err := c.index.Entries(func(number, at uint64, e *manifest.Entry) error {
		if err := c.takeOne(&there, number, e); err != nil {
			return explain(err, "copy", c.place.shown(e.Path))
		}
		if c.copied.has(number) {
			for block := range c.blocksOf(at, e.Content()) {
				doubtful.add(block)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(c.compareAgain(doubtful), c.files.close())
}

// takeOne gives an entry a copy of the file in place, if it needs one.
func (c *commit) takeOne(there *folders, number uint64, e *manifest.Entry) error {
	if e.Kind != manifest.File || !c.placed.has(number) {
		return nil
	}
	dir, name, err := there.of(c.place.of(e.Path))
	if err != nil {
		return nil //nolint:nilerr // whoever gives it its metadata says so
	}
	s, err := statAt(dir, name)
	m := c.metadataOf(e)
	if err != nil || !m.takesOver(&s) {
		return nil //nolint:nilerr // the same; and if it is another file then, too
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	c.taken.add(number)
	return c.copyOut(c.ctx, number, e)
}

// compareAgain compares blocks with what was verified of them.
func (c *commit) compareAgain(doubtful bitset) error {
	buffer := make([]byte, c.layouts.content.Block)
	for block := range c.layouts.content.Blocks() {
		if !doubtful.has(uint64(block)) {
			continue
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
		payload := buffer[:c.layouts.content.Len(block)]
		want, err := c.wanted.get(uint64(block))
		if err == nil {
			err = c.read(block, payload)
		}
		if err != nil {
			return err
		}
		c.moved.Add(uint64(len(payload)))
		if manifest.HashOf(payload) != want {
			return fmt.Errorf("files in %q were written to while they were copied: %w", c.place.label, ErrChanged)
		}
	}
	return nil
}

package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// fewEntries is up to how many files and directories are made durable one by one; for more, all of the filesystem is at once.
const fewEntries = 256

// Commit gives everything its name, when all blocks are held; then the delivery has ended, and its partial is gone. A commit
// that fails, or is interrupted at any point, has left whole files only, and the next push of the same goes on from there.
func (d *Delivery) Commit(ctx context.Context) (Result, error) {
	d.life.Lock()
	defer d.life.Unlock()
	if err := d.ready(); err != nil {
		return Result{}, err
	}
	if lacking := d.layouts.content.Blocks() - d.held.count(); d.order.Verify || lacking > 0 {
		return Result{}, fmt.Errorf("there is nothing to commit: %d blocks are not here", lacking)
	}
	c := &commit{Delivery: d, ctx: ctx, few: d.order.Manifest.Entries <= fewEntries,
		taken: newBitset(d.order.Manifest.Entries)}
	if err := c.inPlace(); err != nil {
		return c.result, err
	}
	err := d.partial.remove()
	d.partial, d.manifest, d.admitted = nil, nil, nil
	return c.result, errors.Join(err, d.close())
}

// Moved is how many bytes of files that are in place were copied until now, or compared once more: by Write, and by Commit. It may be asked meanwhile.
func (d *Delivery) Moved() uint64 { return d.moved.Load() }

// Named is how many entries Commit has given their names until now. It may be asked meanwhile.
func (d *Delivery) Named() uint64 { return d.named.Load() }

// commit is one run of Commit.
type commit struct {
	*Delivery
	ctx     context.Context
	few     bool
	taken   bitset // entries whose file in place is taken over
	folders folders
	open    []directory // on the way to the entry that was last placed
	result  Result
}

// directory is one in which entries are being placed.
type directory struct {
	path string
	metadata
	made bool      // by this commit
	was  *admitted // if it was closed
}

// inPlace places everything where DEST leads, before and after.
func (c *commit) inPlace() error {
	if err := c.root.stillThere(c.place, c.order.Dest); err != nil {
		return err
	}
	if err := c.run(); err != nil {
		return err
	}
	return c.root.stillThere(c.place, c.order.Dest)
}

func (c *commit) run() error {
	if err := c.files.close(); err != nil {
		return fmt.Errorf("close files: %w", err)
	}
	if err := c.conflicts(); err != nil {
		return err
	}
	if err := c.takeOver(); err != nil {
		return err
	}
	if err := c.sync(); err != nil {
		return err
	}
	if err := c.place.create(c.root.syncs); err != nil {
		return err
	}
	c.folders.dest = c.place.dir
	defer c.folders.close()
	defer c.closeUnfinished()
	if err := c.index.Entries(c.entry); err != nil {
		return err
	}
	if err := c.leave(""); err != nil {
		return err
	}
	if c.few {
		return explain(syncFolder(c.root.syncs, c.place.dir), "sync", c.place.path)
	}
	return c.sync()
}

// sync makes all that was written so far durable, if it is not done one by one.
func (c *commit) sync() error {
	if c.few {
		return nil
	}
	return explain(c.root.syncs.filesystem(c.partial.dir), "sync", c.place.path)
}

// entry places one entry.
func (c *commit) entry(number, _ uint64, e *manifest.Entry) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if err := c.leave(e.Path); err != nil {
		return err
	}
	dir, name, err := c.folders.of(c.place.of(e.Path))
	if err == nil {
		err = c.put(&placing{e, number, dataName(number), dir, name})
	}
	if err == nil {
		c.named.Add(1)
	}
	return explain(err, "place", c.place.shown(e.Path))
}

func (c *commit) put(p *placing) error {
	switch p.Kind {
	case manifest.Directory:
		return c.directory(p)
	case manifest.Symlink:
		return c.symlink(p)
	case manifest.Hardlink:
		return c.hardlink(p)
	}
	if !c.placed.has(p.number) {
		return c.file(p)
	}
	was, err := c.seen.get(p.number)
	if err != nil {
		return err
	}
	return c.skip(p, was)
}

// directory makes a directory that can be written to until all is in it.
func (c *commit) directory(p *placing) error {
	err := unix.Mkdirat(int(p.dir.Fd()), p.name, 0o700)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	made := err == nil
	var was *admitted
	if !made {
		if was, err = admit(p.dir, p.name, p.Path); err != nil {
			return err
		}
	}
	c.open = append(c.open, directory{p.Path, c.metadataOf(p.Entry), made, was})
	return nil
}

// closeUnfinished closes the directories that a commit has opened, and did not finish because it has failed.
func (c *commit) closeUnfinished() {
	for _, of := range slices.Backward(c.open) {
		if of.was != nil {
			_ = of.was.restore(c.place.dir) // the commit has failed already
		}
	}
}

// leave finishes the directories that the next path is not in: all of theirs is placed, as entries come in walk order.
func (c *commit) leave(next string) error {
	for len(c.open) > 0 {
		last := &c.open[len(c.open)-1]
		if next != "" && strings.HasPrefix(next, last.path+"/") {
			return nil
		}
		if err := c.finish(last); err != nil {
			return explain(err, "finish directory", c.place.shown(last.path))
		}
		c.open = c.open[:len(c.open)-1]
	}
	return nil
}

// finish gives a directory its mode and times, and makes what is in it durable.
func (c *commit) finish(of *directory) error {
	dir, err := openBelow(c.place.dir, of.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, entryResolve)
	if err != nil {
		return err
	}
	defer drop(dir)
	there, err := statFile(dir)
	if err != nil {
		return err
	}
	if err := of.apply(dir, &there); err != nil && (of.made || !errors.Is(err, unix.EPERM)) {
		return err // a directory that was there may belong to somebody else: it stays as it was
	}
	if c.few {
		return c.root.syncs.file(dir)
	}
	return nil
}

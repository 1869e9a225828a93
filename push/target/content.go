package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// writeBack is after how many bytes of a file the kernel is asked to write them to the disk: steadily, so that Commit need not wait long.
const writeBack = 8 << 20

var errNoManifest = errors.New("the manifest is not done")

// begin holds the delivery open for a call about content; the caller unlocks life when there is no error.
func (d *Delivery) begin(block int) error {
	d.life.RLock()
	err := d.ready()
	if err == nil && (block < 0 || block >= d.layouts.content.Blocks()) {
		err = fmt.Errorf("block %d of a content of %d blocks", block, d.layouts.content.Blocks())
	}
	if err != nil {
		d.life.RUnlock()
	}
	return err
}

func (d *Delivery) ready() error {
	switch {
	case d.ended:
		return errEnded
	case d.index == nil:
		return errNoManifest
	}
	return nil
}

// Holds reports whether a block is on disk and verified: written, or matched.
func (d *Delivery) Holds(block int) bool {
	return block >= 0 && block < d.layouts.content.Blocks() && d.held.has(uint64(block))
}

// Write writes a block that was verified. One that is held already is not written again.
func (d *Delivery) Write(block int, payload []byte) error {
	if err := d.begin(block); err != nil {
		return err
	}
	defer d.life.RUnlock()
	if err := checkBlock(d.layouts.content, block, payload); err != nil || d.Holds(block) {
		return err
	}
	if d.order.Verify {
		return errors.New("nothing is written by a push that only compares")
	}
	offset := d.layouts.content.Offset(block)
	inPlace := false
	err := d.index.Pieces(offset, uint64(len(payload)), func(p manifest.Piece) error {
		inPlace = inPlace || d.placed.has(p.Number) || d.copied.has(p.Number)
		return explain(d.put(p, payload[p.Start-offset:][:p.Length]), "write", d.place.shown(p.Entry.Path))
	})
	if err == nil && inPlace && d.givesOwners() {
		err = d.noteWanted(block, manifest.HashOf(payload))
	}
	if err != nil {
		return err
	}
	return d.hold(block)
}

// hold marks a block, in memory and in the map.
func (d *Delivery) hold(block int) error {
	d.marking.Lock()
	defer d.marking.Unlock()
	d.held.add(uint64(block))
	if d.partial == nil {
		return nil
	}
	octet := []byte{d.held.octet(uint64(block)) | d.before.octet(uint64(block))}
	_, err := d.partial.marks.WriteAt(octet, int64(block/8))
	return explain(err, "write", d.partial.shown(mapFile))
}

// put writes a part of a file.
func (d *Delivery) put(p manifest.Piece, data []byte) error {
	if d.placed.has(p.Number) {
		same, err := d.samePlaced(p, data)
		switch {
		case err == nil && !same:
			err = d.diverge(p.Number, p.Entry)
		case isUnreadable(err) && whole(p): // nothing of it is held, as all of it is in this block
			err = d.replaceUnread(p.Number)
		}
		if err != nil || same {
			return err
		}
	}
	if whole(p) {
		return d.writeWhole(p.Number, p.Entry, data)
	}
	f, err := d.useData(p.Number, p.Entry)
	if err != nil {
		return err
	}
	defer d.files.done(f)
	if _, err := f.WriteAt(data, int64(p.At)); err != nil {
		return err
	}
	return f.startWriteBack(len(data))
}

// whole reports whether a piece is all of a file: a small one, which is not worth being kept open.
func whole(p manifest.Piece) bool { return p.Length == p.Entry.Size }

// writeWhole writes a small file, and gives it its mode and time at once, so that Commit has only to name it. There may be a
// million of them: no call to the kernel is made that need not be.
func (d *Delivery) writeWhole(number uint64, e *manifest.Entry, data []byte) error {
	m := d.metadataOf(e)
	fd, err := d.partial.create(dataName(number), m.whileWritten())
	if err != nil {
		return err
	}
	if err = writeAll(fd, data); err == nil {
		err = m.applyTime(fd)
	}
	return errors.Join(err, unix.Close(fd))
}

// writeAll writes all of it: a disk that is nearly full takes less at a time.
func writeAll(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		data = data[max(n, 0):]
	}
	return nil
}

// startWriteBack counts, and now and then has the kernel begin to write.
func (f *openFile) startWriteBack(n int) error {
	if f.dirty.Add(int64(n)) < writeBack {
		return nil
	}
	f.dirty.Store(0)
	err := unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESPIPE) {
		return nil // it only helps
	}
	return err
}

// useData opens the file of an entry in the partial, with room for all of it.
func (d *Delivery) useData(number uint64, e *manifest.Entry) (*openFile, error) {
	return d.files.use(fileKey{number, false}, func() (*os.File, error) { return d.openData(number, e) })
}

func (d *Delivery) openData(number uint64, e *manifest.Entry) (*os.File, error) {
	f, err := d.partial.openData(dataName(number), unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return nil, err
	}
	if err := d.partial.reserve(f, e); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// reserve gives a file its size, and room on the disk unless it is sparse.
func (p *partial) reserve(f *os.File, e *manifest.Entry) error {
	s, err := statFile(f)
	if err != nil || uint64(s.Size) == e.Size {
		return err
	}
	if e.Extents == nil && uint64(s.Size) < e.Size && !p.inMemory {
		err := unix.Fallocate(int(f.Fd()), 0, 0, int64(e.Size))
		if err == nil || !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
			return err
		}
	}
	return f.Truncate(int64(e.Size))
}

// usePlaced opens the file in place of an entry.
func (d *Delivery) usePlaced(number uint64, e *manifest.Entry) (*openFile, error) {
	return d.files.use(fileKey{number, true}, func() (*os.File, error) { return d.openPlaced(number, e) })
}

// openPlaced opens the file in place of an entry, if it is the one that was looked at: another could be put there for the time of reading.
// Whether somebody has written to it is for later, when all that will be read has been.
func (d *Delivery) openPlaced(number uint64, e *manifest.Entry) (*os.File, error) {
	f, err := d.openThere(d.place.dir, d.place.of(e.Path))
	if missing(err) {
		return nil, fmt.Errorf("%w (it has gone)", ErrChanged)
	}
	if err != nil {
		return nil, err
	}
	was, is, err := d.stamps(number, f)
	if err == nil && is.Inode != was.Inode {
		err = fmt.Errorf("%w (another file is there)", ErrChanged)
	}
	if err != nil {
		drop(f)
		return nil, err
	}
	return f, nil
}

// stamps are what the file in place of an entry was when it was looked at, and what it is.
func (d *Delivery) stamps(number uint64, f *os.File) (was, is stamp, err error) {
	there, err := statFile(f)
	if err != nil {
		return was, is, err
	}
	was, err = d.seen.get(number)
	return was, stampOf(&there), err
}

// stillSame checks that nobody else has changed the file in place of an entry since it was looked at.
func (d *Delivery) stillSame(number uint64, f *os.File) error {
	d.unlocking.Lock()
	defer d.unlocking.Unlock()
	was, is, err := d.stamps(number, f)
	if err == nil {
		err = d.unchanged(was, is)
	}
	return err
}

// samePlaced reports whether the file in place has the same data there.
func (d *Delivery) samePlaced(p manifest.Piece, data []byte) (bool, error) {
	f, err := d.usePlaced(p.Number, p.Entry)
	if err != nil {
		return false, err
	}
	defer d.files.done(f)
	there := make([]byte, len(data))
	if _, err := f.ReadAt(there, int64(p.At)); errors.Is(err, io.EOF) {
		return false, fmt.Errorf("%w (it is shorter)", ErrChanged)
	} else if err != nil {
		return false, err
	}
	return bytes.Equal(there, data), nil
}

// replaceUnread has a file in place that cannot be read replaced by what comes.
func (d *Delivery) replaceUnread(number uint64) error {
	if !d.order.Force {
		return ErrExists
	}
	d.placed.remove(number)
	return nil
}

// diverge gives an entry a file of its own in the partial, with the content of the one in place, some blocks of which may be held.
// Invariant: while an entry is placed, every byte of it that is held is in the file in place; afterwards, in the partial's.
func (d *Delivery) diverge(number uint64, e *manifest.Entry) error {
	d.diverging.Lock()
	defer d.diverging.Unlock()
	if !d.placed.has(number) {
		return nil
	}
	if !d.order.Force {
		return ErrExists
	}
	return d.copyOut(context.Background(), number, e) // Write has no end but its own
}

// copyOut makes the copy.
func (d *Delivery) copyOut(ctx context.Context, number uint64, e *manifest.Entry) error {
	name := dataName(number)
	if err := d.copyPlaced(ctx, number, e, name+copySuffix); err != nil {
		return err
	}
	// Under its name only when it is whole: what is there under a name counts when a push is resumed.
	if err := unix.Renameat(int(d.partial.data.Fd()), name+copySuffix, int(d.partial.data.Fd()), name); err != nil {
		return err
	}
	d.placed.remove(number)
	return nil
}

// copySuffix is of files that are being copied.
const copySuffix = ".copy"

// copyPlaced copies the file in place of an entry. Nobody may have written to it since it was looked at: the blocks that are held are now
// those of the copy, and are not hashed again.
func (d *Delivery) copyPlaced(ctx context.Context, number uint64, e *manifest.Entry, name string) error {
	from, err := d.openPlaced(number, e)
	if err != nil {
		return err
	}
	defer drop(from)
	to, err := d.copyData(ctx, from, e, name)
	if err != nil {
		return err
	}
	return errors.Join(d.stillSame(number, from), d.noteCopied(number, e, from), to.Close())
}

// copyData makes a copy in the partial.
func (d *Delivery) copyData(ctx context.Context, from *os.File, e *manifest.Entry, name string) (*os.File, error) {
	to, err := d.partial.openData(name, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC)
	if err != nil {
		return nil, err
	}
	if err := d.copyContent(ctx, to, from, e); err != nil {
		return nil, errors.Join(err, to.Close(), d.partial.discard(name))
	}
	return to, nil
}

// copyContent copies a file's data; the kernel does it, and shares it where it can.
func (d *Delivery) copyContent(ctx context.Context, to, from *os.File, e *manifest.Entry) error {
	if err := to.Truncate(int64(e.Size)); err != nil {
		return err
	}
	for _, part := range dataOf(e) {
		for _, f := range []*os.File{to, from} {
			if _, err := f.Seek(int64(part.Offset), io.SeekStart); err != nil {
				return err
			}
		}
		if err := d.copyBytes(ctx, to, from, part.Length); err != nil {
			return err
		}
	}
	return nil
}

// copiedAtOnce is how much is copied before it counts, and before anybody looks whether to go on.
const copiedAtOnce = 64 << 20

func (d *Delivery) copyBytes(ctx context.Context, to, from *os.File, left uint64) error {
	for left > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(to, from, int64(min(left, copiedAtOnce)))
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w (it is shorter)", ErrChanged)
		}
		if err != nil {
			return err
		}
		left -= uint64(n)
		d.moved.Add(uint64(n))
	}
	return nil
}

// dataOf is where an entry has data.
func dataOf(e *manifest.Entry) []manifest.Extent {
	if e.Extents == nil {
		return []manifest.Extent{{Length: e.Size}}
	}
	return e.Extents
}

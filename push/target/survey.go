package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// WriteManifest keeps a block of the manifest. Blocks may come again.
func (d *Delivery) WriteManifest(block int, payload []byte) error {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.ended {
		return errEnded
	}
	if err := checkBlock(d.layouts.manifest, block, payload); err != nil || d.index != nil {
		return err // one that is done is not written again: it has been checked
	}
	_, err := d.manifest.WriteAt(payload, int64(d.layouts.manifest.Offset(block)))
	return explain(err, "write", "manifest")
}

// ReadManifest reads a block of the manifest that was written.
func (d *Delivery) ReadManifest(block int, into []byte) error {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.ended {
		return errEnded
	}
	if err := checkBlock(d.layouts.manifest, block, into); err != nil {
		return err
	}
	_, err := d.manifest.ReadAt(into, int64(d.layouts.manifest.Offset(block)))
	return explain(err, "read", "manifest")
}

func checkBlock(l manifest.Layout, block int, payload []byte) error {
	if block < 0 || block >= l.Blocks() || len(payload) != l.Len(block) {
		return fmt.Errorf("block %d of %d bytes does not fit a stream of %d bytes in blocks of %d", block, len(payload), l.Size, l.Block)
	}
	return nil
}

// ManifestDone checks the manifest as a whole, and what is in the way of its entries. Progress is told of how much was looked at: entries, and
// pieces of files where there should be holes or which should be one.
func (d *Delivery) ManifestDone(ctx context.Context, progress func(looked uint64)) (err error) {
	d.life.Lock()
	defer d.life.Unlock()
	if d.ended {
		return errEnded
	}
	if d.index != nil {
		return nil
	}
	defer func() { d.wrong = isWrong(err) }()
	index, summary, err := manifest.Open(d.manifest, int64(d.order.Manifest.Size))
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if !summary.Equal(&d.order.Manifest) {
		return errOtherManifest
	}
	if err := errors.Join(d.seen.file.Truncate(0), d.wanted.file.Truncate(0), d.links.reset(summary.Entries)); err != nil {
		return fmt.Errorf("scratch file: %w", err)
	}
	d.placed, d.copied, d.counted, d.need = newBitset(summary.Entries), newBitset(summary.Entries), newBitset(summary.Entries), 0
	blocks := uint64(d.layouts.content.Blocks())
	d.hashed, d.unread, d.lost = newBitset(blocks), newBitset(blocks), newBitset(summary.Entries)
	if err := (&survey{Delivery: d, ctx: ctx, progress: progress, index: index}).run(); err != nil {
		return err
	}
	d.index = index
	return nil
}

var errOtherManifest = errors.New("the manifest is not the one that was announced")

// isWrong reports whether nothing can ever come of a push, because the list of its files is wrong.
func isWrong(err error) bool {
	return errors.Is(err, manifest.ErrManifest) || errors.Is(err, manifest.ErrEntry) || errors.Is(err, errOtherManifest)
}

// survey looks at what is in place already.
type survey struct {
	*Delivery
	ctx      context.Context
	progress func(looked uint64)
	looked   uint64
	index    *manifest.Index
	folders  folders
	mount    mount   // of DEST
	firsts   *firsts // nil until a hard link comes
	exists   names   // files that are different for certain
}

func (s *survey) run() (err error) {
	s.folders.dest = s.place.dir
	if s.mount, err = mountOf(s.place.dir); err != nil {
		return err
	}
	defer s.end()
	if err := s.index.Entries(s.entry); err != nil {
		return err
	}
	if err := context.Cause(s.ctx); err != nil {
		return err
	}
	if s.exists.count > 0 && !s.order.Force && !s.order.Verify {
		return s.exists.conflict()
	}
	if s.order.Verify {
		return nil
	}
	return s.root.room(s.need)
}

// step is taken often, however long it all takes.
func (s *survey) step() error {
	s.looked++
	if s.progress != nil {
		s.progress(s.looked)
	}
	return context.Cause(s.ctx)
}

func (s *survey) entry(number, at uint64, e *manifest.Entry) error {
	if err := s.step(); err != nil {
		return err
	}
	if err := s.check(number, e); err != nil {
		return err
	}
	there, err := s.look(e)
	if missing(err) {
		s.need += s.lacking(number, at, e)
		return nil
	}
	if err != nil && !s.order.Verify {
		return explain(err, "look at", s.place.shown(e.Path))
	}
	if err == nil {
		if err := s.compare(number, at, e, &there); err != nil && !s.order.Verify {
			return err
		}
	}
	return nil
}

// started reports whether an earlier attempt has begun to write a file.
func (s *survey) started(number uint64) bool {
	return s.partial != nil && s.partial.old && s.partial.has(number)
}

// lacking is how many bytes a file will take that it does not take yet. What a file of the partial takes is what has room on the disk, or
// has come: a filesystem that packs its files has less of them on the disk than they have bytes.
func (s *survey) lacking(number, at uint64, e *manifest.Entry) uint64 {
	if !s.started(number) {
		return e.Content()
	}
	takes := max(s.partial.allocated(number), s.came(at, e.Content()))
	return e.Content() - min(takes, e.Content())
}

// came is how many bytes of a part of the content an earlier attempt has written.
func (s *survey) came(at, length uint64) (bytes uint64) {
	l := s.layouts.content
	for block := range s.blocksOf(at, length) {
		if s.before.has(block) {
			begin := l.Offset(int(block))
			bytes += min(begin+uint64(l.Len(int(block))), at+length) - max(begin, at)
		}
	}
	return bytes
}

// look is what is in place of an entry.
func (s *survey) look(e *manifest.Entry) (unix.Stat_t, error) {
	if s.place.absent() {
		return unix.Stat_t{}, unix.ENOENT
	}
	dir, name, err := s.folders.of(s.place.of(e.Path))
	if err != nil {
		return unix.Stat_t{}, err
	}
	return statAt(dir, name)
}

// compare judges what is in place of an entry by all but its content.
func (s *survey) compare(number, at uint64, e *manifest.Entry, there *unix.Stat_t) error {
	path := s.place.shown(e.Path)
	if isKind(there, unix.S_IFDIR) != (e.Kind == manifest.Directory) {
		if e.Kind == manifest.Directory {
			return fmt.Errorf("%q: %w", path, ErrNotDirectory)
		}
		return fmt.Errorf("%q: %w", path, ErrIsDirectory)
	}
	switch e.Kind {
	case manifest.Directory:
		return s.enter(e)
	case manifest.File:
		return s.file(number, at, e, there)
	case manifest.Symlink, manifest.Hardlink:
		if !s.sameLink(e, there) && !s.sameAsFirst(e, there) {
			s.exists.add(path)
		}
	}
	return nil
}

// enter sees to it that what is in a directory can be looked at: one of our own may be closed to us. Commit gives it its mode, or
// Keep the one that it had.
func (s *survey) enter(e *manifest.Entry) error {
	dir, name, err := s.folders.of(s.place.of(e.Path))
	if err == nil && !s.order.Verify {
		err = s.place.sameMount(s.mount, dir, name, e.Path)
	}
	if err != nil || s.order.Verify || unix.Faccessat(int(dir.Fd()), name, unix.X_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW) == nil {
		return err
	}
	was, err := admit(dir, name, e.Path)
	if was != nil {
		s.admitted = append(s.admitted, was)
	}
	return explain(err, "enter", s.place.shown(e.Path))
}

// file judges what is in place of a file.
func (s *survey) file(number, at uint64, e *manifest.Entry, there *unix.Stat_t) error {
	same := isKind(there, unix.S_IFREG) && uint64(there.Size) == e.Size && s.readable(e, there)
	if same {
		if err := s.watch(there); err != nil {
			return err
		}
		s.settle(there)
		same = s.holesAreEmpty(e, there)
	}
	if !same {
		s.need += s.lacking(number, at, e)
		s.exists.add(s.place.shown(e.Path))
		return nil
	}
	if s.started(number) {
		return nil // the partial has its content, and Commit compares before it gives anything its name
	}
	s.countCopy(number, e, there)
	return s.remember(number, there)
}

// readable reports whether what is in place can be read. Of a file of somebody else nobody will ever know whether it is the same: it is taken
// for another one, which Force replaces.
func (s *survey) readable(e *manifest.Entry, there *unix.Stat_t) bool {
	if isClosed(there) {
		return !s.order.Verify
	}
	dir, name, err := s.folders.of(s.place.of(e.Path))
	return err == nil && unix.Faccessat(int(dir.Fd()), name, unix.R_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW) == nil
}

// watch has our own changes of a file known, before there are any.
func (s *survey) watch(there *unix.Stat_t) error {
	if there.Nlink > 1 || isClosed(there) {
		return s.links.add(stampOf(there).Inode)
	}
	return nil
}

// settle waits until a file is older than a tick of its clock. It is read after that: whatever is written later is seen by its ctime.
func (s *survey) settle(there *unix.Stat_t) {
	if wait := unsettled(there, time.Now()); wait > 0 {
		select {
		case <-time.After(wait):
		case <-s.ctx.Done(): // the next step says so
		}
	}
}

// remember takes the file in place for that of the entry, and keeps what it is before anything of it is read.
func (s *survey) remember(number uint64, there *unix.Stat_t) error {
	if err := s.seen.put(number, stampOf(there)); err != nil {
		return err
	}
	s.placed.add(number)
	return nil
}

// sameLink reports whether the link of an entry is in place. The survey holds the folder of the entry open.
func (s *survey) sameLink(e *manifest.Entry, there *unix.Stat_t) bool {
	if e.Kind == manifest.Symlink {
		dir, name, err := s.folders.of(s.place.of(e.Path))
		return err == nil && isKind(there, unix.S_IFLNK) && linkAt(dir, name) == e.Link
	}
	first, err := openBelow(s.place.dir, e.Link, unix.O_PATH|unix.O_NOFOLLOW, entryResolve)
	if err != nil {
		return false
	}
	defer drop(first)
	f, err := statFile(first)
	return err == nil && stampOf(&f).Inode == stampOf(there).Inode
}

// sameAsFirst reports whether what is in place of a hard link is identical to its first name, though it is a file of its own: Commit makes
// them one, and nobody has to say Force. A commit that was interrupted between the two may have left them so.
func (s *survey) sameAsFirst(e *manifest.Entry, there *unix.Stat_t) bool {
	if e.Kind != manifest.Hardlink || !isKind(there, unix.S_IFREG) || s.order.Force || s.order.Verify {
		return false
	}
	first, err := s.openThere(s.place.dir, e.Link)
	if err != nil {
		return false
	}
	defer drop(first)
	second, err := s.openThere(s.place.dir, s.place.of(e.Path))
	if err != nil {
		return false
	}
	defer drop(second)
	return sameSize(first, second) && sameBytes(first, stepping{second, s})
}

// stepping takes a step with each read.
type stepping struct {
	io.Reader
	*survey
}

func (s stepping) Read(into []byte) (int, error) {
	if err := s.step(); err != nil {
		return 0, err
	}
	return s.Reader.Read(into)
}

// linkAt is where a link leads, or "".
func linkAt(dir *os.File, name string) string {
	into := make([]byte, manifest.MaxPath+1)
	n, err := unix.Readlinkat(int(dir.Fd()), name, into)
	if err != nil {
		return ""
	}
	return string(into[:n])
}

// holesAreEmpty reports whether the file in place has nothing but zeros where the entry has no data: blocks do not tell.
func (s *survey) holesAreEmpty(e *manifest.Entry, there *unix.Stat_t) bool {
	if e.Extents == nil {
		return true
	}
	f, err := s.openThere(s.place.dir, s.place.of(e.Path))
	if err != nil {
		return false
	}
	defer drop(f)
	if is, err := statFile(f); err != nil || s.unchanged(stampOf(there), stampOf(&is)) != nil {
		return false
	}
	at := uint64(0)
	for _, extent := range append(e.Extents[:len(e.Extents):len(e.Extents)], manifest.Extent{Offset: e.Size}) {
		if !s.zeros(f, at, extent.Offset) {
			return false
		}
		at = extent.Offset + extent.Length
	}
	return true
}

// zeros reports whether a part of a file is zero. Holes are not read.
func (s *survey) zeros(f *os.File, from, to uint64) bool {
	buffer := make([]byte, 64<<10)
	for from < to && s.step() == nil {
		data, err := f.Seek(int64(from), unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) || err == nil && uint64(data) >= to {
			return true
		}
		if err == nil {
			from = uint64(data)
		}
		n, err := f.ReadAt(buffer[:min(uint64(len(buffer)), to-from)], int64(from))
		if err != nil && !errors.Is(err, io.EOF) || n == 0 || strings.Trim(string(buffer[:n]), "\x00") != "" {
			return false
		}
		from += uint64(n)
	}
	return from >= to
}

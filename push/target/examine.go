package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// maxExaminers is how many blocks are hashed at a time, of all pushes, each in memory of its own.
const maxExaminers = 4

// newExaminers is the memory for that, which grows with the blocks.
func newExaminers() chan []byte {
	all := make(chan []byte, min(maxExaminers, runtime.GOMAXPROCS(0)))
	for range cap(all) {
		all <- nil
	}
	return all
}

// Read reads a block that is held.
func (d *Delivery) Read(block int, into []byte) error {
	if err := d.begin(block); err != nil {
		return err
	}
	defer d.life.RUnlock()
	if !d.Holds(block) {
		return fmt.Errorf("block %d is not here", block)
	}
	return d.read(block, into)
}

// read reads what is on disk of a block. All files that have a part of it are tried: which of those in place cannot be read is noted.
func (d *Delivery) read(block int, into []byte) error {
	if err := checkBlock(d.layouts.content, block, into); err != nil {
		return err
	}
	offset := d.layouts.content.Offset(block)
	var failed error
	err := d.index.Pieces(offset, uint64(len(into)), func(p manifest.Piece) error {
		err := d.get(p, into[p.Start-offset:][:p.Length])
		if d.placed.has(p.Number) && isUnreadable(err) {
			d.lost.add(p.Number)
		}
		failed = cmp.Or(failed, explain(err, "read", d.place.shown(p.Entry.Path)))
		return nil
	})
	return cmp.Or(err, failed)
}

// isUnreadable reports whether an error says that a file cannot be read, and not that somebody has changed it.
func isUnreadable(err error) bool {
	return err != nil && !errors.Is(err, ErrChanged) && !errors.Is(err, io.EOF)
}

func (d *Delivery) get(p manifest.Piece, into []byte) error {
	f, err := d.useSource(p)
	if err != nil {
		return err
	}
	defer d.files.done(f)
	_, err = f.ReadAt(into, int64(p.At))
	return err
}

// useSource opens the file that has a piece. Small files are read once or twice, one after the other: it does no harm that they take
// the place of others among the open ones.
func (d *Delivery) useSource(p manifest.Piece) (*openFile, error) {
	if d.placed.has(p.Number) {
		return d.usePlaced(p.Number, p.Entry)
	}
	if d.partial == nil {
		return nil, unix.ENOENT
	}
	return d.files.use(fileKey{p.Number, false}, func() (*os.File, error) {
		return d.partial.openData(dataName(p.Number), unix.O_RDWR)
	})
}

// Examine hashes the blocks that may be here: those that an earlier attempt has written, and those of files in place. Progress
// is told of bytes, by one goroutine at a time. It returns how many blocks Match can be asked about.
func (d *Delivery) Examine(ctx context.Context, progress func(done, total uint64)) (candidates int, err error) {
	if err := d.begin(0); err != nil {
		return 0, err
	}
	defer d.life.RUnlock()
	set, err := d.candidates()
	if err != nil || set.count() == 0 { // as a rule nothing is here
		return 0, err
	}
	e := &examination{Delivery: d, set: set, progress: progress}
	for block := range d.layouts.content.Blocks() {
		if set.has(uint64(block)) {
			e.total += uint64(d.layouts.content.Len(block))
		}
	}
	if err := e.run(ctx); err != nil {
		return 0, err
	}
	err = d.forgetLost()
	return d.hashed.count(), err
}

// forgetLost takes the files in place that cannot be read for others, before a block of them matches: what is held must be read again.
func (d *Delivery) forgetLost() error {
	if d.order.Verify || d.lost.count() == 0 {
		return nil
	}
	return d.index.Entries(func(number, at uint64, e *manifest.Entry) error {
		if d.lost.has(number) {
			d.placed.remove(number)
			for block := range d.blocksOf(at, e.Content()) {
				d.hashed.remove(block)
			}
		}
		return nil
	})
}

// candidates are the blocks that may be here.
func (d *Delivery) candidates() (bitset, error) {
	l := d.layouts.content
	set := newBitset(uint64(l.Blocks()))
	if d.placed.count() > 0 && l.Size > 0 {
		if err := d.wholePlaced(set); err != nil {
			return nil, err
		}
	}
	for i := range d.before { // it has the same room, or none
		set[i].Or(d.before[i].Load())
	}
	return set, nil
}

// wholePlaced finds the blocks all of whose files are in place.
func (d *Delivery) wholePlaced(set bitset) error {
	for block := range uint64(d.layouts.content.Blocks()) {
		set.add(block)
	}
	return d.index.Entries(func(number, at uint64, e *manifest.Entry) error {
		if !d.placed.has(number) {
			for block := range d.blocksOf(at, e.Content()) {
				set.remove(block)
			}
		}
		return nil
	})
}

// blocksOf goes through the blocks that have a part of the content.
func (d *Delivery) blocksOf(at, length uint64) func(yield func(uint64) bool) {
	size := uint64(d.layouts.content.Block)
	return func(yield func(uint64) bool) {
		for block := at / size; length > 0 && block <= (at+length-1)/size; block++ {
			if !yield(block) {
				return
			}
		}
	}
}

// examination is one run of Examine.
type examination struct {
	*Delivery
	set      bitset
	progress func(done, total uint64)
	total    uint64

	mutex sync.Mutex
	next  int    // block
	done  uint64 // bytes
}

// run hashes with a few goroutines, and waits for them.
func (e *examination) run(ctx context.Context) error {
	var group sync.WaitGroup
	errs := make([]error, cap(e.root.examiners))
	for i := range errs {
		group.Go(func() { errs[i] = e.runOne(ctx) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// runOne hashes blocks until there are no more.
func (e *examination) runOne(ctx context.Context) error {
	for block, ok := e.take(); ok; block, ok = e.take() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case buffer := <-e.root.examiners:
			n := e.layouts.content.Len(block)
			buffer = slices.Grow(buffer[:0], n)[:n]
			err := e.hash(block, buffer)
			e.root.examiners <- buffer
			if err != nil {
				return err
			}
			e.count(n)
		}
	}
	return nil
}

// hash hashes a block. One that cannot be read is not here: that is no error.
func (e *examination) hash(block int, buffer []byte) error {
	if err := e.read(block, buffer); err == nil {
		return e.keep(block, manifest.HashOf(buffer))
	}
	e.unread.add(uint64(block))
	return nil
}

// take gives out the next block.
func (e *examination) take() (block int, ok bool) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for ; e.next < e.layouts.content.Blocks(); e.next++ {
		if e.set.has(uint64(e.next)) {
			e.next++
			return e.next - 1, true
		}
	}
	return 0, false
}

func (e *examination) keep(block int, hash manifest.Hash) error {
	if _, err := e.hashes.WriteAt(hash[:], int64(block)*int64(len(hash))); err != nil {
		return explain(err, "write", "hashes of what is there")
	}
	e.hashed.add(uint64(block))
	return nil
}

func (e *examination) count(n int) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.done += uint64(n)
	if e.progress != nil {
		e.progress(e.done, e.total)
	}
}

// Match reports whether a block that was examined has the hash that it should have. Then it is held.
func (d *Delivery) Match(block int, want manifest.Hash) bool {
	if d.begin(block) != nil {
		return false
	}
	defer d.life.RUnlock()
	if !d.hashed.has(uint64(block)) {
		return false
	}
	var there manifest.Hash
	if _, err := d.hashes.ReadAt(there[:], int64(block)*int64(len(there))); err != nil || there != want {
		return false
	}
	return d.noteWanted(block, want) == nil && d.hold(block) == nil
}

// Conflicts is asked when all that can match has matched, and before content is written: without Force, files in place that are different
// are an error; with it, they need space too. Files that share all their blocks with others are judged later, by Write.
func (d *Delivery) Conflicts() error {
	d.life.Lock()
	defer d.life.Unlock()
	if err := d.ready(); err != nil || d.order.Verify {
		return err
	}
	var different names
	need := d.need
	err := d.index.Entries(func(number, at uint64, e *manifest.Entry) error {
		if !d.lost.has(number) && (!d.placed.has(number) || !d.differs(at, e.Content())) {
			return nil
		}
		different.add(d.place.shown(e.Path))
		if !d.counted.has(number) {
			need += d.replacement(at, e.Content())
		}
		if !d.anyHeld(at, e.Content()) {
			d.placed.remove(number) // nothing of it is of use
		}
		return nil
	})
	switch {
	case err != nil || different.count == 0:
		return err
	case !d.order.Force:
		return different.conflict()
	}
	return d.root.room(need)
}

// replacement is how many bytes a file will take, beside the one that it replaces: a copy of that may share what is held.
func (d *Delivery) replacement(at, length uint64) (bytes uint64) {
	if !d.partial.shares {
		return length
	}
	for block := range d.blocksOf(at, length) {
		if !d.held.has(block) {
			bytes += uint64(d.layouts.content.Len(int(block)))
		}
	}
	return min(bytes, length)
}

// differs reports whether a block that is of one file alone was examined and is not what it should be.
func (d *Delivery) differs(at, length uint64) bool {
	for block := range d.blocksOf(at, length) {
		begin := d.layouts.content.Offset(int(block))
		alone := begin >= at && begin+uint64(d.layouts.content.Len(int(block))) <= at+length
		if alone && d.hashed.has(block) && !d.held.has(block) {
			return true
		}
	}
	return false
}

func (d *Delivery) anyHeld(at, length uint64) bool {
	for block := range d.blocksOf(at, length) {
		if d.held.has(block) {
			return true
		}
	}
	return false
}

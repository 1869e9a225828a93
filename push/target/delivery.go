package target

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// Delivery is one push at this host. Its methods may be called by several goroutines; those that end it wait for the others.
type Delivery struct {
	root     *Root
	order    Order
	place    *place
	claim    *claim
	partial  *partial // nil: only compared
	manifest *os.File // of the partial, or without a name
	hashes   *os.File // of blocks that were examined; without a name
	files    *files
	layouts  struct{ manifest, content manifest.Layout }

	life   sync.RWMutex // writers end the delivery, or change what it stands on
	ended  bool
	wrong  bool            // the manifest is
	index  *manifest.Index // nil until the manifest is done
	placed bitset          // entries whose content so far is that of the file in place
	seen   records[stamp]  // what those files were when they were first looked at, by the number of the entry
	links  links           // those of them whose ctime changes when we rename others, or read them
	before bitset          // blocks that the partial's map had
	hashed bitset          // blocks that were examined
	unread bitset          // blocks that should have been, and could not be read
	lost   bitset          // entries whose file in place was the cause: no longer placed
	named  atomic.Uint64   // entries that Commit has given their names
	moved  atomic.Uint64   // bytes that were copied here, or compared once more
	need   uint64          // bytes of files that are not in place, and of copies of some that are

	admitted []*admitted // directories that could not even be entered: few

	// With owners only.
	wanted  records[manifest.Hash] // of held blocks that have a part of a file in place, or of a copy of one
	copied  bitset                 // entries whose file in the partial was copied from one that others could write to
	counted bitset                 // entries whose copy is in need

	marking sync.Mutex // of held and the map
	held    bitset     // blocks that are on disk and verified

	diverging sync.Mutex
	unlocking sync.Mutex
}

var errEnded = errors.New("the delivery has ended")

// Preflight checks whether a push could begin, and changes nothing.
func (r *Root) Preflight(o Order) error {
	p, err := r.check(&o)
	if err != nil {
		return err
	}
	defer drop(p.dir)
	if o.Verify {
		return nil
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.free(&claim{InUse{Dest: o.Dest}, claimed(&o, p)})
}

// Begin begins a push: it checks what Preflight does, keeps other pushes away, and opens what is there of a former attempt.
func (r *Root) Begin(o Order) (*Delivery, error) {
	p, err := r.check(&o)
	if err != nil {
		return nil, err
	}
	d := &Delivery{root: r, order: o, place: p, files: newFiles()}
	d.layouts.manifest = manifest.NewLayout(manifest.ManifestStream, o.Manifest.Size, o.Block)
	d.layouts.content = manifest.NewLayout(manifest.ContentStream, o.Manifest.Content, o.Block)
	d.held = newBitset(uint64(d.layouts.content.Blocks()))
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *Delivery) open() (err error) {
	if !d.order.Verify { // who only compares disturbs nobody
		if d.claim, err = d.root.claim(&d.order, d.place); err != nil {
			return err
		}
	}
	for _, f := range []**os.File{&d.hashes, &d.seen.file, &d.links.file, &d.wanted.file} {
		if *f, err = d.root.scratch(); err != nil {
			return err
		}
	}
	if d.order.Verify {
		d.manifest, err = d.root.scratch()
		return err
	}
	if d.partial, err = d.root.openPartial(&d.order, d.place); err != nil {
		return err
	}
	d.manifest = d.partial.manifest
	return d.takeOver()
}

// takeOver reads what the former attempt has left, and makes the map fit the blocks of this one.
func (d *Delivery) takeOver() (err error) {
	if d.before, err = d.partial.claimed(d.layouts.content); err != nil {
		return fmt.Errorf("read the map of a former attempt: %w", err)
	}
	octets := make([]byte, (d.layouts.content.Blocks()+7)/8)
	for i := range octets {
		octets[i] = d.before.octet(uint64(i) * 8)
	}
	if d.partial.info.Block != d.order.Block || !d.partial.old {
		if err := d.partial.writeMap(d.order.Block, octets); err != nil {
			return err
		}
	}
	if err := d.partial.writeInfo(info{d.order.ID, d.order.Owner, d.order.Dest, d.order.Block, time.Now()}); err != nil {
		return err
	}
	return d.partial.takeMap(d.order.Block)
}

// scratch opens a file without a name.
func (r *Root) scratch() (*os.File, error) {
	fd, err := unix.Openat(int(r.at.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), "scratch"), nil
	}
	// A filesystem that has no such files, or may only be read: anywhere will do.
	f, err := os.CreateTemp("", "weft-*")
	if err != nil {
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	return f, os.Remove(f.Name())
}

// Partial reports whether there was something of an earlier attempt.
func (d *Delivery) Partial() bool { return d.partial != nil && d.partial.old }

// Manifest is how the manifest is cut into blocks.
func (d *Delivery) Manifest() manifest.Layout { return d.layouts.manifest }

// Content is how the content is cut into blocks.
func (d *Delivery) Content() manifest.Layout { return d.layouts.content }

// Keep ends the delivery. What was written stays, for the next push of the same. After a Commit it does nothing.
func (d *Delivery) Keep() error {
	d.life.Lock()
	defer d.life.Unlock()
	if d.ended {
		return nil
	}
	return d.close()
}

// close lets go of everything.
func (d *Delivery) close() error {
	d.ended = true
	errs := []error{d.files.close(), d.closeAgain(), d.place.close()}
	for _, f := range []*os.File{d.hashes, d.seen.file, d.links.file, d.wanted.file} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	switch {
	case d.partial != nil && d.wrong && !d.partial.old: // nobody will go on with it
		errs = append(errs, d.partial.remove())
	case d.partial != nil:
		errs = append(errs, d.partial.close())
	case d.manifest != nil:
		errs = append(errs, d.manifest.Close())
	}
	if d.claim != nil {
		d.root.release(d.claim)
	}
	return errors.Join(errs...)
}

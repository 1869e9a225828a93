package soft

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/verbs/driver"
)

// maxAlloc bounds the memory of one Alloc, so that a wrong size is an error and not an exhausted machine's.
const maxAlloc = 1 << 40

// Domain groups what may meet. It implements driver.Domain, driver.Allocator and driver.SharedReceiver. Any goroutine
// may use it.
type Domain struct {
	device *Device
	number uint64 // among the domains of the device, from 1
	keys   *keyTable

	fragile atomic.Bool // some memory is, or was, a file that may be truncated

	mu       sync.Mutex // taken last: nobody who holds it takes another lock
	closed   bool
	children int     // memories, queue pairs and shared receives that are open
	lives    []*life // whose gates somebody may be inside of; each knows its place
}

// Register makes b known to the NIC. It must lie outside the Go heap and stay mapped until the memory is closed.
//
// A slice does not tell where it lies, so memory of the Go heap is taken without complaint. It works: the region keeps
// it alive, and Go does not move it. But there the race detector sees the NIC's plain copies, and reports a program that
// reads with Load64 what peers write; and other providers, or a peer in another process, cannot reach it.
//
// Peers that share memory reach a memfd, or a file, that was mapped shared from the beginning of a page on. Other memory
// can be the source of a request to them, or take what they answer, and nothing else.
func (d *Domain) Register(b []byte, access driver.Access) (driver.Memory, error) {
	var file *backing
	if d.device.arena != nil && len(b) > 0 {
		var err error
		if file, err = backingOf(b, uintptr(unsafe.Pointer(unsafe.SliceData(b)))); err != nil {
			return nil, err
		}
		if file == nil && access != 0 {
			d.device.config.Log.Info("registered memory is private: peers that share memory cannot reach it; map a memfd, or Alloc",
				"device", d.device.config.Name, "bytes", len(b))
		}
	}
	m, err := d.adopt(b, nil, file, access)
	if err != nil {
		file.close()
	}
	return m, err
}

// Alloc maps size fresh zero bytes, page-aligned, and registers them.
func (d *Domain) Alloc(size int, access driver.Access) (driver.Memory, error) {
	if size > maxAlloc {
		return nil, fmt.Errorf("soft: alloc: size %d is more than %d: %w", size, maxAlloc, driver.ErrLimit)
	}
	pages, file, err := d.newPages(wholePages(size))
	if err != nil {
		return nil, fmt.Errorf("soft: alloc: %d bytes: %w", size, err)
	}
	m, err := d.adopt(pages[:size:size], pages, file, access)
	if err != nil {
		file.close()
		return nil, errors.Join(err, unix.Munmap(pages))
	}
	return m, nil
}

// newPages maps pages: of a file that other processes can map too, if there may be any.
func (d *Domain) newPages(size int) ([]byte, *backing, error) {
	if d.device.arena == nil {
		b, err := mapPrivate(size)
		return b, nil, err
	}
	fd, err := newMemfd("weft-memory", int64(size))
	if err != nil {
		return nil, nil, err
	}
	file := &backing{fd: fd, owned: true, size: int64(size), extents: []extent{{length: uint64(size)}}}
	b, err := mapShared(fd, 0, size)
	if err != nil {
		closeDescriptor(fd)
		return nil, nil, err
	}
	return b, file, nil
}

// hugePage is the size of the pages that mapPrivate asks for: one translation does for 512 ordinary ones. Sending 256 MiB to
// three processes over TCP took 154 ms with them and 169 without (medians of four runs each, alternating).
const hugePage = 2 << 20

// mapPrivate maps pages of this process alone, huge ones if the system has them to give.
func mapPrivate(size int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil && size >= hugePage {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // a wish: ordinary pages do too
	}
	return b, err
}

// adopt registers b as a new child. If pages is not nil, the memory unmaps them when it is closed.
func (d *Domain) adopt(b, pages []byte, file *backing, access driver.Access) (driver.Memory, error) {
	if err := d.bear(); err != nil {
		return nil, err
	}
	m, err := newMemory(d, b, pages, file, access)
	if err != nil {
		d.drop()
		return nil, err
	}
	if access != 0 {
		d.offer(m)
	}
	return m, nil
}

// Close frees the domain, which must be empty.
func (d *Domain) Close() error {
	if err := d.close(); err != nil {
		return fmt.Errorf("soft: close domain: %w", err)
	}
	d.device.forgetDomain(d)
	return nil
}

func (d *Domain) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("already %w", driver.ErrClosed)
	}
	if d.children > 0 {
		return fmt.Errorf("%d of its memories, queue pairs and shared receives are open", d.children)
	}
	d.closed = true
	return nil
}

// bear counts a new child, drop the end of one.
func (d *Domain) bear() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("soft: domain is %w", driver.ErrClosed)
	}
	d.children++
	return nil
}

func (d *Domain) drop() {
	d.mu.Lock()
	d.children--
	d.mu.Unlock()
}

// admit lets l be seen by those who revoke; retire ends that, when nobody can be inside its gates any more.
func (d *Domain) admit(l *life) {
	d.mu.Lock()
	l.place = len(d.lives)
	d.lives = append(d.lives, l)
	d.mu.Unlock()
}

func (d *Domain) retire(l *life) {
	d.mu.Lock()
	last := len(d.lives) - 1
	d.lives[l.place] = d.lives[last]
	d.lives[l.place].place = l.place
	d.lives[last] = nil
	d.lives = d.lives[:last]
	d.mu.Unlock()
}

// visitors returns who is inside the gates of the domain: peers that operate on its memory.
func (d *Domain) visitors() []visitor {
	d.mu.Lock()
	defer d.mu.Unlock()
	var inside []visitor
	for _, l := range d.lives {
		inside = l.addVisitor(inside)
	}
	return inside
}

// everybody returns who is inside in either direction: peers that operate on the domain's memory, and queue pairs of the
// domain that use its memory for operations of their own.
func (d *Domain) everybody() []visitor {
	d.mu.Lock()
	defer d.mu.Unlock()
	var inside []visitor
	for _, l := range d.lives {
		inside = l.addVisitor(inside)
		if p := l.peer.Load(); p != nil && p.neighbour == nil {
			inside = p.addVisitor(inside)
		}
	}
	return inside
}

// quiesce waits until no queue pair of the domain uses its memory for an operation at a neighbour's. Their gates are not
// asked: a neighbour might have evicted us, and we go on reading all the same.
func (d *Domain) quiesce() {
	d.mu.Lock()
	queues := make(map[*CompletionQueue]struct{})
	var last *CompletionQueue // most report to the same
	for _, l := range d.lives {
		if c := l.bell.cq; c != last && l.tied() != nil {
			last = c
			queues[c] = struct{}{}
		}
	}
	d.mu.Unlock()
	for c := range queues {
		c.mu.Lock()
		c.mu.Unlock() //nolint:staticcheck // whoever held it has looked at the dead region's word since
	}
}

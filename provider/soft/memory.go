package soft

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Memory is memory registered with a domain. It implements driver.Memory, driver.MemoryAccess and driver.Retirer.
type Memory struct {
	domain  *Domain
	region  *region
	pages   []byte      // what Close unmaps; nil if the bytes belong to the caller
	backing *backing    // nil: private to this process
	offered atomic.Bool // neighbours are shown it before they ask

	mu     sync.Mutex
	closed bool
}

func newMemory(d *Domain, b, pages []byte, file *backing, access driver.Access) (*Memory, error) {
	control, serial, err := d.device.controls.take(d.device.arena, access)
	if err != nil {
		return nil, err
	}
	m := &Memory{domain: d, pages: pages, backing: file}
	r := &region{placedControl: control, bytes: b, base: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))), memory: m, mask: serialMask,
		serial: serial, fragile: file != nil && file.fragile}
	m.region = r
	if r.fragile {
		d.fragile.Store(true)
	}
	if err := d.keys.add(r); err != nil {
		d.device.controls.give(control)
		return nil, err
	}
	return m, nil
}

// Region describes the memory. Its keys never change.
func (m *Memory) Region() driver.Region {
	r := m.region
	return driver.Region{Bytes: r.bytes, Address: r.base, Length: uint64(len(r.bytes)), LocalKey: r.localKey,
		RemoteKey: r.remoteKey}
}

// SetAccess changes what peers may do to the memory. It completes on queue as OpMemoryAccess as soon as everybody who
// might have seen the old access has left the gates of the domain.
func (m *Memory) SetAccess(queue driver.CompletionQueue, tag driver.Tag, access driver.Access) error {
	c := queue.(*CompletionQueue)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return fmt.Errorf("soft: memory access: memory is %w", driver.ErrClosed)
	}
	if err := c.enter(); err != nil {
		return err
	}
	defer c.exit()
	if access != 0 {
		m.domain.offer(m)
	}
	m.region.change(alive | uint64(access))
	c.fence(fence{tag: tag, visitors: m.domain.visitors()})
	return nil
}

// Close ends every capability on the memory and, if it came from Alloc, unmaps it. It waits for operations under way
// on the memory, each of which copies at most a quantum before it looks again.
func (m *Memory) Close() error {
	free, err := m.Retire()
	if err != nil {
		return err
	}
	return free()
}

// Retire implements driver.Retirer.
func (m *Memory) Retire() (free func() error, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fmt.Errorf("soft: close memory: already %w", driver.ErrClosed)
	}
	m.closed = true
	m.region.change(0)
	for _, v := range m.domain.everybody() { // the domain goes on meanwhile
		v.awaitLeft()
	}
	m.domain.quiesce()
	m.domain.keys.remove(m.region)
	m.domain.device.controls.give(m.region.placedControl)
	m.domain.drop()
	fd := m.backing.hide()
	m.announceClosed()
	return func() error { return m.free(fd) }, nil
}

// free gives the bytes back, and their file.
func (m *Memory) free(fd int) error {
	m.backing.drop(fd)
	if m.pages == nil {
		return nil
	}
	if err := unix.Munmap(m.pages); err != nil {
		return fmt.Errorf("soft: close memory: unmap %d bytes: %w", len(m.pages), err)
	}
	return nil
}

package ibv

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// memory is bytes that the device may touch. It is registered once for this end, with a key that stays, and once more for peers if they may
// do anything. A change of access makes that second registration anew: not every device can change one in place (rxe cannot), and a local
// request under way must not notice. What is lent through windows does not ask that access: they are bound to the first registration.
type memory struct {
	domain *domain
	bytes  []byte
	mapped bool // by Alloc
	local  *native.Memory

	mu     sync.Mutex
	remote *native.Memory // nil: peers may do nothing
	closed bool
}

// Register makes b known to the device.
func (d *domain) Register(b []byte, access driver.Access) (driver.Memory, error) {
	if d.device.lost.Load() {
		return nil, d.device.errLost()
	}
	m := &memory{domain: d, bytes: b}
	var err error
	if m.local, err = d.register(b, d.localAccess()); err != nil {
		return nil, err
	}
	if m.remote, err = d.registerRemote(b, access); err != nil {
		return nil, errors.Join(err, m.local.Close())
	}
	d.list(m.local.LocalKey, m.piece(), true)
	return m, nil
}

func (m *memory) piece() piece {
	return piece{uint64(uintptr(unsafe.Pointer(unsafe.SliceData(m.bytes)))), uint64(len(m.bytes)), m.local}
}

// localAccess is what a registration for this end allows.
func (d *domain) localAccess() native.Access {
	if d.device.lends {
		return native.LocalWrite | native.WindowBind
	}
	return native.LocalWrite
}

// Alloc maps memory, gives it its pages at once, and registers it. A child process does not inherit it: the copy that fork makes of a page
// could be taken for the page that the device knows.
func (d *domain) Alloc(size int, access driver.Access) (driver.Memory, error) {
	b, err := d.pages(size)
	if err != nil {
		return nil, err
	}
	if err := unix.Madvise(b, unix.MADV_DONTFORK); err != nil {
		return nil, errors.Join(fmt.Errorf("madvise: %w", err), unix.Munmap(b))
	}
	made, err := d.Register(b[:size:size], access)
	if err != nil {
		return nil, errors.Join(err, unix.Munmap(b))
	}
	m := made.(*memory)
	m.bytes, m.mapped = b[:size], true
	return m, nil
}

// pages maps size bytes, in huge pages if they are wanted and there are any.
func (d *domain) pages(size int) ([]byte, error) {
	const huge = 2 << 20
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_POPULATE
	if d.device.config.HugePages && size >= huge {
		rounded := (size + huge - 1) &^ (huge - 1)
		if b, err := unix.Mmap(-1, 0, rounded, unix.PROT_READ|unix.PROT_WRITE, flags|unix.MAP_HUGETLB); err == nil {
			return b, nil
		}
		d.device.log.Warn("no huge pages are left: ordinary ones are taken", "bytes", size)
	}
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return nil, fmt.Errorf("map %v: %w: %w", units.Size(size), err, driver.ErrLimit)
	}
	return b, nil
}

func (d *domain) registerRemote(b []byte, access driver.Access) (*native.Memory, error) {
	if access == 0 {
		return nil, nil
	}
	return d.register(b, native.LocalWrite|accessFlags(access))
}

func (d *domain) register(b []byte, access native.Access) (*native.Memory, error) {
	m := new(native.Memory)
	if err := d.registerInto(m, b, access); err != nil {
		return nil, err
	}
	if m.LocalKey == driver.BadKey { // a span with it would be taken for one that lies outside its memory
		return nil, errors.Join(fmt.Errorf("the device gave a key that is not allowed: %w", driver.ErrLimit), m.Close())
	}
	return m, nil
}

func (d *domain) registerInto(m *native.Memory, b []byte, access native.Access) error {
	if err := d.native.Register(m, b, access); err != nil {
		return fmt.Errorf("register %v: %w", units.Size(len(b)), explainLimit(err))
	}
	return nil
}

func accessFlags(access driver.Access) (flags native.Access) {
	for _, f := range []struct {
		ours   driver.Access
		theirs native.Access
	}{{driver.RemoteRead, native.RemoteRead}, {driver.RemoteWrite, native.RemoteWrite}, {driver.RemoteAtomic, native.RemoteAtomic}} {
		if access.Allows(f.ours) {
			flags |= f.theirs
		}
	}
	return flags
}

// Region describes the memory as it is now. The remote key of memory that peers may not touch is 0, which no device gives.
func (m *memory) Region() driver.Region {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.piece()
	r := driver.Region{Bytes: m.bytes, Address: p.address, Length: p.length, LocalKey: m.local.LocalKey}
	if m.remote != nil {
		r.RemoteKey = uint64(m.remote.RemoteKey)
	}
	return r
}

// SetAccess registers the memory for peers anew, and ends the old registration: no operation can use its key when that is done.
func (m *memory) SetAccess(queue driver.CompletionQueue, tag driver.Tag, access driver.Access) error {
	c, ok := queue.(*completionQueue)
	if !ok || c.device != m.domain.device {
		return fmt.Errorf("the completion queue is of another device: %w", driver.ErrArgument)
	}
	if c.device.lost.Load() {
		return c.device.errLost()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed { // its pages may be another's
		return fmt.Errorf("the memory was closed meanwhile: %w", driver.ErrClosed)
	}
	next, err := m.domain.registerRemote(m.bytes, access)
	if err != nil {
		return err
	}
	if m.remote != nil {
		if err := m.remote.Close(); err != nil {
			return errors.Join(err, closeMemory(next))
		}
	}
	m.remote = next
	c.add(driver.Completion{Tag: tag, Op: driver.OpMemoryAccess})
	return nil
}

func closeMemory(m *native.Memory) error {
	if m == nil {
		return nil
	}
	return m.Close()
}

// Close ends what is lent of the memory, then the registrations, the peers' first.
func (m *memory) Close() error {
	free, err := m.Retire()
	if err != nil {
		return err
	}
	return free()
}

// Retire implements driver.Retirer.
func (m *memory) Retire() (free func() error, err error) {
	m.domain.list(m.local.LocalKey, piece{}, false)
	ended := m.domain.endLoans(m.local.LocalKey)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return m.free, m.domain.device.forgive(errors.Join(ended, closeMemory(m.remote), m.local.Close()))
}

// free gives the bytes back, unless they are the program's.
func (m *memory) free() error {
	if !m.mapped {
		return nil
	}
	return unix.Munmap(m.bytes[:cap(m.bytes)])
}

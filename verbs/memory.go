package verbs

import (
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Memory is bytes that a NIC may touch (InfiniBand: memory region). Peers reach it through a RemoteSpan, as far as its
// access and the queue pair's allow. Its methods may be called from several goroutines, but SetAccess belongs to the
// owner of the completion queue that it names.
//
// The bytes lie outside the Go heap, except in a simulator. Nothing may use them after Close.
type Memory struct {
	domain   *Domain
	driver   driver.Memory
	region   driver.Region // as registered; only the remote key changes later
	key      atomic.Uint64 // the remote key
	isClosed atomic.Bool
	pending  atomic.Int32 // access changes under way
	pages    []byte       // mapped here, to be unmapped by Close; nil: the provider's or the program's
}

// Alloc makes size bytes of zeroed memory that the NIC may touch, peers as far as access says. It fails with ErrArgument
// for a size below 1 or an unknown access, and with ErrLimit or the system's error for more than there is. Every lane of
// a provider reaches it.
func (d *Domain) Alloc(size int, access Access) (*Memory, error) {
	what := fmt.Sprintf("alloc %d bytes", size)
	if size < 1 || !access.Valid() {
		return nil, fail(d, ErrArgument, "%s with access %#x", what, uint8(access))
	}
	if own, ok := d.driver.(driver.Allocator); ok {
		return d.newMemory(what, func() (driver.Memory, error) { return own.Alloc(size, access) })
	}
	return d.mapAndRegister(what, size, access)
}

func (d *Domain) mapAndRegister(what string, size int, access Access) (*Memory, error) {
	pages, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("%v: %s: map pages: %w", d, what, err)
	}
	m, err := d.newMemory(what, func() (driver.Memory, error) { return d.driver.Register(pages, access) })
	if err != nil {
		return nil, joinUnmap(err, pages)
	}
	m.pages = pages
	return m, nil
}

func joinUnmap(err error, pages []byte) error {
	if failed := syscall.Munmap(pages); failed != nil {
		return fmt.Errorf("%w; and unmap: %w", err, failed)
	}
	return err
}

// Register makes memory that the program obtained itself known to the NIC. It must lie outside the Go heap (mapped
// pages, say), be aligned to 8 bytes, and stay until Close. Through shared memory peers of other processes reach it only
// if it is mapped shared, from a memfd or a file; private pages they do not, Alloc's they do. It fails with ErrArgument if b is empty or unaligned, or the
// access unknown.
func (d *Domain) Register(b []byte, access Access) (*Memory, error) {
	what := fmt.Sprintf("register %d bytes", len(b))
	if len(b) == 0 || uintptr(unsafe.Pointer(&b[0]))%8 != 0 || !access.Valid() {
		return nil, fail(d, ErrArgument, "%s with access %#x: needs at least one byte, aligned to 8", what, uint8(access))
	}
	return d.newMemory(what, func() (driver.Memory, error) { return d.driver.Register(b, access) })
}

// AllocPhantom makes memory without bytes, which remembers where its content came from. Only simulated devices have it;
// others fail with ErrNotSupported. It fails with ErrArgument for a size of 0 or an unknown access, and with ErrLimit for
// a size beyond the device's.
func (d *Domain) AllocPhantom(size uint64, access Access) (*Memory, error) {
	what := fmt.Sprintf("alloc %d phantom bytes", size)
	own, ok := d.driver.(driver.Phantoms)
	if !ok {
		return nil, fail(d, ErrNotSupported, "%s", what)
	}
	if size < 1 || !access.Valid() {
		return nil, fail(d, ErrArgument, "%s with access %#x", what, uint8(access))
	}
	return d.newMemory(what, func() (driver.Memory, error) { return own.AllocPhantom(size, access) })
}

func (d *Domain) newMemory(what string, register func() (driver.Memory, error)) (*Memory, error) {
	m := &Memory{domain: d}
	err := d.adopt(&d.memories, what, func() (err error) {
		m.driver, err = register()
		return err
	})
	if err != nil {
		return nil, err
	}
	m.region = m.driver.Region()
	m.key.Store(m.region.RemoteKey)
	return m, nil
}

func (m *Memory) String() string { return fmt.Sprintf("memory of %d bytes", m.region.Length) }

// Len is how many bytes the memory has.
func (m *Memory) Len() uint64 { return m.region.Length }

// Bytes are the memory's bytes, or nil if it is phantom. Words that peers write are read with Load64 only.
func (m *Memory) Bytes() []byte { return m.region.Bytes }

// Span is the piece of n bytes from offset, for the program's own requests. A piece that is not inside the memory, or
// longer than a request can be, comes out as a span with which every request fails with ErrBounds.
func (m *Memory) Span(offset, n int) Span {
	if !m.inside(offset, n) || uint64(n) > math.MaxUint32 {
		return Span{Length: uint32(min(uint64(n), math.MaxUint32)), Key: driver.BadKey}
	}
	return Span{Address: m.region.Address + uint64(offset), Length: uint32(n), Key: m.region.LocalKey}
}

// Remote is a capability on the n bytes from offset, to be given to a peer. A piece that is not inside the memory comes
// out empty. The capability dies with the memory, and with a SetAccess that changes its key.
func (m *Memory) Remote(offset, n int) RemoteSpan {
	if !m.inside(offset, n) {
		return RemoteSpan{}
	}
	return RemoteSpan{Address: m.region.Address + uint64(offset), Length: uint64(n), Key: m.key.Load()}
}

func (m *Memory) inside(offset, n int) bool {
	return offset >= 0 && n >= 0 && uint64(offset) <= m.region.Length && uint64(n) <= m.region.Length-uint64(offset)
}

// Load64 reads the word at offset atomically: the only way to read what peers write. An offset that is out of range,
// not a multiple of 8, or in memory without bytes panics, as indexing a slice does.
func (m *Memory) Load64(offset int) uint64 { return atomic.LoadUint64(m.word(offset)) }

// Store64 writes the word at offset atomically. Offsets are as for Load64.
func (m *Memory) Store64(offset int, value uint64) { atomic.StoreUint64(m.word(offset), value) }

func (m *Memory) word(offset int) *uint64 {
	if offset < 0 || offset&7 != 0 || offset > len(m.region.Bytes)-8 || m.isClosed.Load() {
		m.badWord(offset)
	}
	return (*uint64)(unsafe.Pointer(&m.region.Bytes[offset]))
}

func (m *Memory) badWord(offset int) {
	panic(fmt.Sprintf("verbs: word at offset %d of %d bytes: offsets are multiples of 8, inside, in memory that is not closed (%t)",
		offset, len(m.region.Bytes), m.isClosed.Load()))
}

// SetAccess changes what peers may do with the memory. It completes on queue as OpMemoryAccess: from then on nothing
// that only the old access allowed can land. It may change the key, so ask for Remote again after the completion; who
// needs stable keys changes the queue pair's access. It fails with ErrQueueFull if queue has no room to spare,
// ErrNotSupported if the device cannot, ErrArgument if queue is nil or the access unknown, ErrForeign if queue belongs to
// another device, ErrClosed if one of the two is closed.
func (m *Memory) SetAccess(queue *CompletionQueue, tag Tag, access Access) error {
	own, ok := m.driver.(driver.MemoryAccess)
	switch {
	case m.isClosed.Load():
		return fail(m, ErrClosed, "set access")
	case !ok:
		return fail(m, ErrNotSupported, "set access")
	case queue == nil || !access.Valid():
		return fail(m, ErrArgument, "set access %#x, completion queue %v", uint8(access), queue)
	case queue.device != m.domain.device:
		return fail(m, ErrForeign, "set access: the completion queue")
	}
	return queue.startMemoryAccess(m, own, tag, access)
}

// Mark declares n bytes from offset of phantom memory to be a piece of an object, beginning with origin. It fails with
// ErrBounds outside the memory and with ErrNotSupported for memory that has bytes.
func (m *Memory) Mark(offset, n int, origin Origin) error {
	phantom, ok := m.driver.(driver.PhantomMemory)
	if !ok {
		return fail(m, ErrNotSupported, "mark: it is not phantom")
	}
	if !m.inside(offset, n) {
		return fail(m, ErrBounds, "mark %d bytes at %d", n, offset)
	}
	phantom.Mark(uint64(offset), uint64(n), origin)
	return nil
}

// Origin says where n bytes from offset of phantom memory came from, if they are one unbroken piece of one object.
func (m *Memory) Origin(offset, n int) (Origin, bool) {
	phantom, ok := m.driver.(driver.PhantomMemory)
	if !ok || !m.inside(offset, n) {
		return Origin{}, false
	}
	return phantom.Origin(uint64(offset), uint64(n))
}

// Close ends every capability on the memory and frees it: when it returns, no operation can land in it. It fails with
// ErrInUse while a change of access is under way. A second Close does nothing.
func (m *Memory) Close() error {
	return m.end(func() error {
		err := m.driver.Close()
		if m.pages != nil && err == nil {
			err = syscall.Munmap(m.pages)
		}
		return err
	})
}

// Retire is Close for memory that the program may still look at: the bytes stay where they are, for the program alone, as long as
// the Memory can be reached. Then the garbage collector frees them.
func (m *Memory) Retire() error {
	return m.end(func() error {
		free, err := m.retire()
		if err == nil && free != nil {
			runtime.AddCleanup(m, func(free func() error) { _ = free() }, free) // nobody is there to be told
		}
		return err
	})
}

// retire ends the capabilities, and returns what frees the bytes; nil: they lie in the Go heap, or are the program's.
func (m *Memory) retire() (free func() error, err error) {
	if own, ok := m.driver.(driver.Retirer); ok {
		return own.Retire()
	}
	if pages := m.pages; pages != nil {
		free = func() error { return syscall.Munmap(pages) }
	}
	return free, m.driver.Close()
}

// end closes the memory, once.
func (m *Memory) end(how func() error) error {
	if m.pending.Load() > 0 {
		return fail(m, ErrInUse, "close: %d changes of access have not completed; poll their queue", m.pending.Load())
	}
	if m.isClosed.Swap(true) {
		return nil
	}
	defer m.domain.released(&m.domain.memories)
	return how()
}

package soft

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/weft-fabric/weft/verbs/driver"
)

// alive is the bit of a region's control word, above the bits of driver.Access, that Close clears.
const alive = 1 << 8

// regionControl is what requesters ask inside the gate. Like an end it has no Go pointers.
type regionControl struct {
	word atomic.Uint32 // driver.Access and alive
}

// allows reports whether the region is alive and grants all of want.
func (c *regionControl) allows(want driver.Access) bool {
	need := alive | uint32(want)
	return c.word.Load()&need == need
}

// region is registered memory as the NIC knows it. It is never used again after Close, and its remote key is a random
// number that will not be drawn twice, so a queue pair may remember one for ever: the control word tells it the rest. Its
// local key does come back (keys.go), and is looked up every time.
type region struct {
	regionControl
	bytes     []byte
	base      uint64 // address of the first byte
	localKey  uint32
	remoteKey uint64
}

// contains reports whether n bytes from an address lie inside. It is exact for all 64-bit values.
func (r *region) contains(at, n uint64) bool {
	offset, length := at-r.base, uint64(len(r.bytes))
	return offset <= length && n <= length-offset
}

// slice returns n bytes from an address, which must lie inside.
func (r *region) slice(at, n uint64) []byte { return r.bytes[at-r.base:][:n] }

// Memory is memory registered with a domain. It implements driver.Memory and driver.MemoryAccess.
type Memory struct {
	domain *Domain
	region *region
	pages  []byte // what Close unmaps; nil if the bytes belong to the caller

	mu     sync.Mutex
	closed bool
}

func newMemory(d *Domain, b, pages []byte, access driver.Access) (*Memory, error) {
	r := &region{bytes: b, base: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))}
	r.word.Store(alive | uint32(access))
	if err := d.keys.add(r); err != nil {
		return nil, err
	}
	return &Memory{domain: d, region: r, pages: pages}, nil
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
	m.region.word.Store(alive | uint32(access))
	c.fence(fence{tag: tag, visitors: m.domain.visitors()})
	return nil
}

// Close ends every capability on the memory and, if it came from Alloc, unmaps it. It waits for operations under way
// on the memory, each of which copies at most a quantum before it looks again.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return fmt.Errorf("soft: close memory: already %w", driver.ErrClosed)
	}
	m.closed = true
	m.region.word.Store(0)
	for _, v := range m.domain.everybody() { // the domain goes on meanwhile
		v.awaitLeft()
	}
	m.domain.keys.remove(m.region)
	m.domain.drop()
	if m.pages == nil {
		return nil
	}
	if err := syscall.Munmap(m.pages); err != nil {
		return fmt.Errorf("soft: close memory: unmap %d bytes: %w", len(m.pages), err)
	}
	return nil
}

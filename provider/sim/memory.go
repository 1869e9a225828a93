package sim

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/weft-fabric/weft/verbs/driver"
)

const (
	maxMemories = 1<<16 - 1 // of a device: a local key has 16 bits for the place, and 16 for its generation
	maxMemory   = 1 << 46   // bytes of one memory
	maxReal     = 1 << 30   // of them, those that have bytes; what does not fit the machine would end the process
	pageSize    = 4096      // addresses of memory begin at multiples, with a page between
	firstPage   = 1 << 20   // no memory lies lower, so that small numbers taken for addresses are caught
)

// memory is registered memory: real bytes, or phantom.
type memory struct {
	domain  *Domain
	region  driver.Region
	access  driver.Access
	phantom *stretches // nil: region.Bytes are the content
	closed  bool
}

// Invariant: an open memory stands in its device's memories, at the slot in its local key, and in keys; a closed one in
// neither. So whoever finds it may use it.

// Alloc provides zeroed memory from the Go heap, aligned to 8 bytes: small nodes stay small, and the race detector
// sees it. It is for up to a GiB; phantom memory is for more.
func (d *Domain) Alloc(size int, access driver.Access) (driver.Memory, error) {
	if size <= 0 || size > maxReal {
		return nil, fmt.Errorf("sim: alloc on %s: size %d is not in 1 … %d: %w", d.device.node.name, size, int64(maxReal),
			driver.ErrLimit)
	}
	words := make([]uint64, (size+7)/8)
	return d.register(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size), uint64(size), access)
}

// Register makes b known to the simulated NIC. Any memory will do, the Go heap too.
func (d *Domain) Register(b []byte, access driver.Access) (driver.Memory, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("sim: register on %s: the memory is empty", d.device.node.name)
	}
	return d.register(b, uint64(len(b)), access)
}

// AllocPhantom provides memory that remembers origins instead of bytes.
func (d *Domain) AllocPhantom(size uint64, access driver.Access) (driver.PhantomMemory, error) {
	if size == 0 || size > maxMemory {
		return nil, fmt.Errorf("sim: phantom on %s: size %d is not in 1 … %d: %w", d.device.node.name, size, int64(maxMemory),
			driver.ErrLimit)
	}
	m, err := d.register(nil, size, access)
	if err != nil {
		return nil, err
	}
	m.phantom = new(stretches)
	return phantomMemory{m}, nil
}

// register makes memory of either kind known.
func (d *Domain) register(b []byte, size uint64, access driver.Access) (*memory, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	if !access.Valid() {
		return nil, fmt.Errorf("sim: register on %s: unknown access bits %#x", d.device.node.name, uint8(access))
	}
	m := &memory{domain: d, access: access}
	m.region = driver.Region{Bytes: b, Length: size}
	if err := d.device.adopt(m); err != nil {
		return nil, err
	}
	d.children++
	return m, nil
}

// maxGeneration is one less than would fit: a key of all ones is driver.BadKey.
const maxGeneration = 1<<16 - 2

// adopt gives m its address and its keys.
func (d *Device) adopt(m *memory) error {
	slot, err := d.freeSlot()
	if err != nil {
		return err
	}
	d.generation = d.generation%maxGeneration + 1
	d.memories[slot] = m
	m.region.LocalKey = uint32(slot)<<16 | uint32(d.generation)
	m.region.Address = d.nextAddress
	d.nextAddress += (m.region.Length+pageSize-1)/pageSize*pageSize + pageSize
	for m.region.RemoteKey == 0 || d.keys[m.region.RemoteKey] != nil {
		m.region.RemoteKey = d.fabric.random.Uint64()
	}
	d.keys[m.region.RemoteKey] = m
	return nil
}

// freeSlot finds a place in memories. The generation in the key tells those apart who had it one after the other.
func (d *Device) freeSlot() (int, error) {
	if n := len(d.freeSlots); n > 0 {
		slot := d.freeSlots[n-1]
		d.freeSlots = d.freeSlots[:n-1]
		return int(slot), nil
	}
	if len(d.memories) == maxMemories {
		return 0, fmt.Errorf("sim: %s has %d memories, the most a device can have: %w", d.node.name, maxMemories,
			driver.ErrLimit)
	}
	d.memories = append(d.memories, nil)
	return len(d.memories) - 1, nil
}

// Region describes the memory. A change of access leaves the remote key as it is.
func (m *memory) Region() driver.Region { return m.region }

// Close ends every capability on the memory.
func (m *memory) Close() error {
	d := m.domain.device
	if d.dead {
		return d.crashed()
	}
	if m.closed {
		return fmt.Errorf("sim: memory %#x of %s is closed already", m.region.Address, d.node.name)
	}
	m.closed = true
	m.region.Bytes = nil // queue pairs may remember the memory
	delete(d.keys, m.region.RemoteKey)
	slot := uint16(m.region.LocalKey >> 16)
	d.memories[slot] = nil
	d.freeSlots = append(d.freeSlots, slot)
	m.domain.children--
	return nil
}

// local finds the memory of a span that is not empty, and the offset in it.
func (q *queuePair) local(s driver.Span) (*memory, uint64, bool) {
	m := q.recent
	if m == nil || m.region.LocalKey != s.Key || m.closed {
		if m = q.device.memory(s.Key); m == nil || m.domain != q.domain {
			return nil, 0, false
		}
		q.recent = m
	}
	offset := s.Address - m.region.Address
	return m, offset, m.holds(offset, uint64(s.Length))
}

// memory finds the open memory with a local key, or nil.
func (d *Device) memory(key uint32) *memory {
	slot := int(key >> 16)
	if slot >= len(d.memories) || d.memories[slot] == nil || d.memories[slot].region.LocalKey != key {
		return nil
	}
	return d.memories[slot]
}

// remote finds the memory behind a capability, if it reaches n bytes and the gate lets the operation in: the memory's, or that
// of the window through which it is lent.
func (q *queuePair) remote(s driver.RemoteSpan, n uint64, needs driver.Access) (*memory, uint64, bool) {
	m := q.device.keys[s.Key]
	if m == nil {
		return q.borrowed(s, n, needs)
	}
	if m.domain != q.domain || n > s.Length || !m.access.Allows(needs) {
		return nil, 0, false
	}
	offset := s.Address - m.region.Address
	return m, offset, m.holds(offset, n)
}

// holds reports whether n bytes from offset are inside. An offset below the memory has wrapped around to a huge one.
func (m *memory) holds(offset, n uint64) bool {
	return offset <= m.region.Length && n <= m.region.Length-offset
}

// read adds the content of n bytes from offset, which are inside, to a payload.
func (m *memory) read(p *payload, offset, n uint64) {
	if m.phantom != nil {
		m.phantom.appendTo(p, offset, n)
		return
	}
	p.addBytes(m.region.Bytes[offset : offset+n])
}

// write takes n bytes from the cursor. Between real and phantom memory content is lost: zeros one way, the zero
// Origin the other.
func (m *memory) write(c *cursor, offset, n uint64) {
	for n > 0 {
		part, b := c.next(n)
		switch {
		case m.phantom != nil && part.real:
			m.phantom.mark(offset, part.n, driver.Origin{})
		case m.phantom != nil:
			m.phantom.mark(offset, part.n, part.origin)
		case part.real:
			copy(m.region.Bytes[offset:], b)
		default:
			clear(m.region.Bytes[offset : offset+part.n])
		}
		offset += part.n
		n -= part.n
	}
}

// word returns the 8 bytes at offset, or false if they cannot be operated on as one word.
func (m *memory) word(offset uint64) ([]byte, bool) {
	if m.phantom != nil {
		return nil, false
	}
	b := m.region.Bytes[offset : offset+8]
	return b, uintptr(unsafe.Pointer(&b[0]))%8 == 0
}

// atomically carries out an atomic on the word b and returns what was there before. One goroutine runs the whole
// fabric, so that it composes with whatever programs do to the word.
func atomically(b []byte, r *request) uint64 {
	old := binary.NativeEndian.Uint64(b)
	switch {
	case r.op == driver.OpFetchAdd:
		binary.NativeEndian.PutUint64(b, old+r.swap)
	case old == r.compare:
		binary.NativeEndian.PutUint64(b, r.swap)
	}
	return old
}

// SetAccess changes the memory's gate. It takes Costs.Access, and effect at one instant.
func (m *memory) SetAccess(queue driver.CompletionQueue, tag driver.Tag, access driver.Access) error {
	d := m.domain.device
	if d.dead {
		return d.crashed()
	}
	c, ok := queue.(*completionQueue)
	switch {
	case m.closed:
		return fmt.Errorf("sim: access of memory %#x of %s: it is %w", m.region.Address, d.node.name, driver.ErrClosed)
	case !ok || c == nil || c.device != d || c.closed:
		return fmt.Errorf("sim: access of memory %#x of %s: the completion queue is not an open one of this device",
			m.region.Address, d.node.name)
	case !access.Valid():
		return fmt.Errorf("sim: access of memory %#x of %s: unknown bits %#x", m.region.Address, d.node.name, uint8(access))
	}
	d.fabric.control(d.fabric.delay.access, control{op: driver.OpMemoryAccess, memory: m, queue: c, tag: tag, access: access})
	return nil
}

// phantomMemory adds what only phantom memory can do.
type phantomMemory struct{ *memory }

// Mark declares where n bytes from offset come from. Bytes outside the memory are a broken invariant of the caller.
func (m phantomMemory) Mark(offset, n uint64, origin driver.Origin) {
	if !m.holds(offset, n) {
		panic(fmt.Sprintf("sim: mark %d bytes at %d of a phantom of %d bytes", n, offset, m.region.Length))
	}
	m.phantom.mark(offset, n, origin)
}

// Origin says where n bytes from offset came from. For unwritten memory, and for no bytes, that is nowhere.
func (m phantomMemory) Origin(offset, n uint64) (driver.Origin, bool) {
	if !m.holds(offset, n) {
		return driver.Origin{}, false
	}
	return m.phantom.origin(offset, n)
}

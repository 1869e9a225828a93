package ripc

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/verbs"
)

// Buffer is memory outside the Go heap that the NIC may touch, and that can be lent to peers. It is counted: who keeps one
// calls Retain, who is done Release, and the last one gives it back. Its content is what the last one left there.
type Buffer struct {
	pool   *pool
	memory *verbs.Memory
	offset int
	size   int // as asked for
	class  int
	users  atomic.Int32
	handle leak.Handle
}

// Bytes are the buffer's bytes. They must not be used after the last Release.
func (b *Buffer) Bytes() []byte {
	return b.memory.Bytes()[b.offset : b.offset+b.size : b.offset+b.size]
}

// Len is how many bytes it has.
func (b *Buffer) Len() int { return b.size }

// Cut makes the buffer as short as n bytes, before it is lent. A length that it has not panics, as slicing does.
func (b *Buffer) Cut(n int) {
	if n < 1 || n > b.size {
		panic(fmt.Sprintf("ripc: a buffer of %d bytes cannot be cut to %d", b.size, n))
	}
	b.size = n
}

// Retain counts one more user. After the last Release it panics: the memory is somebody else's by then.
func (b *Buffer) Retain() {
	if !b.retain() {
		panic("ripc: a buffer was retained after its last release")
	}
}

// retain is Retain, and reports whether there was a user before.
func (b *Buffer) retain() bool {
	for {
		users := b.users.Load()
		if users <= 0 {
			return false
		}
		if b.users.CompareAndSwap(users, users+1) {
			return true
		}
	}
}

// Release counts one user less. The last one gives the buffer back; one more panics, as a second free would.
func (b *Buffer) Release() {
	switch left := b.users.Add(-1); {
	case left == 0:
		b.handle.Closed()
		b.pool.give(b)
	case left < 0:
		panic("ripc: a buffer was released more often than retained")
	}
}

// piece is the buffer's first n bytes as the links know them.
func (b *Buffer) piece() link.Piece {
	return link.Piece{Bytes: b.Bytes(), Span: b.memory.Span(b.offset, b.size)}
}

// The sizes of buffers are powers of two.
const (
	smallestClass = 12 // 4 KiB
	largestClass  = 32 // 4 GiB, less one byte: a request cannot name more
	blockClass    = 20 // 1 MiB: smaller buffers are cut from blocks of this size
	maxSpare      = 256 << 20
)

// pool keeps buffers that were given back, and knows which memory is the NIC's. Any goroutine may use it.
type pool struct {
	domain *verbs.Domain
	blocks atomic.Pointer[[]block] // in the order of their addresses

	mu     sync.Mutex
	spare  [largestClass + 1][]*Buffer
	bytes  int // of those that have memory of their own
	used   int // bytes of those that were not given back
	closed bool
}

// block is registered memory, somewhere.
type block struct {
	start, end uintptr
	memory     *verbs.Memory
}

func newPool(domain *verbs.Domain) *pool {
	p := &pool{domain: domain}
	p.blocks.Store(new([]block))
	return p
}

// take returns a buffer of so many bytes.
func (p *pool) take(size int) (*Buffer, error) {
	if size < 1 || size > 1<<largestClass-1 {
		return nil, fmt.Errorf("a buffer of %d bytes: allowed are 1 to %d: %w", size, 1<<largestClass-1, ErrArgument)
	}
	class := max(smallestClass, bits.Len(uint(size-1)))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("a buffer of %d bytes: %w", size, errNodeClosed)
	}
	if len(p.spare[class]) == 0 {
		if err := p.extend(class); err != nil {
			return nil, fmt.Errorf("a buffer of %d bytes: %w", size, err)
		}
	}
	last := len(p.spare[class]) - 1
	b := p.spare[class][last]
	p.spare[class] = p.spare[class][:last]
	if class > blockClass {
		p.bytes -= 1 << class
	}
	b.size = size
	p.used += 1 << class
	b.users.Store(1)
	b.handle = leak.Opened("ripc.Buffer")
	return b, nil
}

// extend makes more of a class: one, or a block full of them.
func (p *pool) extend(class int) error {
	size := min(1<<max(class, blockClass), 1<<largestClass-1)
	memory, err := p.domain.Alloc(size, 0)
	if err != nil {
		return err
	}
	p.know(memory)
	for at := 0; at == 0 || at+1<<class <= size; at += 1 << class {
		p.spare[class] = append(p.spare[class], &Buffer{pool: p, memory: memory, offset: at, class: class})
	}
	if class > blockClass {
		p.bytes += 1 << class
	}
	return nil
}

// know makes memory known as the NIC's. Readers have the old list, or the new one.
func (p *pool) know(memory *verbs.Memory) {
	b := memory.Bytes()
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	one := block{start, start + uintptr(len(b)), memory}
	old := *p.blocks.Load()
	at, _ := slices.BinarySearchFunc(old, start, func(b block, start uintptr) int { return int(b.start) - int(start) })
	list := slices.Insert(slices.Clone(old), at, one)
	p.blocks.Store(&list)
}

// forget is the opposite of know.
func (p *pool) forget(memory *verbs.Memory) {
	list := slices.DeleteFunc(slices.Clone(*p.blocks.Load()), func(b block) bool { return b.memory == memory })
	p.blocks.Store(&list)
}

// piece says what some bytes of the program's are to the NIC: memory of its own, or bytes that have to be copied.
func (p *pool) piece(b []byte) link.Piece {
	if len(b) == 0 {
		return link.Piece{}
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	list := *p.blocks.Load()
	low, high := 0, len(list)
	for low < high {
		if middle := (low + high) / 2; list[middle].end <= at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(list) || at < list[low].start || at+uintptr(len(b)) > list[low].end {
		return link.Piece{Bytes: b}
	}
	return link.Piece{Bytes: b, Span: list[low].memory.Span(int(at-list[low].start), len(b))}
}

// give takes a buffer back. Large ones are kept up to a limit.
func (p *pool) give(b *Buffer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= 1 << b.class
	if p.closed {
		return
	}
	if b.class > blockClass && p.bytes+1<<b.class > maxSpare {
		p.forget(b.memory)
		_ = b.memory.Close() // nothing is lent of it: it would not be given back
		return
	}
	if b.class > blockClass {
		p.bytes += 1 << b.class
	}
	p.spare[b.class] = append(p.spare[b.class], b)
}

// inUse is how many bytes programs and messages hold.
func (p *pool) inUse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// close frees all memory. What lies in buffers that were not released stays until nobody can reach them any more.
func (p *pool) close() (failed error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	idle := make(map[*verbs.Memory]int) // bytes
	for class := range p.spare {
		for _, b := range p.spare[class] {
			idle[b.memory] += 1 << class
		}
	}
	for _, b := range *p.blocks.Load() {
		if uint64(idle[b.memory]) >= b.memory.Len() {
			failed = errors.Join(failed, b.memory.Close())
		} else {
			failed = errors.Join(failed, b.memory.Retire())
		}
	}
	p.blocks.Store(new([]block))
	clear(p.spare[:]) // or nothing could be freed as long as the node can be reached
	return failed
}

package soft

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/verbs/driver"
)

// ref is where in its arena something lies. On the Go heap it is 0, as for nothing.
type ref uint64

// arena is memory for the words that a device shows its peers: ends, receives, bells. It is a memfd that peers map as a
// whole, so that a word is named by its offset, and it needs one file descriptor for all. A nil arena is the Go heap:
// enough inside a process, and there the race detector sees what happens.
//
// The file is sparse: only what was used takes memory.
type arena struct {
	fd    int
	bytes []byte

	mu     sync.Mutex
	next   uint64
	vacant [maxBlockBits + 1][]ref // by the logarithm of their size
}

const (
	arenaSize    = 4 << 30
	blockBits    = 6 // of the smallest block, a cache line
	maxBlockBits = 28
)

func newArena() (*arena, error) {
	fd, err := newMemfd("weft-arena", arenaSize)
	if err != nil {
		return nil, fmt.Errorf("soft: memory for shared queues: %w", err)
	}
	b, err := mapShared(fd, 0, arenaSize)
	if err != nil {
		closeDescriptor(fd)
		return nil, fmt.Errorf("soft: memory for shared queues: %w", err)
	}
	a := &arena{fd: fd, bytes: b, next: 1 << blockBits} // nothing lies at 0
	return a, nil
}

// close frees the file and, unless lives of other devices of this process may still look at it, the memory. Otherwise the
// collector does, when the last of them is forgotten.
func (a *arena) close(watched bool) {
	if a == nil {
		return
	}
	closeDescriptor(a.fd)
	if watched {
		runtime.AddCleanup(a, unmap, a.bytes)
	} else {
		unmap(a.bytes)
	}
}

func unmap(b []byte) { _ = unix.Munmap(b) }

// sizeBits returns the logarithm of the block that size bytes take.
func sizeBits(size uint64) int { return max(logarithm(size), blockBits) }

// take returns a block of zeros.
func (a *arena) take(size uint64) (ref, error) {
	b := sizeBits(size)
	a.mu.Lock()
	defer a.mu.Unlock()
	if b > maxBlockBits {
		return 0, fmt.Errorf("soft: %d bytes of shared queues in one piece: %w", size, driver.ErrLimit)
	}
	if list := a.vacant[b]; len(list) > 0 {
		r := list[len(list)-1]
		a.vacant[b] = list[:len(list)-1]
		clear(a.bytes[r:][:size])
		return r, nil
	}
	start := (a.next + 1<<b - 1) &^ (1<<b - 1)
	if start+1<<b > arenaSize {
		return 0, fmt.Errorf("soft: shared queues take more than %d bytes: %w", uint64(arenaSize), driver.ErrLimit)
	}
	a.next = start + 1<<b
	return ref(start), nil
}

// give takes a block of size bytes back. Nobody may write to it any more, in any process.
func (a *arena) give(r ref, size uint64) {
	if a == nil || r == 0 {
		return
	}
	a.mu.Lock()
	b := sizeBits(size)
	a.vacant[b] = append(a.vacant[b], r)
	a.mu.Unlock()
}

// placeOne makes a zero T in the arena.
func placeOne[T any](a *arena) (*T, ref, error) {
	if a == nil {
		return new(T), 0, nil
	}
	var t T
	r, err := a.take(uint64(unsafe.Sizeof(t)))
	if err != nil {
		return nil, 0, err
	}
	return (*T)(unsafe.Pointer(&a.bytes[r])), r, nil
}

// placeMany makes n zero Ts in the arena.
func placeMany[T any](a *arena, n int) ([]T, ref, error) {
	if a == nil || n == 0 {
		return make([]T, n), 0, nil
	}
	var t T
	r, err := a.take(uint64(n) * uint64(unsafe.Sizeof(t)))
	if err != nil {
		return nil, 0, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&a.bytes[r])), n), r, nil
}

// placeOnce makes a table unless it is there: an attempt that found no more memory is repeated.
func placeOnce[T any](a *arena, table *[]T, at *ref, n int) (err error) {
	if *table == nil {
		*table, *at, err = placeMany[T](a, n)
	}
	return err
}

// give takes a block of n Ts back.
func give[T any](a *arena, r ref, n int) {
	var t T
	a.give(r, uint64(n)*uint64(unsafe.Sizeof(t)))
}

// seeOne returns the T that lies in somebody else's arena, if it lies inside.
func seeOne[T any](arena []byte, r ref) (*T, error) {
	list, err := seeMany[T](arena, r, 1)
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// seeMany returns n Ts in somebody else's arena, if they lie inside.
func seeMany[T any](arena []byte, r ref, n uint64) ([]T, error) {
	var t T
	size := uint64(unsafe.Sizeof(t))
	if n == 0 {
		return nil, nil
	}
	length := uint64(len(arena))
	if r == 0 || uint64(r)%8 != 0 || uint64(r) > length || n > (length-uint64(r))/size {
		return nil, fmt.Errorf("%d items of %d bytes at %#x are not inside the peer's %d bytes", n, size, uint64(r), length)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&arena[r])), n), nil
}

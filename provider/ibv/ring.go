package ibv

import "math/bits"

// ring holds what was posted and has not ended, in order. Its three marks count from the beginning of time, and wrap.
//
// Invariant: first ≤ given ≤ next, next - first ≤ the depth that it was made for.
type ring[T any] struct {
	slots []T
	first uint32 // the oldest that has not ended
	given uint32 // the device has those up to, not including, this one
	next  uint32 // where the next one goes
}

func newRing[T any](depth int) ring[T] {
	if depth == 0 {
		return ring[T]{}
	}
	return ring[T]{slots: make([]T, 1<<bits.Len(uint(depth-1)))}
}

func (r *ring[T]) at(i uint32) *T { return &r.slots[i&uint32(len(r.slots)-1)] }

// has reports whether i is with the device.
func (r *ring[T]) has(i uint32) bool { return i-r.first < r.given-r.first }

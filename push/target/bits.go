package target

import (
	"math/bits"
	"sync/atomic"
)

// bitset is a set of small numbers that goroutines may share. The zero bitset is empty, and has no room.
type bitset []atomic.Uint64

func newBitset(size uint64) bitset { return make(bitset, (size+63)/64) }

func (b bitset) has(n uint64) bool { return b[n/64].Load()&(1<<(n%64)) != 0 }
func (b bitset) add(n uint64)      { b[n/64].Or(1 << (n % 64)) }
func (b bitset) remove(n uint64)   { b[n/64].And(^uint64(1 << (n % 64))) }

func (b bitset) count() (n int) {
	for i := range b {
		n += bits.OnesCount64(b[i].Load())
	}
	return n
}

// octet is one byte of the set as it is stored: number n is bit n%8 of byte n/8.
func (b bitset) octet(n uint64) byte { return byte(b[n/64].Load() >> (n % 64 / 8 * 8)) }

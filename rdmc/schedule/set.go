package schedule

import "math/bits"

// Set is a set of the blocks of one message.
type Set struct {
	blocks int
	words  []uint64
}

// NewSet makes an empty set for blocks numbered from 0 up to, not including, blocks.
func NewSet(blocks int) Set { return Set{blocks, make([]uint64, (blocks+63)/64)} }

// Len is how many blocks there could be.
func (s Set) Len() int { return s.blocks }

// Has reports whether a block is in the set.
func (s Set) Has(block int) bool { return s.words[block/64]>>(block%64)&1 == 1 }

// Add puts a block into the set.
func (s Set) Add(block int) { s.words[block/64] |= 1 << (block % 64) }

// Count is how many blocks are in the set.
func (s Set) Count() int {
	n := 0
	for _, word := range s.words {
		n += bits.OnesCount64(word)
	}
	return n
}

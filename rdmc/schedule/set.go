package schedule

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
)

// Set is a set of the blocks of one message. Copies share their blocks: Add to one is seen in all. The zero Set is that of a
// message without blocks.
type Set struct {
	blocks int
	words  []uint64 // Invariant: bits from blocks on are zero
}

// NewSet makes an empty set for blocks numbered from 0 up to, not including, blocks.
func NewSet(blocks int) Set { return Set{blocks, make([]uint64, (blocks+63)/64)} }

// FullSet makes the set of all of so many blocks.
func FullSet(blocks int) Set {
	s := NewSet(blocks)
	s.addRun(0, blocks)
	return s
}

// Len is how many blocks there could be.
func (s Set) Len() int { return s.blocks }

// Has reports whether a block is in the set. Numbers that no block has are not.
func (s Set) Has(block int) bool {
	return uint(block) < uint(s.blocks) && s.words[block/64]>>(block%64)&1 == 1
}

// Add puts a block into the set. It panics if there is no block of that number: who has the number from elsewhere compares
// it with Len.
func (s Set) Add(block int) {
	if uint(block) >= uint(s.blocks) {
		panic(fmt.Sprintf("schedule: block %d added to a set of %d blocks", block, s.blocks))
	}
	s.words[block/64] |= 1 << (block % 64)
}

// Count is how many blocks are in the set.
func (s Set) Count() int {
	n := 0
	for _, word := range s.words {
		n += bits.OnesCount64(word)
	}
	return n
}

// Full reports whether all blocks are in the set.
func (s Set) Full() bool { return s.Count() == s.blocks }

// Equal reports whether both are sets of as many blocks, and have the same.
func (s Set) Equal(other Set) bool {
	return s.blocks == other.blocks && slices.Equal(s.words, other.words)
}

// Clone makes a set of its own with the same blocks.
func (s Set) Clone() Set { return Set{s.blocks, slices.Clone(s.words)} }

// Union adds all blocks of another set, which must be for as many blocks.
func (s Set) Union(other Set) {
	if s.blocks != other.blocks {
		panic(fmt.Sprintf("schedule: union of sets of %d and %d blocks", s.blocks, other.blocks))
	}
	for i, word := range other.words {
		s.words[i] |= word
	}
}

// All goes through the blocks in the set, in ascending order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s.words {
			for ; word != 0; word &= word - 1 {
				if !yield(i*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// addRun adds the blocks from, up to, not including, to.
func (s Set) addRun(from, to int) {
	for from < to {
		end := min(to, from/64*64+64)
		s.words[from/64] |= ^uint64(0) >> (64 - (end - from)) << (from % 64)
		from = end
	}
}

// runEnd is where the run that a block belongs to ends: the next block that differs in being in the set, or Len.
func (s Set) runEnd(block int) int {
	has := s.Has(block)
	for block < s.blocks {
		word := s.words[block/64]
		if has {
			word = ^word
		}
		if word >>= block % 64; word != 0 {
			return min(block+bits.TrailingZeros64(word), s.blocks)
		}
		block = block/64*64 + 64
	}
	return s.blocks
}

package schedule

import "math/bits"

// ranks is a set of members.
type ranks []uint64

// newRanks makes several empty sets, in one piece of memory.
func newRanks(members, sets int) []ranks {
	n := words(members)
	all := make(ranks, n*sets)
	made := make([]ranks, sets)
	for i := range made {
		made[i] = all[i*n : (i+1)*n]
	}
	return made
}

// words is the length of a set of so many.
func words(members int) int { return (members + 63) / 64 }

func (r ranks) has(rank int) bool { return r[rank/64]>>(rank%64)&1 == 1 }
func (r ranks) add(rank int)      { r[rank/64] |= 1 << (rank % 64) }
func (r ranks) remove(rank int)   { r[rank/64] &^= 1 << (rank % 64) }

func (r ranks) count() int {
	n := 0
	for _, word := range r {
		n += bits.OnesCount64(word)
	}
	return n
}

func (r ranks) empty() bool {
	for _, word := range r {
		if word != 0 {
			return false
		}
	}
	return true
}

// first is the lowest rank that is in this set and in all others.
func (r ranks) first(others ...ranks) (int, bool) {
	for i, word := range r {
		for _, other := range others {
			word &= other[i]
		}
		if word != 0 {
			return i*64 + bits.TrailingZeros64(word), true
		}
	}
	return 0, false
}

// meets reports whether the sets have a member in common.
func (r ranks) meets(other ranks) bool {
	_, ok := r.first(other)
	return ok
}

// contain reports whether all of the other set are in this one.
func (r ranks) contain(other ranks) bool {
	for i, word := range other {
		if word&^r[i] != 0 {
			return false
		}
	}
	return true
}

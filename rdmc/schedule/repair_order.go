package schedule

import "math/bits"

// rarity keeps blocks in order of how many hold them.
type rarity struct {
	counts []int // by block: its holders
	blocks []int // all, in ascending order of holders
	places []int // by block: its index in blocks
	starts []int // by number of holders: index of the first block that has so many, or more
}

// newRarity sorts by counting. Blocks with as many holders stand in descending order, as they are taken from the end.
func newRarity(counts []int, members int) rarity {
	r := rarity{counts, make([]int, len(counts)), make([]int, len(counts)), make([]int, members+2)}
	for _, count := range counts {
		r.starts[count+1]++
	}
	for i := range members + 1 {
		r.starts[i+1] += r.starts[i]
	}
	next := append([]int(nil), r.starts...)
	for block := len(counts) - 1; block >= 0; block-- {
		place := next[counts[block]]
		next[counts[block]]++
		r.blocks[place], r.places[block] = block, place
	}
	return r
}

// wanted is how many blocks somebody lacks.
func (r *rarity) wanted() int { return r.starts[len(r.starts)-2] }

// ascending goes through the blocks that somebody lacks, those with fewest holders first. (It is an iterator.)
func (r *rarity) ascending(yield func(block int) bool) {
	for count := range len(r.starts) - 2 {
		for place := r.starts[count+1] - 1; place >= r.starts[count]; place-- {
			if !yield(r.blocks[place]) {
				return
			}
		}
	}
}

// increment counts one more holder of a block, and returns how many there are now. The block changes places with the last
// that has as many, and the border moves.
func (r *rarity) increment(block int) int {
	count, place := r.counts[block], r.places[block]
	last := r.starts[count+1] - 1
	other := r.blocks[last]
	r.blocks[place], r.places[other] = other, place
	r.blocks[last], r.places[block] = block, last
	r.starts[count+1] = last
	r.counts[block] = count + 1
	return count + 1
}

// ranks is a set of members.
type ranks []uint64

// newRanks makes several empty sets, in one piece of memory.
func newRanks(members, sets int) []ranks {
	words := (members + 63) / 64
	all := make(ranks, words*sets)
	made := make([]ranks, sets)
	for i := range made {
		made[i] = all[i*words : (i+1)*words : (i+1)*words]
	}
	return made
}

func (r ranks) has(rank int) bool { return r[rank/64]>>(rank%64)&1 == 1 }
func (r ranks) add(rank int)      { r[rank/64] |= 1 << (rank % 64) }
func (r ranks) remove(rank int)   { r[rank/64] &^= 1 << (rank % 64) }

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

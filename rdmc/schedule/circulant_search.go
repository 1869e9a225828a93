package schedule

// search finds the receive schedule of one rank: for each round, in turn, the block whose way along the skips comes past
// in that round, by a search over the ways that takes each block once. It visits O(log members) ways.
type search struct {
	skips      []int
	target     int   // the rank, one turn round the circle further
	next, prev []int // blocks that are left, descending, as a ring; index 0 is its end, block e has index e+1
	found      []int // by round
}

// receiveSchedule is the block that a rank other than the root receives in each of the first ⌈log₂ members⌉ rounds, in
// the steady state: its own first block, and numbers less than zero for those of the cycle before.
func receiveSchedule(skips []int, rank int) []int {
	q := len(skips) - 1
	s := &search{skips: skips, target: skips[q] + rank}
	for i := range q + 2 {
		s.next = append(s.next, (i+q+1)%(q+2))
		s.prev = append(s.prev, (i+1)%(q+2))
	}
	first := lastSkip(skips, rank)
	s.drop(first)
	s.walk(0, 2*skips[q], q)
	for i, block := range s.found {
		if s.found[i] = block - q; block == q {
			s.found[i] = first
		}
	}
	return s.found
}

// walk goes on from a point of the circle with the blocks from e down, and finds what comes past below the limit.
func (s *search) walk(at, limit, e int) {
	for ; e >= 0; e = s.next[e+1] - 1 {
		way := at + s.skips[e]
		if s.full() || way > s.target-s.skips[len(s.found)] || way >= limit {
			continue
		}
		if way <= s.target-s.ahead() {
			s.walk(way, limit, e)
		}
		if s.full() || at > s.target-s.ahead() {
			return
		}
		limit = way
		s.found = append(s.found, e)
		s.drop(e)
	}
}

func (s *search) full() bool { return len(s.found) == len(s.skips)-1 }

// ahead is the skip of the round after the one that is looked for.
func (s *search) ahead() int { return s.skips[len(s.found)+1] }

// drop takes a block out of the ring.
func (s *search) drop(e int) {
	next, prev := s.next[e+1], s.prev[e+1]
	s.next[prev], s.prev[next] = next, prev
}

package schedule

// sequential is the naive pattern of RDMC section 4.3: the root sends the whole message to one member after the other.
type sequential struct {
	members, rank int
}

func (s sequential) steps(blocks int) int { return blocks * (s.members - 1) }

func (s sequential) send(blocks, step int) (Transfer, bool) {
	return Transfer{Peer: 1 + step/blocks, Block: step % blocks}, s.rank == 0 && step >= 0 && step < s.steps(blocks)
}

func (s sequential) receive(blocks, step int) (Transfer, bool) {
	block := step - (s.rank-1)*blocks
	return Transfer{Peer: 0, Block: block}, s.rank > 0 && block >= 0 && block < blocks
}

func (s sequential) sending(blocks int) (from, to int) {
	if s.rank > 0 {
		return 0, 0
	}
	return 0, s.steps(blocks)
}

func (s sequential) receiving(blocks int) (from, to int) {
	if s.rank == 0 {
		return 0, 0
	}
	return (s.rank - 1) * blocks, s.rank * blocks
}

func (s sequential) peers() []int {
	if s.rank > 0 {
		return []int{0}
	}
	return s.heirs()
}

func (s sequential) announced() bool     { return false }
func (s sequential) herald() (int, bool) { return 0, s.rank > 0 }

func (s sequential) heirs() []int {
	if s.rank > 0 {
		return nil
	}
	heirs := make([]int, s.members-1)
	for i := range heirs {
		heirs[i] = i + 1
	}
	return heirs
}

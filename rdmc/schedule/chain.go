package schedule

// chain is the bucket brigade of RDMC section 4.3: each member hands on to the next what came from the one before.
type chain struct {
	members, rank int
}

// steps: the last block leaves the root in step blocks-1, and each hop takes one more.
func (c chain) steps(blocks int) int {
	if c.members == 1 {
		return 0
	}
	return blocks + c.members - 2
}

func (c chain) send(blocks, step int) (Transfer, bool) {
	block := step - c.rank
	return Transfer{Peer: c.rank + 1, Block: block}, c.rank < c.members-1 && block >= 0 && block < blocks
}

func (c chain) receive(blocks, step int) (Transfer, bool) {
	block := step - c.rank + 1
	return Transfer{Peer: c.rank - 1, Block: block}, c.rank > 0 && block >= 0 && block < blocks
}

// sending and receiving: a member is busy for one step for each block, and waits for as many as there are members.
func (c chain) sending(blocks int) (from, to int) {
	if c.rank == c.members-1 {
		return 0, 0
	}
	return c.rank, c.rank + blocks
}

func (c chain) receiving(blocks int) (from, to int) {
	if c.rank == 0 {
		return 0, 0
	}
	return c.rank - 1, c.rank - 1 + blocks
}

func (c chain) peers() []int {
	var peers []int
	if c.rank > 0 {
		peers = append(peers, c.rank-1)
	}
	return append(peers, c.heirs()...)
}

func (c chain) announced() bool     { return false }
func (c chain) herald() (int, bool) { return c.rank - 1, c.rank > 0 }

func (c chain) heirs() []int {
	if c.rank == c.members-1 {
		return nil
	}
	return []int{c.rank + 1}
}

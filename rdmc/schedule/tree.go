package schedule

import "math/bits"

// tree is the binomial tree of RDMC section 4.3 and figure 3 (left): in stage s the first 2^s members send the whole
// message to the next 2^s. Nobody passes anything on before the stage in which it receives has ended.
type tree struct {
	members, rank int
}

func (t tree) steps(blocks int) int { return blocks * ceilLog2(t.members) }

func (t tree) send(blocks, step int) (Transfer, bool) {
	if step < 0 || step >= t.steps(blocks) {
		return Transfer{}, false
	}
	stage := step / blocks
	peer := t.rank + 1<<stage
	return Transfer{Peer: peer, Block: step % blocks}, stage >= t.firstStage() && peer < t.members
}

func (t tree) receive(blocks, step int) (Transfer, bool) {
	parent, ok := t.herald()
	block := step - (t.firstStage()-1)*blocks
	return Transfer{Peer: parent, Block: block}, ok && block >= 0 && block < blocks
}

func (t tree) sending(blocks int) (from, to int) {
	return t.firstStage() * blocks, (t.firstStage() + len(t.heirs())) * blocks
}

func (t tree) receiving(blocks int) (from, to int) {
	if t.rank == 0 {
		return 0, 0
	}
	return (t.firstStage() - 1) * blocks, t.firstStage() * blocks
}

// firstStage is the stage in which the member begins to send: the one after that in which it receives.
func (t tree) firstStage() int { return bits.Len(uint(t.rank)) }

func (t tree) peers() []int {
	var peers []int
	if parent, ok := t.herald(); ok {
		peers = append(peers, parent)
	}
	return append(peers, t.heirs()...)
}

func (t tree) announced() bool { return false }

// herald: what comes from a member with the highest bit of the rank cleared arrives in the stage of that bit.
func (t tree) herald() (int, bool) {
	if t.rank == 0 {
		return 0, false
	}
	return t.rank - 1<<(t.firstStage()-1), true
}

func (t tree) heirs() []int {
	var heirs []int
	for stage := t.firstStage(); t.rank+1<<stage < t.members; stage++ {
		heirs = append(heirs, t.rank+1<<stage)
	}
	return heirs
}

// ceilLog2 is the least l with 2^l ≥ n.
func ceilLog2(n int) int { return bits.Len(uint(n - 1)) }

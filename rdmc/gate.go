package rdmc

// Accept lets a block pass the gate.
func (g *Group) Accept(number uint64, block int) error {
	t, err := g.atGate("accept", number, block)
	if err == nil {
		g.pass(t, block)
		g.wake()
	}
	return err
}

// Reject ends the group, and names the sender of the block.
func (g *Group) Reject(number uint64, block int, why error) error {
	t, err := g.atGate("reject", number, block)
	if err == nil {
		g.fail(t.senderOf(block), because(ErrRejected, why))
	}
	return err
}

// atGate finds the message of a block that waits at the gate.
func (g *Group) atGate(what string, number uint64, block int) (*transfer, error) {
	if g.state.over() {
		return nil, g.refuse(what, ErrEnded)
	}
	t := g.underWay(number)
	if t == nil || block < 0 || block >= t.arrived.Len() || !t.arrived.Has(block) || t.have.Has(block) {
		return nil, g.config.wrong("%s: block %d of message %d does not wait at the gate", what, block, number)
	}
	return t, nil
}

// senderOf finds out who sent a block.
func (t *transfer) senderOf(block int) int {
	for step, end := t.plan.Receiving(); step < end; step++ {
		if from, ok := t.plan.Receive(step); ok && from.Block == block {
			return from.Peer
		}
	}
	return Unknown
}

package rdmc

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// postReceives posts receives for the blocks that come next, in the order of the schedule, at most Config.Credits; and,
// when those of all messages under way are posted, one for the first block of the next message.
func (g *Group) postReceives() {
	for ; g.receiveAt < len(g.active); g.receiveAt++ {
		for t := g.active[g.receiveAt]; t.receives; {
			if !t.placed || g.awaiting == g.config.Credits || !g.postReceive(t) {
				return
			}
		}
	}
	if g.herald != nil && !g.firstPosted && len(g.active) < maxActive && !g.herald.broken && !g.loads() {
		g.postFirst()
	}
}

// postReceive posts the receive for the next block of a message, and tells its sender (section 4.2, ready_for_block).
func (g *Group) postReceive(t *transfer) bool {
	block := t.nextReceive.Block
	l := g.linkOf(t.nextReceive.Peer)
	switch {
	case l.left:
		g.fail(l.leaver, ErrLeft)
		return false
	case l.broken:
		return false
	}
	at, ok := g.memoryFor(t, block)
	if !ok {
		return false
	}
	t.advanceReceive()
	t.receiving++
	g.awaiting++
	g.receipt = verbs.Receive{Span: at.Sub(0, uint32(t.BlockLen(block)))}
	return g.expect(incoming{link: l, transfer: t, block: block, at: at})
}

// postFirst posts the receive for the next message's header, and the block behind it.
func (g *Group) postFirst() {
	in := incoming{link: g.herald, block: -1}
	g.receipt = verbs.Receive{Span: g.buffers.header(0)}
	if !g.part.Announced() {
		g.receipt.More = g.piece[:]
	}
	var ok bool
	if g.config.Store != nil {
		ok = g.part.Announced() || g.acquireFirst(&in)
	} else if ok = len(g.buffers.idle) > 0; ok {
		in.block = pop(&g.buffers.idle)
		in.at = g.buffers.arrival(in.block).span(0, g.config.BlockSize)
	}
	g.piece[0] = in.at.Sub(0, min(in.at.Length, uint32(g.config.BlockSize)))
	g.firstPosted = ok && g.expect(in)
}

// expect stages g.receipt for what comes next on a link, for which the peer is owed a credit.
func (g *Group) expect(in incoming) bool {
	l := in.link
	slot := pop(&g.idleIn)
	l.posted++
	in.count = l.posted
	g.incoming[slot] = in
	g.receipt.Tag = g.tag(tagArrival, l, slot)
	if err := l.data.StageReceive(&g.receipt); err != nil {
		g.failLocally(err)
		return false
	}
	if l.owedCredits++; !l.listed {
		l.listed = true
		g.creditors = append(g.creditors, l)
	}
	return true
}

// giveCredits hands the receives that were staged to the NIC, and only then tells the peers of them.
func (g *Group) giveCredits() {
	for _, l := range g.creditors {
		l.listed = false
		if err := l.data.Flush(); err != nil {
			g.failLocally(err)
			return
		}
		g.speak(l)
	}
	g.creditors = g.creditors[:0]
}

// stepArrival takes what came, if it is what must come.
func (g *Group) stepArrival(slot int, c *verbs.Completion) {
	if g.state.over() {
		return
	}
	in := g.incoming[slot]
	if c.Status != verbs.OK {
		g.broke(in.link, in.transfer != nil, c.Status)
		return
	}
	g.incoming[slot] = incoming{}
	g.idleIn = append(g.idleIn, slot)
	in.link.heard = true
	if in.transfer == nil {
		g.firstPosted = false
		g.stepFirst(&in, c)
		return
	}
	g.awaiting--
	in.transfer.receiving--
	g.stepBlock(&in, c)
}

// stepBlock takes a block of a message that is known.
func (g *Group) stepBlock(in *incoming, c *verbs.Completion) {
	t := in.transfer
	if want := t.BlockLen(in.block); c.Op != verbs.OpReceiveImm || int64(c.Imm) != int64(in.block) || int(c.Bytes) != want {
		g.blame(in.link, "sent block %d with %d bytes where block %d of message %d with %d bytes is next", c.Imm, c.Bytes,
			in.block, t.Number, want)
		return
	}
	g.arrived(t, in.block, in.at)
}

// stepFirst takes a new message: its header, and a block if one came behind it.
func (g *Group) stepFirst(in *incoming, c *verbs.Completion) {
	t, err := g.readMessage(c)
	if err != nil {
		g.blame(in.link, "sent a bad header: %v", err)
		return
	}
	g.next++
	g.active = append(g.active, t)
	if g.config.Store != nil {
		g.beginInStore(t, in)
		return
	}
	t.arrival = in.block
	if t.Blocks() == 1 {
		t.place = g.buffers.arrival(t.arrival)
		g.place(t)
		return
	}
	g.askForPlace(t)
}

// readMessage makes a transfer of the header that came, and checks that what came with it is what must come first.
func (g *Group) readMessage(c *verbs.Completion) (*transfer, error) {
	h, err := parseHeader(g.buffers.headerBytes(0)[:min(c.Bytes, headerSize)])
	if err == nil {
		err = h.check(&g.config, g.next, c.Imm)
	}
	if err != nil {
		return nil, err
	}
	m := Message{Number: h.number, Size: h.size, BlockSize: g.config.BlockSize}
	t := newTransfer(m, g.part.Plan(m.Blocks()))
	want, bytes := uint32(headerAlone), headerSize
	if !g.part.Announced() {
		want, bytes = uint32(t.nextReceive.Block), headerSize+m.BlockLen(t.nextReceive.Block)
		t.first = t.nextReceive.Block
		t.advanceReceive()
	}
	if c.Op != verbs.OpReceiveImm || c.Imm != want || int(c.Bytes) != bytes {
		return nil, fmt.Errorf("%d bytes for block %d, where %d bytes for block %d come first", c.Bytes, c.Imm, bytes, want)
	}
	return t, nil
}

// arrived notes a block that came, and lets it pass if there is no gate.
func (g *Group) arrived(t *transfer, block int, at verbs.Span) {
	if g.config.Gate {
		t.arrived.Add(block) // before it is reported: Accept may come at once
	}
	if g.config.Store != nil {
		g.config.Store.Arrived(t.Message, block, at.Sub(0, uint32(t.BlockLen(block))))
	}
	if !g.config.Gate {
		g.pass(t, block)
	}
}

// pass lets a block be sent on.
func (g *Group) pass(t *transfer, block int) {
	t.have.Add(block)
	t.count++
	g.releaseHeld(t, block)
}

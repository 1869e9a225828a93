package rdmc

import (
	"github.com/weft-fabric/weft/verbs"
)

// postSends posts what can be sent, strictly in the order of the schedule, at most Config.Sends at a time. A header alone
// goes on before there is memory for the blocks: others need not wait for an application that is slow to give it.
func (g *Group) postSends() {
	for ; g.sendAt < len(g.active); g.sendAt++ {
		t := g.active[g.sendAt]
		for g.tells(t) || t.sends {
			if !t.placed && !g.tells(t) || len(g.idleOut) == 0 || g.crowded(t) || g.paced(t) || !g.postSend(t) {
				return
			}
		}
	}
}

// crowded reports whether as many blocks of a message are on their way as it has: one for each stripe that has blocks. Two
// of one stripe would share the link, and the first of them is needed first. The NIC cannot wait for that, so that with
// Offload all may go.
func (g *Group) crowded(t *transfer) bool {
	return t.carried == t.Blocks() && !g.config.Offload && !g.tells(t)
}

// paced reports whether the next block must wait until the one before has left the link. Blocks that share it arrive
// together, and then all wait together for the latency of the network; one after the other, some hide that of others. With
// Offload it is the NIC that begins with a block.
func (g *Group) paced(t *transfer) bool {
	wait := g.paceUntil.Sub(g.port.Loop().Now())
	if g.config.Pace == 0 || g.config.Offload || t.carried == 0 || wait <= 0 || g.tells(t) {
		return false
	}
	if !g.pacing {
		g.pacing = true
		g.port.After(wait, makeTag(timerPace, 0, 0))
	}
	return true
}

// tells reports whether headers must still go ahead of the message's blocks.
func (g *Group) tells(t *transfer) bool {
	return t.toTell < len(g.heirs) && !t.repair && g.part.Announced()
}

// postSend posts the next header or block, if its receiver is ready for it and it is here.
func (g *Group) postSend(t *transfer) bool {
	var l *link
	block := -1
	if g.tells(t) {
		l = g.heirs[t.toTell]
	} else {
		l, block = g.linkOf(t.nextSend.Peer), t.nextSend.Block
	}
	if l.left {
		g.fail(l.leaver, ErrLeft)
	}
	if l.left || l.broken || l.credits == 0 {
		return false
	}
	out := outgoing{link: l, transfer: t, block: block}
	g.request = verbs.Request{Op: verbs.OpSendImm, Imm: headerAlone}
	return g.source(&out) && g.dispatch(out)
}

// source finds the block that is to be sent. It is not ok if it has not come yet, or lies where it must be loaded from
// first.
func (g *Group) source(out *outgoing) (ok bool) {
	if out.block < 0 {
		return true
	}
	t := out.transfer
	if !t.have.Has(out.block) {
		if g.request.After, ok = g.arrivalOf(t, out.block); !ok {
			return false
		}
	}
	if out.at, out.loaded, ok = g.spanOf(t, out.block); !ok {
		return false
	}
	g.request.Imm = uint32(out.block)
	g.request.Span = out.at.Sub(0, uint32(t.BlockLen(out.block)))
	return true
}

// dispatch posts g.request, with a header in front if the receiver was not told of the message yet.
func (g *Group) dispatch(out outgoing) bool {
	t, l := out.transfer, out.link
	slot := pop(&g.idleOut)
	g.outgoing[slot] = out
	g.request.Tag = g.tag(tagSent, l, slot)
	if l.heir && !t.repair && l.told <= t.Number {
		g.addHeader(t, slot)
		l.told = t.Number + 1
	}
	if err := l.data.Stage(&g.request); err != nil {
		g.failLocally(err)
		return false
	}
	l.credits--
	t.sending++
	if out.block < 0 {
		t.toTell++
	} else {
		t.carried++
		now := g.port.Loop().Now()
		g.paceUntil = now.Add(g.config.Pace)
		l.beginWire(now)
		t.advanceSend()
	}
	return true
}

// addHeader puts a header in front of g.request.
func (g *Group) addHeader(t *transfer, slot int) {
	h := header{blockSize: uint32(t.BlockSize), first: g.request.Imm, number: t.Number, size: t.Size}
	h.put(g.buffers.headerBytes(1 + slot))
	if h.first != headerAlone {
		g.piece[0] = g.request.Span
		g.request.More = g.piece[:]
	}
	g.request.Span = g.buffers.header(1 + slot)
}

// stepSent takes the end of a send: the peer has the block.
func (g *Group) stepSent(slot int, c *verbs.Completion) {
	if g.state.over() {
		return
	}
	out := g.outgoing[slot]
	if c.Status != verbs.OK {
		g.broke(out.link, true, c.Status)
		return
	}
	g.outgoing[slot] = outgoing{}
	g.idleOut = append(g.idleOut, slot)
	out.link.heard = true
	out.transfer.sending--
	if out.block >= 0 {
		out.transfer.carried--
		out.link.endWire(g.port.Loop().Now(), out.transfer.BlockLen(out.block))
	}
	g.releaseSent(&out)
}

package rdmc

import (
	"fmt"

	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// holding is a block's memory that the Store gave for its receive.
type holding struct {
	block int
	at    verbs.Span
}

// memoryFor finds where a block is to come to. It is not ok if the Store has nothing free.
func (g *Group) memoryFor(t *transfer, block int) (verbs.Span, bool) {
	if g.config.Store == nil {
		return t.span(block), true
	}
	at, ok := g.acquire(t.Number, block, t.BlockLen(block))
	if ok {
		t.held = append(t.held, holding{block, at})
	}
	return at, ok
}

// span is where a block lies in whole memory.
func (t *transfer) span(block int) verbs.Span {
	if t.Size == 0 {
		return verbs.Span{}
	}
	return t.place.span(uint64(block)*uint64(t.BlockSize), t.BlockLen(block))
}

// acquire asks the Store for memory. Too little is a failure of this member.
func (g *Group) acquire(number uint64, block, size int) (verbs.Span, bool) {
	at, ok := g.config.Store.Acquire(number, block)
	if ok && int(at.Length) < size {
		g.fail(g.config.Self, because(ErrMemory, fmt.Errorf("%d bytes for a block of %d", at.Length, size)))
		return at, false
	}
	return at, ok
}

// acquireFirst asks for memory for the next message's first block, of which nothing is known.
func (g *Group) acquireFirst(in *incoming) (ok bool) {
	in.at, ok = g.acquire(g.next, -1, g.config.BlockSize)
	return ok
}

// beginInStore begins with a message whose blocks the Store holds.
func (g *Group) beginInStore(t *transfer, in *incoming) {
	g.prepareStore(t)
	if g.config.Incoming != nil {
		g.config.Incoming(t.Message)
	}
	if t.first >= 0 {
		t.held = append(t.held, holding{t.first, in.at})
		g.arrived(t, t.first, in.at)
	}
}

// prepareStore counts how often each block will be sent from here: its memory is released after the last time. In a
// repair a block may have to wait for long, and together they could take all memory, so that nothing moves: it is released
// at once, and loaded for each send. (The NIC needs the memory until then, if it starts the sends.)
func (g *Group) prepareStore(t *transfer) {
	t.placed = true
	t.sendsOf = make([]uint16, t.Blocks())
	for step := 0; step < t.steps && (!t.repair || g.config.Offload); step++ {
		if next, ok := t.plan.Send(step); ok {
			t.sendsOf[next.Block]++
		}
	}
	if g.config.Gate {
		t.arrived = schedule.NewSet(t.Blocks())
	}
}

// spanOf finds where a block lies that is to be sent. It is not ok if the Store must fetch it first.
func (g *Group) spanOf(t *transfer, block int) (at verbs.Span, loaded, ok bool) {
	if g.config.Store == nil {
		return t.span(block), false, true
	}
	for i := range t.held {
		if t.held[i].block == block {
			return t.held[i].at, false, true
		}
	}
	at, ok = g.config.Store.Load(t.Message, block)
	if ok && int(at.Length) < t.BlockLen(block) {
		g.fail(g.config.Self, because(ErrMemory, fmt.Errorf("%d bytes loaded for a block of %d", at.Length, t.BlockLen(block))))
		return at, false, false
	}
	return at, true, ok
}

// releaseSent gives memory back after a send, if it was the block's last or the block was loaded for it.
func (g *Group) releaseSent(out *outgoing) {
	switch {
	case g.config.Store == nil || out.block < 0:
	case out.loaded:
		g.config.Store.Release(out.transfer.Message, out.block, out.at)
	default:
		out.transfer.sendsOf[out.block]--
		g.releaseHeld(out.transfer, out.block)
	}
}

// releaseHeld gives a block's memory back if it was acquired, has passed the gate, and is not to be sent any more.
func (g *Group) releaseHeld(t *transfer, block int) {
	if g.config.Store == nil || t.sendsOf[block] > 0 || !t.have.Has(block) {
		return
	}
	for i, h := range t.held {
		if h.block == block {
			t.held = append(t.held[:i], t.held[i+1:]...)
			g.config.Store.Release(t.Message, block, h.at)
			return
		}
	}
}

// releaseAll gives everything back at the end of the group: nothing touches it any more.
func (g *Group) releaseAll() {
	if g.config.Store == nil {
		return
	}
	for _, in := range g.incoming {
		if in.link != nil && in.transfer == nil && in.at != (verbs.Span{}) {
			g.config.Store.Release(Message{Number: g.next, BlockSize: g.config.BlockSize}, -1, in.at)
		}
	}
	for _, out := range g.outgoing {
		if out.loaded {
			g.config.Store.Release(out.transfer.Message, out.block, out.at)
		}
	}
	for _, t := range g.active {
		for _, h := range t.held {
			g.config.Store.Release(t.Message, h.block, h.at)
		}
		t.held = nil
	}
	clear(g.incoming)
	clear(g.outgoing)
}

// Continue tells that the Store has memory again.
func (g *Group) Continue() { g.wake() }

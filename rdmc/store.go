package rdmc

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

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
	at, ok := g.acquire(t.Message, block, t.BlockLen(block))
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

// acquire asks the Store for memory.
func (g *Group) acquire(m Message, block, size int) (verbs.Span, bool) {
	at, ok := g.config.Store.Acquire(m.Number, block)
	return at, ok && g.suffices(m, block, at, size)
}

// suffices gives memory back that is too little, which is a failure of this member.
func (g *Group) suffices(m Message, block int, at verbs.Span, size int) bool {
	if int(at.Length) >= size {
		return true
	}
	g.config.Store.Release(m, block, at)
	g.fail(g.config.Self, because(ErrMemory, fmt.Errorf("%d bytes for a block of %d", at.Length, size)))
	return false
}

// acquireFirst asks for memory for the next message's first block, of which nothing is known.
func (g *Group) acquireFirst(in *incoming) (ok bool) {
	in.at, ok = g.acquire(g.nextMessage(), -1, g.config.BlockSize)
	return ok
}

// nextMessage is what is known of the next message before its header.
func (g *Group) nextMessage() Message {
	return Message{Number: g.next, BlockSize: g.config.BlockSize}
}

// beginInStore takes a message whose blocks the Store is to hold. It begins at once; what it has sent is released when all its sends are counted.
func (g *Group) beginInStore(t *transfer, in *incoming) {
	g.prepareStore(t)
	if t.first >= 0 {
		t.held = append(t.held, holding{t.first, in.at})
	}
	if g.config.Incoming != nil {
		g.config.Incoming(t.Message)
	}
	g.count(t)
}

// prepareStore makes room to count how often each block will be sent from here: its memory is released after the last
// time. In a repair a block may have to wait for long, and together they could take all memory, so that nothing moves: it
// is released at once, and loaded for each send. (The NIC needs the memory until then, if it starts the sends.) Whole messages wait so
// in a Tree: that is what Reload is for.
func (g *Group) prepareStore(t *transfer) {
	t.placed = false
	t.sendsOf = make([]uint16, t.Blocks())
	if (t.repair || g.config.Reload) && !g.config.Offload {
		t.counted = t.sendEnd
	}
	if g.config.Gate {
		t.arrived = schedule.NewSet(t.Blocks())
	}
}

// countAtOnce is how many steps are counted before others have their turn: less than a millisecond. A message may have many
// millions, be it that a hostile member says so.
const countAtOnce = 1 << 13

// countLater is when it is counted on for the first time: the first blocks come before.
const countLater = 2 * time.Millisecond

// isCounted reports whether it is known how often each block will be sent from here, if that needs to be known.
func (t *transfer) isCounted() bool { return t.sendsOf == nil || t.counted >= t.sendEnd }

// count counts on, and comes back for the rest. Meanwhile the message begins, unless the NIC starts its sends: then it has to be known before.
func (g *Group) count(t *transfer) {
	end := min(t.counted+countAtOnce, t.sendEnd)
	for ; t.counted < end; t.counted++ {
		if next, ok := t.plan.Send(t.counted); ok {
			t.sendsOf[next.Block]++
		}
	}
	if g.state.over() {
		return
	}
	pause := time.Duration(0)
	if !t.placed && (t.isCounted() || !g.config.Offload) {
		g.placeInStore(t)
		pause = countLater
	}
	if t.isCounted() {
		g.releaseCounted(t)
	} else {
		g.countAfter(pause)
	}
}

// countAfter counts on after a pause, for all messages together.
func (g *Group) countAfter(pause time.Duration) {
	if !g.counting {
		g.counting = true
		g.port.After(pause, makeTag(timerCount, 0, 0))
	}
}

// placeInStore begins a message.
func (g *Group) placeInStore(t *transfer) {
	t.placed = true
	if t.first >= 0 {
		g.arrived(t, t.first, t.held[0].at)
	}
}

// releaseCounted gives memory back that was sent as often as it had to be before that was known.
func (g *Group) releaseCounted(t *transfer) {
	for _, h := range slices.Clone(t.held) {
		g.releaseHeld(t, h.block)
	}
}

// countOn counts on for messages that have not begun, or whose sends are not counted.
func (g *Group) countOn() {
	for _, t := range g.active {
		if g.config.Store != nil && (!t.placed || !t.isCounted()) {
			g.count(t)
		}
	}
}

// loads reports whether a repair has blocks to load. The next message could take all the memory for that, and wait for the
// repair itself: it comes later.
func (g *Group) loads() bool {
	repairs := func(t *transfer) bool { return t.repair && t.sends }
	return g.config.Store != nil && slices.ContainsFunc(g.active, repairs)
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
	return at, true, ok && g.suffices(t.Message, block, at, t.BlockLen(block))
}

// releaseSent gives memory back after a send, if it was the block's last or the block was loaded for it.
func (g *Group) releaseSent(out *outgoing) {
	switch {
	case g.config.Store == nil || out.block < 0:
	case out.loaded:
		g.config.Store.Release(out.transfer.Message, out.block, out.at)
	default:
		out.transfer.sendsOf[out.block]-- // below zero, as long as it is not counted
		g.releaseHeld(out.transfer, out.block)
	}
}

// releaseHeld gives a block's memory back if it was acquired, has passed the gate, and is not to be sent any more.
func (g *Group) releaseHeld(t *transfer, block int) {
	if g.config.Store == nil || !t.isCounted() || t.sendsOf[block] > 0 || !t.have.Has(block) {
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
			g.config.Store.Release(g.nextMessage(), -1, in.at)
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

// StoreRoom is how many blocks at a time a Store must be able to give, so that such a group never gets stuck: enough for Pipeline, Circulant
// and Chain, for repairs, and with Reload for all algorithms; without Offload. A root that has everything
// needs what it sends at a time.
func StoreRoom(config Config) int {
	config.setDefaults()
	switch {
	case config.Self == 0 && len(config.Unfinished) == 0:
		return config.Sends
	case config.Reload:
		return config.Credits + 1 + config.Sends
	default:
		return config.Stripes*bits.Len(uint(len(config.Members)-1)) + config.Credits + 1
	}
}

// Continue tells that the Store has memory again.
func (g *Group) Continue() { g.wake() }

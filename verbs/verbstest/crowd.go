package verbstest

import (
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// This file is the scene of what goes wrong at one peer and must not be felt by another.

// How the streams of a crowd look. A Write takes much longer than what is between two Writes, so that most signals come in
// the middle of one.
const (
	crowdSlot  = 16 << 10 // bytes of a slot, unless a test wants more
	crowdSlots = 8
	crowdDepth = 16 // requests of a stream under way
	crowdPool  = 8  // shared receives
	crowdBytes = 64 // of a message
	sideDepth  = 2  // what the bystander's streams have under way: they shall go on, and leave time to others
)

// crowd is a hub with a bystander, whose traffic with the hub must go on whatever happens to others: messages into the
// hub's shared receives, and Writes to the bystander.
type crowd struct {
	t              *T
	hub, bystander *node
	pool           int
	sink           *flow
	in, out        *flow // of the bystander, of the hub
	side           *pair // the hub's, to the bystander
}

func (t *T) crowd() *crowd {
	t.Helper()
	c := &crowd{t: t, hub: t.open("hub"), bystander: t.open("bystander")}
	c.pool = c.hub.do(OpenPool{Depth: crowdPool}).ID
	c.sink = c.hub.sink(Sink{Pool: c.pool, Memory: c.hub.memory(crowdPool*crowdBytes, 0).id, Size: crowdBytes,
		Window: crowdPool, Stamped: true})
	var there *pair
	c.side = c.hub.pair(OpenPair{Pool: c.pool, SendDepth: sideDepth, ReceiverWait: time.Hour})
	there = c.bystander.pair(OpenPair{Access: verbs.RemoteAll, SendDepth: sideDepth, ReceiverWait: time.Hour})
	t.connect(c.side, there)
	m, mb := c.hub.memory(4096, 0), c.bystander.memory(16<<10, verbs.RemoteAll)
	c.out = c.hub.stream(Stream{Pair: c.side.id, Memory: m.id,
		Round: []verbs.Request{request(verbs.OpWrite, 0, m.span(0, 4096), mb.remote(8192, 4096))}})
	c.in = c.bystander.stream(Stream{Pair: there.id, Memory: mb.id, Slots: 80, Stride: crowdBytes, Stamp: 1,
		Round: []verbs.Request{request(verbs.OpSend, 0, mb.span(0, crowdBytes), verbs.RemoteSpan{})}})
	return c
}

// undisturbed checks that the bystander's traffic goes on, both ways.
func (c *crowd) undisturbed() {
	c.t.Helper()
	for _, f := range []*flow{c.in, c.out, c.sink} {
		f.reaches(f.state().Rounds + 3*crowdPool)
	}
}

// guest is an end that something will happen to, with a connection to the hub and memory at both sides.
type guest struct {
	crowd *crowd
	node  *node
	q, at *pair // its own, the hub's
	slot  int   // bytes of a Write
	m     *mem  // its own
	there *mem  // the hub's: slots, and as much again for other operations
}

// size is of a guest's memories: slots that a stream fills in turn, a few more for a source, and as much again behind them
// for other operations.
func (g *guest) size() int { return 2 * (crowdDepth + 4) * g.slot }

func (c *crowd) guest(name string, slot int, config EndConfig) *guest {
	c.t.Helper()
	g := &guest{crowd: c, node: c.t.openWith(name, config), slot: slot}
	g.m = g.node.memory(g.size(), verbs.RemoteAll)
	g.there = c.hub.memory(g.size(), verbs.RemoteAll)
	g.q = g.node.pair(OpenPair{SendDepth: crowdDepth, ReceiveDepth: crowdPool, Access: verbs.RemoteAll,
		ReceiverWait: time.Hour})
	g.at = c.hub.pair(OpenPair{SendDepth: crowdDepth, Pool: c.pool, Access: verbs.RemoteAll, ReceiverWait: time.Hour})
	c.t.connect(g.q, g.at)
	return g
}

// everything is a stream of rounds with every kind of operation, from one end of the connection to the other: a Write of a
// slot first, then others that stay behind the slots.
func (g *guest) everything(q *pair, from, to *mem) Stream {
	behind := g.size() / 2
	return Stream{Pair: q.id, Memory: from.id, Slots: crowdDepth + 4, Stride: g.slot, Stamp: slotStamp,
		RemoteStride: uint64(g.slot), RemoteSlots: crowdSlots, Round: []verbs.Request{
			request(verbs.OpWrite, 0, from.span(0, g.slot), to.remote(0, g.slot)),
			request(verbs.OpRead, 0, from.span(behind, 4096), to.remote(behind, 4096)),
			request(verbs.OpFetchAdd, 0, from.span(behind, 8), to.remote(behind, 8)),
			request(verbs.OpCompareSwap, 0, from.span(behind, 8), to.remote(behind+8, 8)),
			request(verbs.OpSend, 0, from.span(0, crowdBytes), verbs.RemoteSpan{}),
		}}
}

// toHub and fromHub are such streams of the guest's and of the hub's.
func (g *guest) toHub() Stream   { return g.everything(g.q, g.m, g.there) }
func (g *guest) fromHub() Stream { return g.everything(g.at, g.there, g.m) }

// watched lets the hub look at the slots that the guest writes: their last word must not be there before the others. Where
// nobody promises that, it looks at nothing; LaterWritesNeverOvertake holds what is promised there.
func (g *guest) watched() *watcher {
	g.crowd.t.Helper()
	if g.crowd.t.can.Has&LastWordLast == 0 {
		return nil
	}
	return g.crowd.hub.watchSlots(WatchSlots{Memory: g.there.id, Stride: g.slot, Slots: crowdSlots})
}

// fill puts patterns into the guest's memories, so that whatever a Write lands, wherever it comes from, makes a difference.
// It does not go together with watched.
func (g *guest) fill() {
	g.crowd.t.Helper()
	g.m.fill(0, g.size(), 1)
	g.there.fill(0, g.size(), 2)
}

// target is a checksum of everything that the guest may write to.
func (g *guest) target() uint64 {
	g.crowd.t.Helper()
	return g.there.checksum(0, g.size())
}

// isGone waits until the hub has noticed that the guest is gone, and checks that nobody else has.
func (g *guest) isGone() {
	g.crowd.t.Helper()
	g.at.untilState(verbs.Error)
	g.crowd.undisturbed()
}

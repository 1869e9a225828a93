package verbstest

import (
	"encoding/binary"

	"github.com/weft-fabric/weft/verbs"
)

// This file is about ends whose host is stopped, and goes on later.

var stopTests = []Test{
	{"StoppedTargetIsWritten", "A target whose host is stopped is not dead: everything lands, and is found there later.",
		Stop | OneSided, testStoppedTarget},
	{"StoppingDisturbsNothing",
		"Whenever a writer is stopped and goes on: a flag is never there before what it stands for, and nothing fails.",
		Stop | OneSided | SharedReceives, testStoppedWriter},
	{"StoppedPeerIsSilent",
		"A peer that is stopped for longer than Limits.PeerTimeout is gone: RetryExceeded, then Flushed; others go on.",
		Stop | Silence | SharedReceives, testSilence},
	{"StoppedWriterIsRevokedAtTheQueuePair",
		"A queue pair's SetAccess completes also when the writer is stopped; when it goes on nothing lands, and it is refused.",
		Stop | SharedReceives, testStoppedRevokeQueue},
	{"StoppedWriterIsRevokedAtTheMemory",
		"A memory's SetAccess completes also when the writer is stopped; when it goes on nothing lands, and it is refused.",
		Stop | SharedReceives | MemoryAccess, testStoppedRevokeMemory},
	{"StoppedWriterIsRevokedByClose",
		"A memory closes also when a writer is stopped; when it goes on, what lies in the same place then is not touched.",
		Stop | SharedReceives, testStoppedClose},
}

// A target whose host is stopped is not dead: everything lands, and is found there later. A first message and a first Write
// show the NIC where the memory lies: for that it may need the host.
func testStoppedTarget(t *T) {
	const words, messages = 1000, 8
	writes := uint64(words * max(2, t.can.Repeat/2)) // each word as often as the others
	w := t.wireWith(OpenPair{SendDepth: 32, ReceiveDepth: messages, Access: verbs.RemoteAll})
	w.carries(1)
	w.qa.post(request(verbs.OpWrite, 0, w.ma.span(0, 8), w.mb.remote(0, 8)))
	t.statuses("first write", w.qa.requests(1), verbs.OK)
	var sends []verbs.Request
	for i := range messages {
		w.qb.receive(verbs.Receive{Tag: verbs.Tag(i), Span: w.mb.span(32<<10+64*i, 64)})
		sends = append(sends, request(verbs.OpSend, uint64(i), w.ma.span(32<<10+64*i, 64), verbs.RemoteSpan{}))
	}
	w.ma.fill(32<<10, 64*messages, 7)
	w.b.signal(StopEnd)
	w.a.stream(Stream{Pair: w.qa.id, Memory: w.ma.id, Rounds: writes, Slots: 40, Stride: 8, Stamp: 1, RemoteStride: 8,
		RemoteSlots: words, Round: []verbs.Request{request(verbs.OpWrite, 0, w.ma.span(0, 8), w.mb.remote(0, 8))}}).succeeds(writes)
	w.qa.post(sends...)
	t.inOrder(w.qa.requests(messages), verbs.OK)
	w.b.signal(ContinueEnd)
	t.inOrder(w.qb.receives(messages), verbs.OK)
	there := w.mb.get(0, 8*words)
	for i := range words {
		if got, want := binary.NativeEndian.Uint64(there[8*i:]), writes-words+uint64(i); got != want {
			t.Fatalf("word %d is %d, the last Write there was number %d", i, got, want)
		}
	}
	if w.mb.checksum(32<<10, 64*messages) != w.ma.checksum(32<<10, 64*messages) {
		t.Fatalf("messages to a stopped host came with other bytes")
	}
	w.carries(3)
}

// Whenever a writer is stopped and goes on: a flag is never there before what it stands for, and nothing fails.
func testStoppedWriter(t *T) {
	c := t.crowd()
	g := c.guest("writer", crowdSlot, EndConfig{})
	watcher, flow := g.watched(), g.node.stream(g.toHub())
	for i, rounds := range t.moments {
		flow.reaches(flow.state().Rounds + rounds)
		g.node.signal(StopEnd)
		c.undisturbed()
		watcher.content(uint64(i))
		g.node.signal(ContinueEnd)
	}
	flow.stop()
	if s := flow.state(); s.Failure != verbs.OK {
		t.Fatalf("a writer that was stopped now and then ended %v", s.Failure)
	}
}

// A peer that is stopped for longer than Limits.PeerTimeout is gone, whether something is under way or not; others go on.
// When it is there again, it learns that it was away, and can come back.
func testSilence(t *T) {
	c := t.crowd()
	g := c.guest("silent", crowdSlot, EndConfig{})
	idle, idleThere := c.hub.pair(OpenPair{}), g.node.pair(OpenPair{})
	t.connect(idle, idleThere)
	idle.receive(verbs.Receive{Tag: 0}, verbs.Receive{Tag: 1})
	g.node.sink(Sink{Pair: g.q.id, Memory: g.m.id, Size: crowdBytes, Window: crowdPool})
	flow := c.hub.stream(g.fromHub())
	flow.reaches(10)
	g.node.signal(StopEnd)
	t.must(flow.fails(), verbs.RetryExceeded, "a stream whose target is silent")
	t.inOrder(idle.receives(2), verbs.Flushed)
	idle.untilState(verbs.Error)
	g.isGone()
	g.node.signal(ContinueEnd)
	g.q.untilState(verbs.Error)
	idleThere.untilState(verbs.Error)
	idle.reset()
	idleThere.reset()
	t.connect(idle, idleThere)
	t.carries(idle, c.hub.memory(512, 0), idleThere, g.node.memory(512, 0), 1)
}

// stoppedRevocation stops a writer somewhere in its stream, lets revoke take its permission away, lets it go on and checks
// that what it may have written to stays as it was. Its Writes are large: all of them together do not fit on a wire, so
// that one is under way whenever it is stopped.
func (t *T) stoppedRevocation(revoke func(g *guest)) {
	t.Helper()
	t.stoppedRevocationOf(func(*guest) {}, revoke)
}

// stoppedRevocationOf is the same for a permission that prepare has given.
func (t *T) stoppedRevocationOf(prepare, revoke func(g *guest)) {
	t.Helper()
	c, slot := t.crowd(), t.revokeSlot()
	for i, rounds := range t.moments {
		g := c.guest(name("writer", i), slot, EndConfig{})
		g.fill()
		prepare(g)
		flow := g.node.stream(onlyWrites(g.toHub()))
		flow.reaches(rounds)
		g.node.signal(StopEnd)
		revoke(g)
		before := g.target()
		c.undisturbed()
		g.node.signal(ContinueEnd)
		g.wasRefused(flow)
		if g.target() != before {
			t.Fatalf("writer %d was stopped, lost its access, went on, and wrote", i)
		}
		closeEnds(t, g.node)
		g.there.close()
	}
}

// onlyWrites is a stream that does hardly anything but write. Behind a Read a refusal might come second: its bytes may
// still be on their way back when a Write behind it is refused, and the requester misses those first.
func onlyWrites(s Stream) Stream {
	s.Round, s.StampEvery = s.Round[:1], revokePiece
	return s
}

// wasRefused waits for the end of a stream whose access was revoked while the writer was stopped. Where that is silence, it
// may have been gone for the other reason.
func (g *guest) wasRefused(flow *flow) {
	t := g.crowd.t
	t.Helper()
	status := flow.failsWithin(revokeRounds)
	if t.can.Has&Silence != 0 && (status == verbs.RetryExceeded || status == verbs.Flushed) {
		return
	}
	if !status.Refused() {
		t.Fatalf("%s was stopped, lost its access, went on, and its stream ended %v, want a refusal", g.node.name, status)
	}
	g.isGone()
}

// A queue pair's SetAccess completes also when the writer is stopped.
func testStoppedRevokeQueue(t *T) {
	t.stoppedRevocation(func(g *guest) { g.at.setAccess(0, Snapshot{}) })
}

// A memory's SetAccess completes also when the writer is stopped.
func testStoppedRevokeMemory(t *T) {
	t.stoppedRevocation(func(g *guest) { g.there.setAccess(0, Snapshot{}) })
}

// A memory closes also when a writer is stopped.
func testStoppedClose(t *T) { t.stoppedRevocation((*guest).replaceTarget) }

// replaceTarget closes the hub's memory and opens other memory, which may come to lie in the same place, and which the
// guest has no right to.
func (g *guest) replaceTarget() {
	g.crowd.t.Helper()
	g.there.close()
	g.there = g.crowd.hub.memory(g.size(), verbs.RemoteAll)
	g.there.fill(0, g.size(), 5)
}

package verbstest

import (
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// This file is about limits and large numbers.

var scaleTests = []Test{
	{"LimitsAreSane", "Limits say what the device can do, and agree with what the lab declares.", 0, testLimits},
	{"ManyQueuePairs", "An end can have thousands of connected queue pairs, and each of them works.", 0, testManyPairs},
	{"ManyPeers", "An end can have many peers, each a device of its own, and each of them works.", 0, testManyDevices},
	{"MoreThanFourGiB", "No counter of bytes ends at 32 bits.", 0, testTraffic},
	{"NothingIsAllocated", "From post to completion nothing is allocated.", Allocations, testAllocations},
}

// Limits say what the device can do, and agree with what the lab declares.
func testLimits(t *T) {
	l := t.open("a").limits
	for _, c := range []struct {
		what string
		ok   bool
	}{
		{"a provider has a name", l.Provider != ""},
		{"a message can have 1 MiB", l.MaxMessage >= 1<<20},
		{"a little fits inline", l.MaxInline >= 8},
		{"a request can have pieces", l.MaxSpans >= 4},
		{"a queue holds something", l.MaxDepth >= 64},
		{"there can be several queue pairs", l.MaxQueuePairs >= t.can.QueuePairs},
		{"a completion queue can serve full queues", l.MaxCompletion >= 2*l.MaxDepth+verbs.ControlRoom},
		{"a dead peer is reported within a bound", l.PeerTimeout > 0 && l.PeerTimeout <= 10*time.Minute},
		{"chains are declared as they are", l.Chains == (t.can.Has&Chains != 0)},
		{"CPU atomics are declared as they are", l.CPUAtomics == (t.can.Has&CPUAtomics != 0)},
		{"that the last word comes last is declared as it is", l.LastWordLast == (t.can.Has&LastWordLast != 0)},
	} {
		if !c.ok {
			t.Errorf("not so: %s: %+v", c.what, l)
		}
	}
}

// An end can have thousands of connected queue pairs, and each of them works: all are open when each carries a message.
func testManyPairs(t *T) {
	n := t.can.QueuePairs
	config := OpenPair{SendDepth: 2, ReceiveDepth: 2}
	ends := EndConfig{Completions: n * (2 + 2 + verbs.ControlRoom)}
	a, b := t.openWith("a", ends), t.openWith("b", ends)
	ma, mb := a.memory(8, 0), b.memory(8, 0)
	from, to := make([]*pair, n), make([]*pair, n)
	cost := costOf(a, n)
	for i := range n {
		from[i], to[i] = a.pair(config), b.pair(config)
		a.do(Connect{from[i].id, uint64(i), to[i].address})
		b.do(Connect{to[i].id, uint64(i), from[i].address})
	}
	for _, end := range []*node{a, b} {
		for _, c := range end.takeAny(Controls, n) {
			t.must(c.Status, verbs.OK, "connection %d", c.Tag)
		}
	}
	for i := range n {
		to[i].receive(verbs.Receive{Tag: verbs.Tag(i), Span: mb.span(0, 8)})
		from[i].post(verbs.Request{Tag: verbs.Tag(i), Op: verbs.OpSend, Span: ma.span(0, 8)})
	}
	t.eachOnce(a.takeAny(Requests, n), n)
	t.eachOnce(b.takeAny(Receives, n), n)
	cost("queue pairs")
}

// costOf begins to measure what the process of an end takes for each of n things. The measurement is for people: it counts
// everything that lives in that process, the test's own records too.
func costOf(end *node, n int) (logAs func(things string)) {
	before := end.do(Resources{})
	return func(things string) {
		after := end.do(Resources{})
		end.t.Logf("%d %s: %.2f descriptors and %.1f KiB each, in the process of %s", n, things,
			float64(after.Count-before.Count)/float64(n), (float64(after.Word)-float64(before.Word))/float64(n)/1024, end.name)
	}
}

// An end can have many peers, each a device of its own, and each of them works: a message there, and a Write back, when
// all are connected. The peers share a process where ends are processes, and sleep, so that they do not all poll at once.
func testManyDevices(t *T) {
	n := t.can.Peers
	hub := t.openWith("hub", EndConfig{Completions: n * (2 + 2 + verbs.ControlRoom)})
	words := hub.memory(8*n, verbs.RemoteWrite)
	cost, costThere := costOf(hub, n), costOf(hub, n)
	peers, from, to := make([]*node, n), make([]*pair, n), make([]*pair, n)
	config := OpenPair{SendDepth: 2, ReceiveDepth: 2, Access: verbs.RemoteWrite}
	for i := range n {
		ends := EndConfig{Completions: 2 + 2 + verbs.ControlRoom, Waiting: Sleeping, ScanEvery: Never}
		if i > 0 {
			ends.Beside = peers[0].name
		}
		peers[i] = t.openWith(name("peer", i), ends)
		if i == 0 {
			costThere = costOf(peers[0], n)
		}
		from[i], to[i] = peers[i].pair(config), hub.pair(config)
		t.connect(from[i], to[i])
	}
	for i := range n {
		m := peers[i].memory(16, 0)
		m.put(0, wordBytes(uint64(i+1)))
		from[i].receive(verbs.Receive{Tag: verbs.Tag(i), Span: m.span(8, 8)})
		from[i].post(request(verbs.OpWrite, 0, m.span(0, 8), words.remote(8*i, 8)))
		t.statuses("write of a peer", from[i].requests(1), verbs.OK)
		to[i].post(verbs.Request{Op: verbs.OpSend, Span: words.span(8*i, 8)})
		t.statuses("message to a peer", to[i].requests(1), verbs.OK)
		t.statuses("its arrival", from[i].receives(1), verbs.OK)
		if there, back := words.word(8*i), m.word(8); there != uint64(i+1) || back != there {
			t.Fatalf("peer %d wrote %d, the hub has %d and sent back what arrived as %d", i, i+1, there, back)
		}
	}
	cost("peers")
	costThere("devices")
}

// eachOnce checks that completions are OK and have the tags 0 to n-1, in any order.
func (t *T) eachOnce(list []verbs.Completion, n int) {
	t.Helper()
	seen := make([]bool, n)
	for _, c := range list {
		if c.Status != verbs.OK || seen[c.Tag] {
			t.Fatalf("%+v: failed or seen before", c)
		}
		seen[c.Tag] = true
	}
}

// No counter of bytes ends at 32 bits. Writes, Sends and Reads of one queue pair share the budget. Each round has other
// bytes; the sink counts the messages, and in the end every slot must hold, at both ends, what its last round moved.
func testTraffic(t *T) {
	const size, slots, window = 1 << 20, 4, 2
	a, b := t.open("a"), t.open("b")
	source, fetched := a.memory(2*slots*size, 0), slots*size // what is read lies behind what is written
	written, sent := b.memory(slots*size, verbs.RemoteAll), b.memory(window*size, 0)
	qa, qb := a.pair(OpenPair{SendDepth: 3 * (slots - 1)}), b.pair(OpenPair{ReceiveDepth: window, Access: verbs.RemoteAll})
	t.connect(qa, qb)
	rounds := max(uint64(t.can.Traffic/(3*size))+1, slots)
	sink := b.sink(Sink{Pair: qb.id, Memory: sent.id, Size: size, Window: window, Stamped: true})
	a.stream(Stream{Pair: qa.id, Memory: source.id, Rounds: rounds, Slots: slots, Stride: size, Stamp: 1,
		RemoteStride: size, RemoteSlots: slots, Round: []verbs.Request{
			request(verbs.OpWrite, 0, source.span(0, size), written.remote(0, size)),
			request(verbs.OpSend, 0, source.span(0, size), verbs.RemoteSpan{}),
			request(verbs.OpRead, 0, source.span(fetched, size), written.remote(0, size)),
		}}).succeeds(rounds)
	sink.reaches(rounds)
	for at := 0; at < slots*size; at += size {
		want := source.checksum(at, size)
		if written.checksum(at, size) != want || source.checksum(fetched+at, size) != want {
			t.Fatalf("after %d MiB a Write, or the Read behind it, left other bytes than its round had", 3*rounds)
		}
	}
}

// From post to completion nothing is allocated. Commands allocate, so the test asks how much more thousands of
// operations allocate than the few commands around them may.
func testAllocations(t *T) {
	const window, forCommands = 16, 250
	operations := uint64(max(10*forCommands, 500*t.can.Repeat))
	w := t.wireWith(OpenPair{SendDepth: 2 * window, ReceiveDepth: window, Access: verbs.RemoteAll})
	w.b.sink(Sink{Pair: w.qb.id, Memory: w.mb.id, Size: 64, Window: window})
	for _, op := range []verbs.Op{verbs.OpSend, verbs.OpSendImm, verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead,
		verbs.OpCompareSwap, verbs.OpFetchAdd} {
		flow := w.a.stream(Stream{Pair: w.qa.id, Memory: w.ma.id, Round: []verbs.Request{
			quiet(request(op, 0, w.ma.span(0, 8), w.mb.remote(4096, 8))),
			request(op, 0, w.ma.span(0, 8), w.mb.remote(4096, 8))}})
		flow.reaches(operations / 10)
		before, rounds := w.a.do(Mallocs{}).Word, flow.state().Rounds
		flow.reaches(rounds + operations/2)
		if n := w.a.do(Mallocs{}).Word - before; n > forCommands {
			t.Errorf("%v: %d allocations in about %d operations", op, n, operations)
		}
		flow.stop()
	}
}

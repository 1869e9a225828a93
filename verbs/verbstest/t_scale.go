package verbstest

import (
	"time"

	"github.com/weft-fabric/weft/verbs"
)

var scaleTests = []Test{
	{"LimitsAreSane", "Limits say what the device can do, and agree with what the lab declares.", 0, testLimits},
	{"ManyQueuePairs", "An end can have thousands of connected queue pairs, and each of them works.", 0, testManyPairs},
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
	} {
		if !c.ok {
			t.Errorf("not so: %s: %+v", c.what, l)
		}
	}
}

// An end can have thousands of connected queue pairs, and each of them works.
func testManyPairs(t *T) {
	n := t.can.QueuePairs
	config := OpenPair{SendDepth: 2, ReceiveDepth: 2}
	ends := EndConfig{Completions: n * (2 + 2 + verbs.ControlRoom)}
	a, b := t.openWith("a", ends), t.openWith("b", ends)
	ma, mb := a.memory(8, 0), b.memory(8, 0)
	from, to := make([]*pair, n), make([]*pair, n)
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

// From post to completion nothing is allocated. Commands allocate, so the test asks how much more ten thousand
// operations allocate than the few commands around them may.
func testAllocations(t *T) {
	const window, operations = 16, 10_000
	const forCommands = operations / 40
	w := t.wireWith(OpenPair{SendDepth: 2 * window, ReceiveDepth: window, Access: verbs.RemoteAll})
	w.b.sink(Sink{Pair: w.qb.id, Memory: w.mb.id, Size: 64, Window: window})
	for _, op := range []verbs.Op{verbs.OpSend, verbs.OpSendImm, verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead,
		verbs.OpCompareSwap, verbs.OpFetchAdd} {
		flow := w.a.stream(Stream{Pair: w.qa.id, Memory: w.ma.id, Round: []verbs.Request{
			quiet(request(op, 0, w.ma.span(0, 8), w.mb.remote(4096, 8))),
			request(op, 0, w.ma.span(0, 8), w.mb.remote(4096, 8))}})
		flow.reaches(1000)
		before, rounds := w.a.do(Mallocs{}).Word, flow.state().Rounds
		flow.reaches(rounds + operations/2)
		if n := w.a.do(Mallocs{}).Word - before; n > forCommands {
			t.Errorf("%v: %d allocations in about %d operations", op, n, operations)
		}
		flow.stop()
	}
}

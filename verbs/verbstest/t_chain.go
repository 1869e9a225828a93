package verbstest

import (
	"github.com/weft-fabric/weft/verbs"
)

// This file is about requests that the NIC starts by itself when a message has arrived.

var chainTests = []Test{
	{"ChainsRelayWithoutTheHost", "A NIC starts chained requests by itself, in order, while its host does nothing.",
		Chains | Stop | OwnNIC, testRelay},
	{"ChainsWaitForTheirArrival", "A chained request, and what is behind it, does not start before its arrival.", Chains,
		testChainWaits},
	{"ChainsOfNobodyAreFlushed",
		"A chained request whose queue pair does not exist, or was closed or reset meanwhile, is Flushed; its own goes to Error.",
		Chains, testChainOfNobody},
	{"ChainsWaitForAConnection", "A chained request waits also for a queue pair that has not connected yet.", Chains,
		testChainWaitsForConnection},
	{"FailedMessagesStartNoChain", "Only messages that were received without error count as arrived.", Chains,
		testFailedArrival},
	{"ChainsDieWithTheirTrigger", "If the queue pair that a chain waits for leaves Ready, the chained request is Flushed.",
		Chains, testChainDies},
}

// relay is a chain of three ends: what arrives at the middle from the first goes on to the last.
type relay struct {
	first, middle, last *node
	out, in, on, end    *pair // first's, the middle's two, last's
	mf, mm, ml          *mem
}

func (t *T) relay() *relay {
	t.Helper()
	r := &relay{first: t.open("first"), middle: t.open("middle"), last: t.open("last")}
	config := OpenPair{Access: verbs.RemoteAll}
	r.out, r.in, r.on, r.end = r.first.pair(config), r.middle.pair(config), r.middle.pair(config), r.last.pair(config)
	r.mf, r.mm, r.ml = r.first.memory(8192, 0), r.middle.memory(8192, 0), r.last.memory(8192, verbs.RemoteAll)
	t.connect(r.out, r.in)
	t.connect(r.on, r.end)
	return r
}

// forward is a request of the middle that sends on what arrives as message number i, counted from 0.
func (r *relay) forward(i, size int) verbs.Request {
	return verbs.Request{Tag: verbs.Tag(i), Op: verbs.OpSend, Span: r.mm.span(i*size, size),
		After: verbs.Arrival{Queue: r.in.number, Count: uint64(i + 1)}}
}

// A NIC starts chained requests by itself, in order, while its host does nothing: the middle stands still when the messages
// come, so nobody but its NIC can have sent them on.
func testRelay(t *T) {
	const size, messages = 512, 8
	r := t.relay()
	r.mf.fill(0, size*messages, 6)
	var sends, forwards []verbs.Request
	var receives, ends []verbs.Receive
	for i := range messages {
		sends = append(sends, verbs.Request{Tag: verbs.Tag(i), Op: verbs.OpSend, Span: r.mf.span(i*size, size)})
		receives = append(receives, verbs.Receive{Tag: verbs.Tag(i), Span: r.mm.span(i*size, size)})
		forwards = append(forwards, r.forward(i, size))
		ends = append(ends, verbs.Receive{Tag: verbs.Tag(i), Span: r.ml.span(i*size, size)})
	}
	r.in.receive(receives...)
	r.on.post(forwards...)
	r.end.receive(ends...)
	r.middle.signal(StopEnd)
	r.out.post(sends...)
	t.inOrder(r.out.requests(messages), verbs.OK)
	t.inOrder(r.end.receives(messages), verbs.OK)
	if r.ml.checksum(0, size*messages) != r.mf.checksum(0, size*messages) {
		t.Fatalf("the relayed messages came with other bytes")
	}
	r.middle.signal(ContinueEnd)
	t.inOrder(r.in.receives(messages), verbs.OK)
	t.inOrder(r.on.requests(messages), verbs.OK)
}

// A chained request, and what is behind it, does not start before its arrival. Messages on another connection let time
// pass, in which a Write that started too early would land.
func testChainWaits(t *T) {
	r := t.relay()
	r.mm.put(4096, wordBytes(1))
	r.in.receive(verbs.Receive{Tag: 0, Span: r.mm.span(0, 8)}, verbs.Receive{Tag: 1, Span: r.mm.span(8, 8)})
	chained := request(verbs.OpWrite, 0, r.mm.span(4096, 8), r.ml.remote(0, 8))
	chained.After = verbs.Arrival{Queue: r.in.number, Count: 2}
	r.on.post(chained, request(verbs.OpWrite, 1, r.mm.span(4096, 8), r.ml.remote(8, 8)))
	side, sideEnd := r.middle.pair(OpenPair{}), r.last.pair(OpenPair{})
	t.connect(side, sideEnd)
	stillWaits := func(arrived int) {
		t.Helper()
		for i := range 5 {
			t.carries(side, r.mm, sideEnd, r.last.memory(512, 0), uint64(i))
		}
		if r.ml.word(0) != 0 || r.ml.word(8) != 0 {
			t.Fatalf("a request chained to the second arrival, or one behind it, started after %d", arrived)
		}
	}
	stillWaits(0)
	for arrived := range 2 {
		r.out.post(verbs.Request{Op: verbs.OpSend, Span: r.mf.span(0, 8)})
		t.statuses("send", r.out.requests(1), verbs.OK)
		t.statuses("receive", r.in.receives(1), verbs.OK)
		if arrived == 0 {
			stillWaits(1)
		}
	}
	t.inOrder(r.on.requests(2), verbs.OK)
	if r.ml.word(0) != 1 || r.ml.word(8) != 1 {
		t.Fatalf("the chained Writes have completed and are not in memory")
	}
	// The arrival is in the past now: such a request starts at once.
	chained.Remote = r.ml.remote(16, 8)
	r.on.post(chained)
	t.statuses("request chained to a past arrival", r.on.requests(1), verbs.OK)
}

// A chained request whose queue pair does not exist, or was closed or reset meanwhile, is Flushed, and its own queue pair
// goes to Error. What was posted in front of it is done, what is behind it is Flushed too: everything completes.
func testChainOfNobody(t *T) {
	for _, c := range []struct {
		what    string
		trigger func(r *relay) uint32 // returns the number to wait for
		after   func(r *relay)        // done when the request is posted; nil: nothing
	}{
		{"never existed", func(*relay) uint32 { return 1<<31 - 1 }, nil},
		{"was closed before", func(r *relay) uint32 { r.in.close(); return r.in.number }, nil},
		{"was closed afterwards", func(r *relay) uint32 { return r.in.number }, func(r *relay) { r.in.close() }},
		{"was reset afterwards", func(r *relay) uint32 { return r.in.number }, func(r *relay) { r.in.reset() }},
	} {
		r := t.relay()
		r.end.receive(verbs.Receive{Tag: 0})
		chained := verbs.Request{Tag: 1, Op: verbs.OpSend, After: verbs.Arrival{Queue: c.trigger(r), Count: 1}}
		r.on.post(verbs.Request{Op: verbs.OpSend}, chained, verbs.Request{Op: verbs.OpSend}, quiet(verbs.Request{Op: verbs.OpSend}))
		if c.after != nil {
			c.after(r)
		}
		t.statuses("around a request chained to a queue pair that "+c.what, r.on.requests(4), verbs.OK, verbs.Flushed,
			verbs.Flushed, verbs.Flushed)
		t.statuses("message in front of it", r.end.receives(1), verbs.OK)
		r.on.untilState(verbs.Error)
		closeEnds(t, r.first, r.middle, r.last)
	}
}

// A chained request waits also for a queue pair that has not connected yet.
func testChainWaitsForConnection(t *T) {
	r := t.relay()
	late, peer := r.middle.pair(OpenPair{}), r.first.pair(OpenPair{})
	late.receive(verbs.Receive{Tag: 0})
	r.end.receive(verbs.Receive{Tag: 0})
	r.on.post(verbs.Request{Op: verbs.OpSend, After: verbs.Arrival{Queue: late.number, Count: 1}})
	t.connect(late, peer)
	t.carries(r.out, r.mf, r.in, r.mm, 1) // lets time pass
	if early := r.middle.do(Take{Queue: r.on.number, Class: Requests, N: 1}).Completions; len(early) > 0 {
		t.Fatalf("a request chained to a queue pair that has just connected completed as %+v", early[0])
	}
	peer.post(verbs.Request{Op: verbs.OpSend})
	t.inOrder(r.on.requests(1), verbs.OK)
	t.inOrder(r.end.receives(1), verbs.OK)
}

// Only messages that were received without error count as arrived: here the message is longer than its receive.
func testFailedArrival(t *T) {
	r := t.relay()
	r.in.receive(verbs.Receive{Tag: 0, Span: r.mm.span(0, 8)})
	r.on.post(r.forward(0, 8))
	r.out.post(verbs.Request{Op: verbs.OpSend, Span: r.mf.span(0, 9)})
	t.statuses("message longer than its receive", r.in.receives(1), verbs.LocalLength)
	t.inOrder(r.on.requests(1), verbs.Flushed)
	r.on.untilState(verbs.Error)
}

// If the queue pair that a chain waits for leaves Ready, the chained request is Flushed.
func testChainDies(t *T) {
	for i, end := range []func(r *relay){
		func(r *relay) { r.out.close() },
		func(r *relay) { r.out.reset() },
		func(r *relay) { r.in.close() },
		func(r *relay) { r.in.reset() },
	} {
		r := t.relay()
		r.in.receive(verbs.Receive{Tag: 0, Span: r.mm.span(0, 8)})
		r.on.post(r.forward(0, 8), verbs.Request{Tag: 1, Op: verbs.OpSend}, quiet(verbs.Request{Tag: 2, Op: verbs.OpSend}))
		end(r)
		t.Logf("the trigger ended in way %d", i)
		t.inOrder(r.on.requests(3), verbs.Flushed)
		r.on.untilState(verbs.Error)
	}
}

package verbstest

import (
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// This file is about queues that are full or empty, and hosts that do not look.

var queueTests = []Test{
	{"QuietQueuesNeverGetStuck", "A send queue of nothing but Quiet requests does not deadlock, and its Room comes back.", 0,
		testAllQuiet},
	{"FullSendQueueIsAnAnswer", "A full send queue is ErrQueueFull, not a wait; after completions it goes on.", 0,
		testSendQueueFull},
	{"FullReceiveQueueIsAnAnswer", "A full receive queue is ErrQueueFull.", 0, testReceiveQueueFull},
	{"CompletionQueueReservesRoom", "A queue pair reserves its room in the completion queue, or is refused.", 0,
		testReservation},
	{"NoCompletionIsLost", "With every queue filled to the brim and nobody polling, no completion is lost.",
		Stop | OneSided, testNothingLost},
	{"RequestsEndWithoutTheHost", "A NIC carries out what was posted, also what had to wait, while its host does nothing.",
		Stop | OwnNIC, testHostStopped},
	{"SendWaitsForAReceive", "A Send without a posted receive waits for one.", 0, testSendWaits},
	{"SendDoesNotWaitForEver", "A Send or WriteImm that finds no receive in time ends as ReceiverNotReady.", 0,
		testReceiverNotReady},
	{"QuietSendIsNotLate", "A Quiet Send that has arrived is not late, however long nobody hears of it.", 0, testQuietSendIsNotLate},
	{"ShortReceiveIsRefused", "A message longer than the receive: LocalLength there, RemoteInvalid here, Error at both.", 0,
		testShortReceive},
	{"CountersCrossTheirWrap", "Sequence numbers wrap without anybody noticing.", 0, testWrap},
}

// A send queue of nothing but Quiet requests does not deadlock, and its Room comes back.
func testAllQuiet(t *T) {
	for _, depth := range []int{1, 2, 3, 8} {
		a, b := t.open(name("a", depth)), t.open(name("b", depth))
		ma, mb := a.memory(64, 0), b.memory(64, verbs.RemoteWrite)
		qa, qb := a.pair(OpenPair{SendDepth: depth}), b.pair(OpenPair{Access: verbs.RemoteWrite})
		t.connect(qa, qb)
		rounds := uint64(10*depth + t.can.Repeat)
		flow := a.stream(Stream{Pair: qa.id, Memory: ma.id, Rounds: rounds,
			Round: []verbs.Request{quiet(request(verbs.OpWrite, 0, ma.span(0, 64), mb.remote(0, 64)))}})
		flow.succeeds(rounds)
		if room := qa.inspect().Room; room != depth {
			t.Fatalf("%d Quiet requests are done, and there is room for %d of %d", rounds, room, depth)
		}
		closeEnds(t, a, b)
	}
}

// A full send queue is ErrQueueFull, not a wait; after completions it goes on.
func testSendQueueFull(t *T) {
	w := t.wireWith(OpenPair{SendDepth: 4})
	sends := make([]verbs.Request, 5)
	receives := make([]verbs.Receive, 4)
	for i := range sends {
		sends[i] = verbs.Request{Tag: verbs.Tag(i), Op: verbs.OpSend, Span: w.ma.span(0, 8)}
	}
	for i := range receives {
		receives[i] = verbs.Receive{Tag: verbs.Tag(i), Span: w.mb.span(0, 8)}
	}
	for range 3 {
		if n := w.a.refuses(Post{Pair: w.qa.id, Requests: sends}, verbs.ErrQueueFull).Count; n != 4 {
			t.Fatalf("a send queue of 4 took %d requests", n)
		}
		if room := w.qa.inspect().Room; room != 0 {
			t.Fatalf("a full send queue has room for %d", room)
		}
		w.qb.receive(receives...)
		t.statuses("sends", w.qa.requests(4), verbs.OK, verbs.OK, verbs.OK, verbs.OK)
		t.statuses("receives", w.qb.receives(4), verbs.OK, verbs.OK, verbs.OK, verbs.OK)
		if room := w.qa.inspect().Room; room != 4 {
			t.Fatalf("an idle send queue of 4 has room for %d", room)
		}
	}
}

// A full receive queue is ErrQueueFull.
func testReceiveQueueFull(t *T) {
	w := t.wireWith(OpenPair{ReceiveDepth: 3})
	receives := make([]verbs.Receive, 4)
	for i := range receives {
		receives[i] = verbs.Receive{Tag: verbs.Tag(i), Span: w.mb.span(0, 8)}
	}
	for range 3 {
		if n := w.b.refuses(Post{Pair: w.qb.id, Receives: receives}, verbs.ErrQueueFull).Count; n != 3 {
			t.Fatalf("a receive queue of 3 took %d", n)
		}
		if room := w.qb.inspect().ReceiveRoom; room != 0 {
			t.Fatalf("a full receive queue has room for %d", room)
		}
		for range 3 {
			w.qa.post(verbs.Request{Op: verbs.OpSend, Span: w.ma.span(0, 8)})
		}
		t.statuses("receives", w.qb.receives(3), verbs.OK, verbs.OK, verbs.OK)
		t.statuses("sends", w.qa.requests(3), verbs.OK, verbs.OK, verbs.OK)
	}
}

// A queue pair reserves its room in the completion queue, or is refused. The queue has room for two and a half.
func testReservation(t *T) {
	const room = 5 + 6 + verbs.ControlRoom
	a := t.openWith("a", EndConfig{Completions: 2*room + room/2})
	config := OpenPair{SendDepth: 5, ReceiveDepth: 6}
	first := a.pair(config)
	a.pair(config)
	if left := first.inspect().Count; left != room/2 {
		t.Fatalf("two queue pairs of %d completions left room for %d of %d", room, left, 2*room+room/2)
	}
	a.refuses(config, verbs.ErrQueueFull)
	first.close()
	a.pair(config)
	a.refuses(config, verbs.ErrQueueFull)
}

// With every queue filled to the brim and nobody polling, no completion is lost. A first message shows each NIC where the
// memory lies: for that it may need the host.
func testNothingLost(t *T) {
	const pairs, depth = 8, 32
	room := pairs * (depth + depth + verbs.ControlRoom)
	a, b := t.openWith("a", EndConfig{Completions: room}), t.openWith("b", EndConfig{Completions: room})
	ma, mb := a.memory(64, 0), b.memory(64, 0)
	var from, to []*pair
	receives := make([]verbs.Receive, depth)
	sends := make([]verbs.Request, depth)
	for i := range depth {
		receives[i] = verbs.Receive{Tag: verbs.Tag(i), Span: mb.span(0, 8)}
		sends[i] = verbs.Request{Tag: verbs.Tag(i), Op: verbs.OpSend, Span: ma.span(0, 8)}
	}
	for i := range pairs {
		config := OpenPair{SendDepth: depth, ReceiveDepth: depth}
		from, to = append(from, a.pair(config)), append(to, b.pair(config))
		t.connect(from[i], to[i])
		to[i].receive(receives[0])
		from[i].post(sends[0])
		t.inOrder(from[i].requests(1), verbs.OK)
		t.inOrder(to[i].receives(1), verbs.OK)
		to[i].receive(receives...)
	}
	b.signal(StopEnd)
	for _, p := range from {
		p.post(sends...)
	}
	for _, p := range from {
		t.inOrder(p.requests(depth), verbs.OK)
	}
	b.signal(ContinueEnd)
	for _, p := range to {
		t.inOrder(p.receives(depth), verbs.OK)
	}
}

// A NIC carries out what was posted, also what had to wait, while its host does nothing.
func testHostStopped(t *T) {
	const depth, size = 16, 256
	w := t.wireWith(OpenPair{SendDepth: 2 * depth, ReceiveDepth: depth, Access: verbs.RemoteAll})
	w.ma.fill(0, depth*size, 8)
	var requests []verbs.Request
	var receives []verbs.Receive
	for i := range depth {
		requests = append(requests, request(verbs.OpSend, uint64(2*i), w.ma.span(i*size, size), verbs.RemoteSpan{}),
			request(verbs.OpWrite, uint64(2*i+1), w.ma.span(i*size, 8), w.mb.remote(32<<10+8*i, 8)))
		receives = append(receives, verbs.Receive{Tag: verbs.Tag(i), Span: w.mb.span(i*size, size)})
	}
	w.qa.post(requests...)
	w.a.signal(StopEnd)
	w.qb.receive(receives...)
	t.inOrder(w.qb.receives(depth), verbs.OK)
	w.a.signal(ContinueEnd)
	t.inOrder(w.qa.requests(2*depth), verbs.OK)
	if w.mb.checksum(0, depth*size) != w.ma.checksum(0, depth*size) {
		t.Fatalf("messages that were sent while the host stood still came with other bytes")
	}
	if w.mb.word(32<<10+8*(depth-1)) != w.ma.word((depth-1)*size) {
		t.Fatalf("the last Write has completed, and is not in memory")
	}
}

// inOrder checks that completions have the tags 0, 1, 2, … and the status. What failed has no bytes, and a receive that
// was flushed is an OpReceive.
func (t *T) inOrder(list []verbs.Completion, want verbs.Status) {
	t.Helper()
	for i, c := range list {
		if c.Tag != verbs.Tag(i) || c.Status != want {
			t.Fatalf("completion %d is %+v, want tag %d and %v", i, c, i, want)
		}
		if want != verbs.OK && (c.Bytes != 0 || c.Op.IsReceive() && c.Op != verbs.OpReceive) {
			t.Fatalf("completion %d is %+v: a failure with bytes, or a flushed receive that is no OpReceive", i, c)
		}
	}
}

// A Send without a posted receive waits for one. Traffic on another queue pair lets time pass meanwhile.
func testSendWaits(t *T) {
	w := t.wireWith(OpenPair{Access: verbs.RemoteAll, ReceiverWait: time.Hour})
	pa, pb := w.a.pair(OpenPair{Access: verbs.RemoteAll}), w.b.pair(OpenPair{Access: verbs.RemoteAll})
	t.connect(pa, pb)
	for _, op := range []verbs.Op{verbs.OpSend, verbs.OpSendImm, verbs.OpWriteImm} {
		w.ma.fill(0, 64, uint64(op))
		w.ma.put(32<<10, wordBytes(uint64(op)))
		w.mb.put(32<<10, wordBytes(uint64(op)-1))
		w.qa.post(request(op, 1, w.ma.span(0, 64), w.mb.remote(0, 64)),
			request(verbs.OpWrite, 2, w.ma.span(32<<10, 8), w.mb.remote(32<<10, 8)))
		for range t.can.Repeat {
			t.carries(pa, w.ma, pb, w.mb, uint64(op))
		}
		if behind := w.mb.word(32 << 10); behind != uint64(op)-1 {
			t.Fatalf("a Write behind a waiting %v has landed", op)
		}
		if early := w.a.do(Take{Queue: w.qa.number, Class: Requests, N: 1}).Completions; len(early) > 0 {
			t.Fatalf("%v completed as %+v though no receive was posted", op, early[0])
		}
		w.qb.receive(verbs.Receive{Tag: 3, Span: w.mb.span(0, 64)})
		t.statuses(op.String(), w.qa.requests(2), verbs.OK, verbs.OK)
		t.statuses("receive", w.qb.receives(1), verbs.OK)
		if w.mb.checksum(0, 64) != w.ma.checksum(0, 64) {
			t.Fatalf("%v waited, and then carried other bytes", op)
		}
	}
}

// A Send or WriteImm that finds no receive in time ends as ReceiverNotReady, and not before the time is up.
func testReceiverNotReady(t *T) {
	const wait = 20 * time.Millisecond
	w := t.wireWith(OpenPair{Access: verbs.RemoteAll, ReceiverWait: wait})
	for i, op := range []verbs.Op{verbs.OpSend, verbs.OpWriteImm} {
		if i > 0 {
			w.reconnect()
		}
		before := w.a.now()
		w.qa.post(request(verbs.OpWrite, 0, w.ma.span(0, 8), w.mb.remote(0, 8)),
			request(op, 1, w.ma.span(0, 8), w.mb.remote(0, 8)),
			quiet(request(verbs.OpWrite, 2, w.ma.span(0, 8), w.mb.remote(0, 8))))
		t.statuses(op.String(), w.qa.requests(3), verbs.OK, verbs.ReceiverNotReady, verbs.Flushed)
		if waited := w.a.now().Sub(before); waited < wait {
			t.Fatalf("%v gave up after %v, it was to wait for %v", op, waited, wait)
		}
		w.qa.untilState(verbs.Error)
	}
}

// A Quiet Send that has arrived is not late, however long nobody hears of it. Traffic on another queue pair lets time pass.
func testQuietSendIsNotLate(t *T) {
	const wait = 50 * time.Millisecond
	w := t.wireWith(OpenPair{Access: verbs.RemoteAll, ReceiverWait: wait})
	pa, pb := w.a.pair(OpenPair{Access: verbs.RemoteAll}), w.b.pair(OpenPair{Access: verbs.RemoteAll})
	t.connect(pa, pb)
	w.qb.receive(verbs.Receive{Tag: 1, Span: w.mb.span(0, 64)})
	w.qa.post(quiet(verbs.Request{Op: verbs.OpSend, Span: w.ma.span(0, 64)}))
	t.statuses("receive", w.qb.receives(1), verbs.OK)
	const often = 100 // a provider need not look at its clock each time that it is polled
	for n, before := 0, w.a.now(); n < often || w.a.now().Sub(before) < 2*wait; n++ {
		t.carries(pa, w.ma, pb, w.mb, 7)
	}
	w.carries(8)
}

// A message longer than the receive: LocalLength there, RemoteInvalid here, Error at both.
func testShortReceive(t *T) {
	w := t.wire()
	w.mb.fill(0, 128, 4)
	untouched := w.mb.checksum(64, 64)
	w.qb.receive(verbs.Receive{Tag: 1, Span: w.mb.span(0, 64)}, verbs.Receive{Tag: 2, Span: w.mb.span(0, 64)},
		verbs.Receive{Tag: 3, Span: w.mb.span(0, 64)})
	send := func(size int) verbs.Request { return verbs.Request{Op: verbs.OpSend, Span: w.ma.span(0, size)} }
	w.qa.post(send(64), send(65), send(64))
	t.statuses("sends", w.qa.requests(3), verbs.OK, verbs.RemoteInvalid, verbs.Flushed)
	t.statuses("receives", w.qb.receives(3), verbs.OK, verbs.LocalLength, verbs.Flushed)
	w.qa.untilState(verbs.Error)
	w.qb.untilState(verbs.Error)
	if w.mb.checksum(64, 64) != untouched {
		t.Fatalf("a message that was too long was written beyond its receive")
	}
}

// Sequence numbers wrap without anybody noticing. They start close below 2³² (package verbs), so a few hundred requests
// and receives cross it.
func testWrap(t *T) {
	const size, slots, window = 16, 8, 4
	const rounds = 400
	w := t.wireWith(OpenPair{SendDepth: 6, ReceiveDepth: window, Access: verbs.RemoteAll})
	sink := w.b.sink(Sink{Pair: w.qb.id, Memory: w.mb.id, Size: size, Window: window, Stamped: true})
	flow := w.a.stream(Stream{Pair: w.qa.id, Memory: w.ma.id, Slots: slots, Stride: size, Stamp: 1, Rounds: rounds,
		Round: []verbs.Request{
			quiet(request(verbs.OpWrite, 0, w.ma.span(0, 8), w.mb.remote(1024, 8))),
			request(verbs.OpSend, 0, w.ma.span(0, size), verbs.RemoteSpan{}),
		}})
	flow.succeeds(rounds)
	sink.reaches(rounds)
	if got := w.mb.word(1024); got != rounds-1 {
		t.Fatalf("the last of %d Writes left %d", rounds, got)
	}
}

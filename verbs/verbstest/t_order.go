package verbstest

import (
	"bytes"

	"github.com/weft-fabric/weft/verbs"
)

// This file is about what comes before what.

var orderTests = []Test{
	{"CompletedWriteIsInMemory", "A completed Write is in the target's memory.", 0, testCompletedWrite},
	{"LaterWritesNeverOvertake",
		"The requests of a queue pair take effect in posting order: a flag that is written after its data is never seen before it.",
		0, testNoOvertaking},
	{"WordsAreNeverTorn", "An aligned word that a peer writes alone, or as the last of a Write, is never seen half.", 0,
		testTornWords},
	{"CompletionsComeInPostingOrder", "Requests complete in posting order, large or small; Quiet ones say nothing.", 0,
		testCompletionOrder},
	{"MessagesArriveOnceAndInOrder", "Messages are never lost, doubled or reordered.", 0, testMessageOrder},
	{"ReceivesAreTakenInOrder", "The receives of a queue pair are taken in the order they were posted.", 0, testReceiveOrder},
	{"FencedWriteNeverChangesTheRead", "A request with Fence waits until earlier Reads have taken effect.", 0, testFence},
	{"FencedSendCarriesWhatTheReadBrought", "A request with Fence may send what an earlier Read or atomic fetched.", 0,
		testFenceForwards},
}

// A completed Write is in the target's memory.
func testCompletedWrite(t *T) {
	w := t.wire()
	for round := range uint64(5 * t.can.Repeat) {
		w.ma.put(0, wordBytes(round+1))
		w.qa.post(request(verbs.OpWrite, 1, w.ma.span(0, 8), w.mb.remote(8, 8)))
		t.statuses("write", w.qa.requests(1), verbs.OK)
		if got := w.mb.word(8); got != round+1 {
			t.Fatalf("the Write of %d has completed, the target's word is %d", round+1, got)
		}
	}
}

// The requests of a queue pair take effect in posting order: a flag that is written after its data is never seen before
// it. The watcher looks at the data whenever the flag has changed; data that came later would take long enough to be missed.
func testNoOvertaking(t *T) {
	const data, stride, slots = 16 << 10, 16<<10 + 8, 20
	a, b := t.open("a"), t.openWith("b", EndConfig{Waiting: Polling, ScanEvery: 1000})
	ma, mb := a.memory(slots*stride, 0), b.memory(stride, verbs.RemoteWrite)
	qa, qb := a.pair(OpenPair{SendDepth: 16}), b.pair(OpenPair{Access: verbs.RemoteWrite})
	t.connect(qa, qb)
	watcher := b.watch(Watch{Memory: mb.id, Offset: data, Guards: data / 8})
	flow := a.stream(Stream{Pair: qa.id, Memory: ma.id, Slots: slots, Stride: stride, Stamp: 1, Round: []verbs.Request{
		quiet(request(verbs.OpWrite, 0, ma.span(0, data), mb.remote(0, data))),
		request(verbs.OpWrite, 0, ma.span(data, 8), mb.remote(data, 8)),
	}})
	flow.reaches(uint64(500 * t.can.Repeat))
	watcher.content(uint64(50 * t.can.Repeat))
	flow.stop()
	flow.state()
}

// An aligned word that a peer writes alone, or as the last of a Write, is never seen half: the two halves of what is
// written are equal, and the watcher looks whether those of what is there are, too.
func testTornWords(t *T) {
	const stride, slots = 72, 20
	a, b := t.open("a"), t.openWith("b", EndConfig{Waiting: Polling, ScanEvery: 1000})
	ma, mb := a.memory(slots*stride, 0), b.memory(256, verbs.RemoteWrite)
	qa, qb := a.pair(OpenPair{SendDepth: 16}), b.pair(OpenPair{Access: verbs.RemoteWrite})
	t.connect(qa, qb)
	alone := b.watch(Watch{Memory: mb.id, Offset: 0, Halves: true})
	last := b.watch(Watch{Memory: mb.id, Offset: 128 + 64, Halves: true})
	flow := a.stream(Stream{Pair: qa.id, Memory: ma.id, Slots: slots, Stride: stride, Stamp: 1<<32 | 1,
		Round: []verbs.Request{
			request(verbs.OpWrite, 0, ma.span(0, 8), mb.remote(0, 8)),
			request(verbs.OpWrite, 0, ma.span(0, 72), mb.remote(128, 72)),
		}})
	rounds := 100 * t.can.Repeat
	if t.can.Has&Preemptive != 0 {
		rounds *= 100 // a word is half written for about a nanosecond: it takes many looks to meet that
	}
	flow.reaches(uint64(rounds))
	alone.content(1)
	last.content(1)
	flow.stop()
	flow.state()
}

// Requests complete in posting order, large or small; Quiet ones say nothing.
func testCompletionOrder(t *T) {
	a, b := t.open("a"), t.open("b")
	ma, mb := a.memory(1<<20, verbs.RemoteAll), b.memory(1<<20, verbs.RemoteAll)
	config := OpenPair{Access: verbs.RemoteAll, SendDepth: 32}
	qa, qb := a.pair(config), b.pair(config)
	t.connect(qa, qb)
	var list []verbs.Request
	var want []verbs.Tag
	ops := []verbs.Op{verbs.OpWrite, verbs.OpRead, verbs.OpFetchAdd, verbs.OpWrite, verbs.OpCompareSwap, verbs.OpRead}
	sizes := []int{1 << 20, 8, 8, 64 << 10, 8, 256 << 10}
	for i := range 24 {
		r := request(ops[i%6], uint64(i), ma.span(0, sizes[i%6]), mb.remote(0, sizes[i%6]))
		if i%4 == 2 || i%7 == 3 {
			r = quiet(r)
		} else {
			want = append(want, r.Tag)
		}
		list = append(list, r)
	}
	list[23].Flags = 0
	if want[len(want)-1] != 23 {
		want = append(want, 23)
	}
	qa.post(list...)
	for i, c := range qa.requests(len(want)) {
		if c.Tag != want[i] || c.Status != verbs.OK || c.Op != ops[c.Tag%6] {
			t.Fatalf("completion %d is %+v, want tag %d", i, c, want[i])
		}
	}
	if extra := a.do(Take{AnyQueue: true, Class: Requests, N: 1}).Completions; len(extra) > 0 {
		t.Fatalf("one more completion came: %+v", extra[0])
	}
	if room := qa.inspect().Room; room != 32 {
		t.Fatalf("everything has completed, and there is room for %d of 32", room)
	}
}

// Messages are never lost, doubled or reordered: they are numbered, and the sink expects the next number.
func testMessageOrder(t *T) {
	const size, slots, window = 64, 20, 8
	w := t.wireWith(OpenPair{SendDepth: 16, ReceiveDepth: window})
	rounds := uint64(50 * t.can.Repeat)
	sink := w.b.sink(Sink{Pair: w.qb.id, Memory: w.mb.id, Size: size, Window: window, Stamped: true})
	flow := w.a.stream(Stream{Pair: w.qa.id, Memory: w.ma.id, Slots: slots, Stride: size, Stamp: 1, Rounds: rounds,
		Round: []verbs.Request{quiet(request(verbs.OpSend, 0, w.ma.span(0, size), verbs.RemoteSpan{}))}})
	flow.succeeds(rounds)
	sink.reaches(rounds)
	if got := sink.state().Rounds; got != rounds {
		t.Fatalf("%d messages were sent, %d arrived", rounds, got)
	}
}

// The receives of a queue pair are taken in the order they were posted.
func testReceiveOrder(t *T) {
	w := t.wire()
	var receives []verbs.Receive
	var sends []verbs.Request
	for i := range 10 {
		receives = append(receives, verbs.Receive{Tag: verbs.Tag(100 + i), Span: w.mb.span(64*i, 8)})
		w.ma.put(64*i, wordBytes(uint64(i+1)))
		sends = append(sends, verbs.Request{Tag: verbs.Tag(i), Op: verbs.OpSend, Span: w.ma.span(64*i, 8)})
	}
	w.qb.receive(receives...)
	w.qa.post(sends...)
	for i, c := range w.qb.receives(10) {
		if c.Tag != verbs.Tag(100+i) || c.Status != verbs.OK || w.mb.word(64*i) != uint64(i+1) {
			t.Fatalf("message %d took the receive with tag %d (%v) and left %d", i, c.Tag, c.Status, w.mb.word(64*i))
		}
	}
}

// A request with Fence waits until earlier Reads have taken effect. The first Write is short and meets the last bytes of
// a long Read, so that it would win the race if it was allowed to run.
func testFence(t *T) {
	const size = 32 << 10
	w := t.wire()
	for round := range uint64(t.can.Repeat) {
		w.mb.fill(0, size, 2*round)
		w.ma.fill(size, size, 2*round+1)
		last := request(verbs.OpWrite, 2, w.ma.span(2*size-8, 8), w.mb.remote(size-8, 8))
		w.qa.post(request(verbs.OpRead, 1, w.ma.span(0, size), w.mb.remote(0, size)), fenced(last),
			fenced(request(verbs.OpWrite, 3, w.ma.span(size, size), w.mb.remote(0, size))))
		t.statuses("read, then fenced writes", w.qa.requests(3), verbs.OK, verbs.OK, verbs.OK)
		want := make([]byte, size)
		fillPattern(want, 2*round)
		if w.ma.checksum(0, size) != checksum(want) {
			t.Fatalf("round %d: the Read returned bytes of a Write that was fenced behind it", round)
		}
		if w.mb.checksum(0, size) != w.ma.checksum(size, size) {
			t.Fatalf("round %d: the fenced Write is not in memory", round)
		}
	}
}

// A request with Fence may send what an earlier Read or atomic fetched.
func testFenceForwards(t *T) {
	w := t.wire()
	for round := range uint64(t.can.Repeat) {
		w.mb.put(0, wordBytes(1000+round))
		add := request(verbs.OpFetchAdd, 2, w.ma.span(8, 8), w.mb.remote(0, 8))
		w.qa.post(request(verbs.OpRead, 1, w.ma.span(0, 8), w.mb.remote(0, 8)), add,
			fenced(request(verbs.OpWrite, 3, w.ma.span(0, 16), w.mb.remote(64, 16))))
		t.statuses("read, add, fenced write", w.qa.requests(3), verbs.OK, verbs.OK, verbs.OK)
		want := append(wordBytes(1000+round), wordBytes(1000+round)...)
		if got := w.mb.get(64, 16); !bytes.Equal(got, want) {
			t.Fatalf("round %d: a fenced Write carried %x, the Read and the atomic brought %x", round, got, want)
		}
	}
}

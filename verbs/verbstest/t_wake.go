package verbstest

import (
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// This file is about ends that sleep, and what wakes them.

var wakeTests = []Test{
	{"MessagesWakeASleeper", "Send and WriteImm wake an end that sleeps.", 0, testMessagesWake},
	{"CompletionsWakeASleeper", "The end of a request wakes who posted it and sleeps.", 0, testCompletionsWake},
	{"PlainWritesWakeNobody", "A plain Write wakes nobody; a Send does.", Sleeps, testWritesDoNotWake},
	{"PlainWritesAreSeenByScanning", "A loop with a Scanner sees a plain Write within its scan interval.", 0, testScanning},
	{"EveryWayOfWaitingWorks", "Polling, sleeping and both in turn see the same.", 0, testWaitingPolicies},
	{"OthersPostWhileOneWaits", "While one goroutine waits, those who share its queue post and poll, and nothing is missed.",
		SharedWaits, testSharedWaits},
	{"TimersComeInOrder", "Timers come when they are due, in order, also while the end sleeps.", 0, testTimers},
}

// sleepers opens two ends, both of which sleep until they are woken.
func (t *T) sleepers() *wire {
	t.Helper()
	config := EndConfig{Waiting: Sleeping, ScanEvery: Never}
	w := &wire{a: t.openWith("a", config), b: t.openWith("b", config)}
	w.ma, w.mb = w.a.memory(wireMemory, verbs.RemoteAll), w.b.memory(wireMemory, verbs.RemoteAll)
	w.qa, w.qb = w.a.pair(OpenPair{Access: verbs.RemoteAll}), w.b.pair(OpenPair{Access: verbs.RemoteAll})
	t.connect(w.qa, w.qb)
	return w
}

// Send and WriteImm wake an end that sleeps. The sleeper is commanded to sleep until the message is there; then nothing
// but the message can wake it.
func testMessagesWake(t *T) {
	w := t.sleepers()
	for round := range t.can.Repeat {
		for _, op := range []verbs.Op{verbs.OpSend, verbs.OpSendImm, verbs.OpWriteImm} {
			w.qb.receive(verbs.Receive{Tag: 1, Span: w.mb.span(0, 8)})
			w.a.do(SetTimer{After: time.Duration(round) * 10 * time.Microsecond, Tag: 1})
			w.a.take(0, Controls, 1)
			w.qa.post(request(op, 2, w.ma.span(0, 8), w.mb.remote(0, 8)))
			t.statuses("receive", w.qb.receives(1), verbs.OK)
			t.statuses(op.String(), w.qa.requests(1), verbs.OK)
		}
	}
}

// The end of a request wakes who posted it and sleeps: here the request waits for a receive that comes much later.
func testCompletionsWake(t *T) {
	w := t.sleepers()
	for range t.can.Repeat {
		w.qa.post(verbs.Request{Tag: 1, Op: verbs.OpSend, Span: w.ma.span(0, 8)})
		w.qb.receive(verbs.Receive{Tag: 2, Span: w.mb.span(0, 8)})
		t.statuses("receive", w.qb.receives(1), verbs.OK)
		t.statuses("send", w.qa.requests(1), verbs.OK)
	}
	w.qb.receive(verbs.Receive{Tag: 3})
	w.qa.close()
	t.statuses("receive whose peer has closed", w.qb.receives(1), verbs.Flushed)
}

// A plain Write wakes nobody; a Send does. A few turns are free: commands wake an end too, and waiting may end early.
func testWritesDoNotWake(t *T) {
	const free = 20
	writes := max(5*free, 25*t.can.Repeat)
	w := t.sleepers()
	before := w.b.do(Turns{}).Word
	for range writes {
		w.qa.post(request(verbs.OpWrite, 0, w.ma.span(0, 8), w.mb.remote(0, 8)))
		t.statuses("write", w.qa.requests(1), verbs.OK)
	}
	turns := w.b.do(Turns{}).Word - before
	if turns > free {
		t.Fatalf("%d plain Writes made their target turn %d times", writes, turns)
	}
}

// A loop with a Scanner sees a plain Write within its scan interval: the watcher looks only when its loop scans.
func testScanning(t *T) {
	a, b := t.open("a"), t.openWith("b", EndConfig{Waiting: Sleeping, ScanEvery: time.Millisecond})
	ma, mb := a.memory(64, 0), b.memory(64, verbs.RemoteWrite)
	qa, qb := a.pair(OpenPair{}), b.pair(OpenPair{Access: verbs.RemoteWrite})
	t.connect(qa, qb)
	watcher := b.watch(Watch{Memory: mb.id, Offset: 8})
	for i := range uint64(t.can.Repeat) {
		ma.put(0, wordBytes(i+1))
		qa.post(request(verbs.OpWrite, 0, ma.span(0, 8), mb.remote(8, 8)))
		watcher.content(i + 1)
		t.statuses("write", qa.requests(1), verbs.OK)
	}
}

// Polling, sleeping and both in turn see the same.
func testWaitingPolicies(t *T) {
	for _, policy := range []Waiting{Polling, Sleeping, Hybrid} {
		config := EndConfig{Waiting: policy}
		w := &wire{a: t.openWith("a "+policy.String(), config), b: t.openWith("b "+policy.String(), config)}
		w.ma, w.mb = w.a.memory(wireMemory, verbs.RemoteAll), w.b.memory(wireMemory, verbs.RemoteAll)
		w.qa, w.qb = w.a.pair(OpenPair{SendDepth: 16}), w.b.pair(OpenPair{ReceiveDepth: 8})
		t.connect(w.qa, w.qb)
		rounds := uint64(10 * t.can.Repeat)
		sink := w.b.sink(Sink{Pair: w.qb.id, Memory: w.mb.id, Size: 64, Window: 8, Stamped: true})
		w.a.stream(Stream{Pair: w.qa.id, Memory: w.ma.id, Slots: 20, Stride: 64, Stamp: 1, Rounds: rounds,
			Round: []verbs.Request{request(verbs.OpSend, 0, w.ma.span(0, 64), verbs.RemoteSpan{})}}).succeeds(rounds)
		sink.reaches(rounds)
		closeEnds(t, w.a, w.b)
	}
}

// While one goroutine waits, those who share its queue post and poll, and nothing is missed: what comes from the peer wakes
// who waits, what has ended at once is there for who has posted it, and what is due later is seen to though only the other
// one is left.
func testSharedWaits(t *T) {
	for _, policy := range []Waiting{Sleeping, Hybrid, Polling} {
		config := EndConfig{Waiting: policy, ScanEvery: Never, Shared: true}
		w := &wire{a: t.openWith("a "+policy.String(), config), b: t.openWith("b "+policy.String(), config)}
		w.ma, w.mb = w.a.memory(wireMemory, verbs.RemoteAll), w.b.memory(wireMemory, verbs.RemoteAll)
		w.qa = w.a.pair(OpenPair{Access: verbs.RemoteAll, ReceiverWait: time.Millisecond})
		w.qb = w.b.pair(OpenPair{Access: verbs.RemoteAll})
		t.connect(w.qa, w.qb)
		for range t.can.Repeat {
			w.qb.receive(verbs.Receive{Tag: 1, Span: w.mb.span(0, 8)})
			w.qa.post(request(verbs.OpSend, 2, w.ma.span(0, 8), verbs.RemoteSpan{}))
			t.statuses("receive", w.qb.receives(1), verbs.OK)
			t.statuses("send", w.qa.requests(1), verbs.OK)
			w.qa.post(request(verbs.OpWrite, 3, w.ma.span(0, wireMemory), w.mb.remote(0, wireMemory)))
			t.statuses("write", w.qa.requests(1), verbs.OK)
		}
		w.qa.post(request(verbs.OpSend, 4, w.ma.span(0, 8), verbs.RemoteSpan{}))
		t.statuses("send that nobody receives", w.qa.requests(1), verbs.ReceiverNotReady)
		closeEnds(t, w.a, w.b)
	}
}

// closeEnds closes ends before the test is over, so that a policy that never sleeps does not take time from the rest.
func closeEnds(t *T, ends ...*node) {
	t.Helper()
	for _, n := range ends {
		if err := n.end.Close(); err != nil {
			t.Fatalf("close %s: %v", n.name, err)
		}
	}
}

// Timers come when they are due, in order, also while the end sleeps. They are all set in one moment.
func testTimers(t *T) {
	a := t.openWith("a", EndConfig{Waiting: Sleeping, ScanEvery: Never})
	before := a.now()
	var timers Together
	for i, after := range []time.Duration{3, 1, 2, 1, 0} {
		timers.Commands = append(timers.Commands, SetTimer{After: after * 20 * time.Millisecond, Tag: uint64(i)})
	}
	a.do(timers)
	for i, c := range a.take(0, Controls, 5) {
		if want := []verbs.Tag{4, 1, 3, 2, 0}[i]; c.Tag != want || c.Op != verbs.OpTimer {
			t.Fatalf("timer %d is %+v, want tag %d", i, c, want)
		}
	}
	if passed := a.now().Sub(before); passed < 60*time.Millisecond {
		t.Fatalf("a timer of 60 ms came after %v", passed)
	}
}

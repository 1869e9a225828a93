package verbstest

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// This file is about the end of objects.

var closeTests = []Test{
	{"CloseInEveryState",
		"A queue pair closes in every state; nothing of it completes afterwards, and its room comes back.",
		0, testCloseStates},
	{"CloseIsNoticedByThePeer", "When one end is closed, the other goes to Error and flushes.", 0, testCloseNoticed},
	{"CloseUnderTraffic", "Closing one queue pair does not disturb others.", 0, testCloseUnderTraffic},
	{"ChildrenCloseFirst", "Parents refuse to close while children live; closing twice does nothing.", 0, testCloseOrder},
}

func name(prefix string, n int) string { return fmt.Sprintf("%s%d", prefix, n) }

// A queue pair closes in every state; nothing of it completes afterwards, and its room comes back.
func testCloseStates(t *T) {
	w := t.wire()
	room := w.qa.inspect().Count
	outstanding := func(p *pair) {
		p.receive(verbs.Receive{Tag: 1}, verbs.Receive{Tag: 2})
		p.post(verbs.Request{Op: verbs.OpSend}, quiet(verbs.Request{Op: verbs.OpSend}), verbs.Request{Op: verbs.OpSend})
	}
	for _, c := range []struct {
		state   string
		prepare func(p, peer *pair)
	}{
		{"New", func(p, _ *pair) {}},
		{"New with receives", func(p, _ *pair) { p.receive(verbs.Receive{Tag: 1}) }},
		{"Connecting", func(p, peer *pair) { p.node.do(Connect{p.id, 1, peer.address}) }},
		{"Ready", func(p, peer *pair) { t.connect(p, peer) }},
		{"Ready, outstanding", func(p, peer *pair) {
			t.connect(p, peer)
			outstanding(p)
		}},
		{"Error", func(p, peer *pair) {
			t.connect(p, peer)
			peer.close()
			p.untilState(verbs.Error)
			outstanding(p)
		}},
		{"Resetting", func(p, peer *pair) {
			t.connect(p, peer)
			outstanding(p)
			p.node.do(Reset{p.id, 2})
		}},
		{"Access changing", func(p, peer *pair) {
			t.connect(p, peer)
			p.node.do(SetQueueAccess{Pair: p.id, Tag: 3, Access: verbs.RemoteRead})
		}},
	} {
		p, peer := w.a.pair(OpenPair{}), w.b.pair(OpenPair{})
		c.prepare(p, peer)
		p.close()
		for class := range Controls + 1 {
			w.a.do(Take{Queue: p.number, Class: class, N: 100})
		}
		w.carries(1)
		for class := range Controls + 1 {
			if late := w.a.do(Take{Queue: p.number, Class: class, N: 1}).Completions; len(late) > 0 {
				t.Fatalf("closed when %s: %+v completed afterwards", c.state, late[0])
			}
		}
		p.close()
		peer.close()
		if now := w.qa.inspect(); now.Count != room {
			t.Fatalf("closed when %s: the completion queue has room for %d, it had %d", c.state, now.Count, room)
		}
		if state := p.inspect().State; state != verbs.Closed {
			t.Fatalf("a closed queue pair is %v", state)
		}
	}
}

// When one end is closed, the other goes to Error and flushes.
func testCloseNoticed(t *T) {
	w := t.wire()
	w.qb.receive(verbs.Receive{Tag: 0}, verbs.Receive{Tag: 1})
	w.qb.post(verbs.Request{Tag: 0, Op: verbs.OpSend}, quiet(verbs.Request{Tag: 1, Op: verbs.OpSend}),
		verbs.Request{Tag: 2, Op: verbs.OpSend})
	w.qa.close()
	t.inOrder(w.qb.receives(2), verbs.Flushed)
	t.statuses("what was outstanding", w.qb.requests(3), verbs.RetryExceeded, verbs.Flushed, verbs.Flushed)
	w.qb.untilState(verbs.Error)
}

// Closing one queue pair does not disturb others: a stream beside it goes on, and complains if it is disturbed.
func testCloseUnderTraffic(t *T) {
	w := t.wire()
	flow := w.a.stream(Stream{Pair: w.qa.id, Memory: w.ma.id,
		Round: []verbs.Request{request(verbs.OpWrite, 0, w.ma.span(0, 1024), w.mb.remote(0, 1024))}})
	for i := range t.can.Repeat {
		config := OpenPair{Access: verbs.RemoteAll}
		p, peer := w.a.pair(config), w.b.pair(config)
		t.connect(p, peer)
		victim := w.a.stream(Stream{Pair: p.id, Memory: w.ma.id,
			Round: []verbs.Request{request(verbs.OpWrite, 0, w.ma.span(0, 1024), w.mb.remote(4096, 1024))}})
		victim.reaches(uint64(i))
		if i%2 == 0 {
			peer.close()
			if status := victim.fails(); status != verbs.RetryExceeded && status != verbs.Flushed {
				t.Fatalf("the peer closed, and a stream of Writes to it ended %v", status)
			}
			p.close()
		} else {
			w.a.do(StreamState{Stream: victim.id, Stop: true})
			p.close()
			peer.untilState(verbs.Error)
			peer.close()
		}
	}
	flow.reaches(flow.state().Rounds + 10)
}

// Parents refuse to close while children live; closing twice does nothing.
func testCloseOrder(t *T) {
	a := t.open("a")
	for _, complaint := range a.do(CloseOrder{}).Text {
		t.Errorf("%s", complaint)
	}
}

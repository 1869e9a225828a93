package verbstest

import (
	"strings"

	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is about connecting, and connecting again.

var resetTests = []Test{
	{"ResetFlushesThenCompletes", "Reset completes behind everything that was outstanding, which is Flushed.", 0,
		testResetFlushes},
	{"ResetFromEveryState", "Reset leads from every state to New, with a new address.", 0, testResetStates},
	{"ReconnectedEndsCarryData", "Two ends that were reset connect again under their new addresses.", 0, testReconnect},
	{"EndsConnectToThemselves", "Two queue pairs of one device can be connected to each other.", 0, testLoopback},
	{"StaleAddressesDoNotConnect", "An address from before a Reset does not connect.", 0, testStaleAddress},
	{"ResetIsNoticedByThePeer", "When one end is reset, the other goes to Error and flushes.", 0, testResetNoticed},
	{"ConnectRefusesNonsense", "What is no address, or its own, is refused or never connects; a second Connect is ErrState.", 0,
		testConnectNonsense},
	{"NothingIsPostedBeforeConnect", "Requests on a queue pair that never connected are ErrState; receives are welcome.", 0,
		testPostEarly},
}

// Reset completes behind everything that was outstanding, which is Flushed.
func testResetFlushes(t *T) {
	w := t.wire()
	send := verbs.Request{Op: verbs.OpSend, Span: w.ma.span(0, 8)}
	var sends []verbs.Request
	var receives []verbs.Receive
	for i := range 6 {
		send.Tag = verbs.Tag(i)
		sends = append(sends, send)
		receives = append(receives, verbs.Receive{Tag: verbs.Tag(i), Span: w.ma.span(64, 8)})
	}
	sends[3] = quiet(sends[3])
	w.a.do(Post{Pair: w.qa.id, Receives: receives, Requests: sends})
	tag := t.tag()
	w.a.do(Reset{w.qa.id, tag})
	w.a.refuses(Post{Pair: w.qa.id, Requests: sends}, verbs.ErrState)
	t.must(w.qa.control(verbs.OpReset, tag), verbs.OK, "reset")
	// Without waiting any more: they came first.
	t.inOrder(w.a.do(Take{Queue: w.qa.number, Class: Requests, N: 7}).Completions, verbs.Flushed)
	flushed := w.a.do(Take{Queue: w.qa.number, Class: Receives, N: 7}).Completions
	t.inOrder(flushed, verbs.Flushed)
	if len(flushed) != 6 {
		t.Fatalf("%d of 6 receives were flushed before Reset completed", len(flushed))
	}
	if r := w.qa.inspect(); r.State != verbs.New || r.Room != 64 || r.ReceiveRoom != 64 {
		t.Fatalf("after Reset the queue pair is %v, with room for %d and %d of 64", r.State, r.Room, r.ReceiveRoom)
	}
}

// Reset leads from every state to New, with a new address.
func testResetStates(t *T) {
	w := t.wire()
	fresh := w.a.pair(OpenPair{})
	connecting := w.a.pair(OpenPair{})
	unwilling := w.b.pair(OpenPair{})
	tag := t.tag()
	w.a.do(Connect{connecting.id, tag, unwilling.address})
	for _, c := range []struct {
		what string
		pair *pair
	}{{"New", fresh}, {"Ready", w.qa}, {"Error", w.qb}} {
		before := c.pair.address
		if c.what == "Error" {
			c.pair.untilState(verbs.Error)
		}
		c.pair.reset()
		if r := c.pair.inspect(); r.State != verbs.New || r.Address == before {
			t.Fatalf("reset from %s: it is %v, its address was %q and is %q", c.what, r.State, before, r.Address)
		}
	}
	// A Connect under way either has completed or is flushed; in any case it completes before the Reset.
	resetTag := t.tag()
	w.a.do(Reset{connecting.id, resetTag})
	if status := connecting.control(verbs.OpConnect, tag); status != verbs.OK && status != verbs.Flushed {
		t.Fatalf("a Connect under way when its queue pair was reset ended %v", status)
	}
	t.must(connecting.control(verbs.OpReset, resetTag), verbs.OK, "reset while connecting")
	w.qa.address, w.qb.address = w.qa.inspect().Address, w.qb.inspect().Address
	t.connect(w.qa, w.qb)
	w.carries(1)
}

// Two ends that were reset connect again under their new addresses.
func testReconnect(t *T) {
	w := t.wire()
	for i := range t.can.Repeat {
		w.carries(uint64(i))
		old := w.qa.address
		w.reconnect()
		if w.qa.address == old {
			t.Fatalf("the address %q has not changed with Reset", old)
		}
	}
	w.carries(99)
}

// Two queue pairs of one device can be connected to each other.
func testLoopback(t *T) {
	a := t.open("a")
	ma, mb := a.memory(512, verbs.RemoteAll), a.memory(512, verbs.RemoteAll)
	config := OpenPair{Access: verbs.RemoteAll}
	p, q := a.pair(config), a.pair(config)
	t.connect(p, q)
	t.carries(p, ma, q, mb, 1)
	t.carries(q, mb, p, ma, 2)
	p.post(request(verbs.OpWrite, 0, ma.span(0, 256), mb.remote(0, 256)))
	t.statuses("write", p.requests(1), verbs.OK)
	if mb.checksum(0, 256) != ma.checksum(0, 256) {
		t.Fatalf("a Write to oneself is not in memory")
	}
}

// An address from before a Reset does not connect, though its owner is willing under its new one.
func testStaleAddress(t *T) {
	w := t.wire()
	stale := w.qb.address
	w.qa.reset()
	w.qb.reset()
	w.b.do(Connect{w.qb.id, 1, w.qa.address})
	t.doesNotConnect("an address from before a Reset", w.qa, stale)
	if w.qb.inspect().State == verbs.Ready { // its Connect may complete before its peer's, which then fails
		w.qb.untilState(verbs.Error)
	}
}

// doesNotConnect checks that connecting fails, at once or as a completion.
func (t *T) doesNotConnect(what string, p *pair, peer verbs.Address) {
	t.Helper()
	tag := t.tag()
	if _, err := p.node.end.Do(Connect{p.id, tag, peer}); err != nil {
		return
	}
	if status := p.control(verbs.OpConnect, tag); status == verbs.OK {
		t.Fatalf("%s connected", what)
	}
}

// When one end is reset, the other goes to Error and flushes.
func testResetNoticed(t *T) {
	w := t.wire()
	w.qb.receive(verbs.Receive{Tag: 0}, verbs.Receive{Tag: 1})
	w.qb.post(verbs.Request{Op: verbs.OpSend}, quiet(verbs.Request{Op: verbs.OpSend}))
	w.qa.reset()
	t.statuses("what was outstanding", w.qb.requests(2), verbs.RetryExceeded, verbs.Flushed)
	t.inOrder(w.qb.receives(2), verbs.Flushed)
	w.qb.untilState(verbs.Error)
	w.qb.post(verbs.Request{Tag: 0, Op: verbs.OpSend})
	t.inOrder(w.qb.requests(1), verbs.Flushed)
}

// What is no address is refused, or never connects, and so is a queue pair's own; a second Connect is ErrState.
func testConnectNonsense(t *T) {
	w := t.wire()
	w.a.refuses(Connect{w.qa.id, 1, w.qb.address}, verbs.ErrState)
	p := w.a.pair(OpenPair{})
	w.a.refuses(Connect{p.id, 1, ""}, verbs.ErrArgument)
	w.a.refuses(Connect{p.id, 1, verbs.Address(strings.Repeat("x", driver.MaxAddress+1))}, verbs.ErrArgument)
	for _, garbage := range []verbs.Address{"x", "\x00\xff", verbs.Address(strings.Repeat("9", driver.MaxAddress))} {
		w.a.refuses(Connect{p.id, 1, garbage}, verbs.ErrArgument)
	}
	w.a.refuses(Connect{p.id, 1, p.address}, verbs.ErrArgument)
	good := string(p.address)
	for _, garbage := range []string{good + "9", good[:len(good)-1], good[1:], strings.ToUpper(good) + "?"} {
		t.doesNotConnect("the garbage "+garbage, w.a.pair(OpenPair{}), verbs.Address(garbage))
	}
	closed := w.b.pair(OpenPair{})
	closed.close()
	t.doesNotConnect("a closed peer's address", w.a.pair(OpenPair{}), closed.address)
	closed.node.refuses(Connect{closed.id, 1, p.address}, verbs.ErrClosed)
	w.carries(1)
}

// Requests on a queue pair that never connected are ErrState; receives are welcome.
func testPostEarly(t *T) {
	a, b := t.open("a"), t.open("b")
	ma, mb := a.memory(512, 0), b.memory(512, 0)
	qa, qb := a.pair(OpenPair{}), b.pair(OpenPair{})
	a.refuses(Post{Pair: qa.id, Requests: []verbs.Request{{Op: verbs.OpSend, Span: ma.span(0, 8)}}}, verbs.ErrState)
	qb.receive(verbs.Receive{Tag: 5, Span: mb.span(0, 8)})
	t.connect(qa, qb)
	qa.post(verbs.Request{Op: verbs.OpSend, Span: ma.span(0, 8)})
	t.statuses("send", qa.requests(1), verbs.OK)
	if c := qb.receives(1)[0]; c.Tag != 5 || c.Status != verbs.OK {
		t.Fatalf("a receive posted before Connect completed as %+v", c)
	}
}

package verbstest

import (
	"github.com/weft-fabric/weft/verbs"
)

// This file is about requests that fail, and what is behind them.

var errorTests = []Test{
	{"RefusalFlushesBothEnds", "A refused operation puts both ends in Error, and everything outstanding at both is Flushed.",
		0, testRefusalFlushes},
	{"OwnFailureIsNoticedByThePeer",
		"An end that fails for a reason of its own is gone for its peer: RetryExceeded, then Flushed.",
		0, testOwnFailure},
	{"PostingInErrorIsFlushed", "What is posted in Error completes as Flushed, in order.", 0, testPostInError},
	{"QuietFailuresAreReported", "A Quiet request that fails completes all the same.", 0, testQuietFailure},
}

// poison is a request that the target refuses.
func (w *wire) poison(tag uint64) verbs.Request {
	r := request(verbs.OpWrite, tag, w.ma.span(0, 8), w.mb.remote(0, 8))
	r.Remote.Key ^= 0xffff
	return r
}

// A refused operation puts both ends in Error, and everything outstanding at both is Flushed.
func testRefusalFlushes(t *T) {
	w := t.wire()
	write := func(tag uint64) verbs.Request {
		return request(verbs.OpWrite, tag, w.ma.span(0, 8), w.mb.remote(0, 8))
	}
	// The other end has receives that nobody takes, and sends that wait for receives of this end.
	for tag := range uint64(3) {
		w.qb.receive(verbs.Receive{Tag: verbs.Tag(tag), Span: w.mb.span(0, 8)})
	}
	w.qb.post(request(verbs.OpSend, 0, w.mb.span(0, 8), verbs.RemoteSpan{}),
		quiet(request(verbs.OpSend, 1, w.mb.span(0, 8), verbs.RemoteSpan{})),
		request(verbs.OpWrite, 2, w.mb.span(0, 8), w.ma.remote(0, 8)))
	w.qa.post(write(0), w.poison(1), write(2), quiet(write(3)), write(4))
	ended := w.qa.requests(5)
	t.statuses("behind the refusal", ended[2:], verbs.Flushed, verbs.Flushed, verbs.Flushed)
	if ended[0].Status != verbs.OK || !ended[1].Status.Refused() {
		t.Fatalf("before and at the refusal: %v, %v", ended[0].Status, ended[1].Status)
	}
	t.inOrder(w.qb.requests(3), verbs.Flushed)
	t.inOrder(w.qb.receives(3), verbs.Flushed)
	w.qa.untilState(verbs.Error)
	w.qb.untilState(verbs.Error)
	w.reconnect()
	w.carries(5)
}

// An end that fails for a reason of its own is gone for its peer: RetryExceeded, then Flushed.
func testOwnFailure(t *T) {
	w := t.wire()
	w.qb.receive(verbs.Receive{Tag: 0}, verbs.Receive{Tag: 1})
	w.qb.post(verbs.Request{Op: verbs.OpSend}, verbs.Request{Op: verbs.OpSend})
	bad := w.ma.span(0, 8)
	bad.Key ^= 0x5a5a
	w.qa.post(request(verbs.OpWrite, 0, bad, w.mb.remote(0, 8)))
	t.statuses("write without a source", w.qa.requests(1), verbs.LocalProtection)
	t.statuses("what the peer had outstanding", w.qb.requests(2), verbs.RetryExceeded, verbs.Flushed)
	t.inOrder(w.qb.receives(2), verbs.Flushed)
	w.qb.untilState(verbs.Error)
}

// What is posted in Error completes as Flushed, in order.
func testPostInError(t *T) {
	w := t.wire()
	w.qa.post(w.poison(0))
	if c := w.qa.requests(1)[0]; !c.Status.Refused() {
		t.Fatalf("a forged key ended %v", c.Status)
	}
	for _, p := range []*pair{w.qa, w.qb} {
		p.untilState(verbs.Error)
		var requests []verbs.Request
		var receives []verbs.Receive
		for i := range 10 {
			r := request(verbs.OpSend, uint64(i), verbs.Span{}, verbs.RemoteSpan{})
			if i%3 == 1 {
				r = quiet(r)
			}
			requests = append(requests, r)
			receives = append(receives, verbs.Receive{Tag: verbs.Tag(i)})
		}
		p.node.do(Post{Pair: p.id, Receives: receives, Requests: requests})
		t.inOrder(p.requests(10), verbs.Flushed)
		t.inOrder(p.receives(10), verbs.Flushed)
	}
}

// A Quiet request that fails completes all the same.
func testQuietFailure(t *T) {
	w := t.wire()
	write := quiet(request(verbs.OpWrite, 0, w.ma.span(0, 8), w.mb.remote(0, 8)))
	w.qa.post(write, write, quiet(w.poison(7)), write)
	ended := w.qa.requests(2)
	if ended[0].Tag != 7 || !ended[0].Status.Refused() || ended[1].Status != verbs.Flushed {
		t.Fatalf("a Quiet request with a forged key, and one behind it, ended as %+v", ended)
	}
}

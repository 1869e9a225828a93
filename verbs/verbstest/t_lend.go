package verbstest

import (
	"github.com/weft-fabric/weft/verbs"
)

// This file is about Bind and Revoke as requests: their order, their ends, and what holds when they have completed.

var lendTests = []Test{
	{"LentAtOnce", "A Send behind a Bind carries a span that works at once, also if a Revoke is in front of the Bind.", 0,
		testLentAtOnce},
	{"LendingAllocatesNothing", "From Bind to Revoke nothing is allocated.", Allocations, testLendingAllocations},
	{"RevokedAtTheWindow", "When a Revoke completes, nothing that the window let in can land any more.", 0, testRevokeWindow},
	{"RevokedByWindowClose", "When a window's Close returns, nothing that it let in can land any more.", 0, testRevokeWindowClose},
	{"RevokedWithTheMemory", "When a memory's Close returns, nothing can land in what was lent of it any more.", 0,
		testRevokeLentMemory},
	{"StoppedWriterIsRevokedAtTheWindow",
		"A Revoke completes also when the writer is stopped; when it goes on nothing lands, and it is refused.",
		Stop | SharedReceives, testStoppedRevokeWindow},
	{"QuietLendingIsNotReported", "A Bind or a Revoke that is Quiet is reported only if it fails.", 0, testQuietLending},
	{"FullQueuesLendNothing", "A Bind or a Revoke that finds the queue full is ErrQueueFull, and changes nothing.", 0,
		testLendingFull},
	{"LentPiecesAreChecked", "A piece outside memory of the queue pair's domain ends as LocalProtection.", 0, testLendingChecked},
	{"LendingEndsWithTheConnection", "A Bind or a Revoke behind a failure, or in Error, is flushed, and lends nothing.", 0,
		testLendingFlushed},
	{"WindowsCloseWithTheirRequestsUnderWay", "A window closes while a Bind or a Revoke is under way: that ends well, and so does what is behind.",
		0, testWindowClosedEarly},
	{"WindowsRefuseNonsense", "A bad Bind or Revoke is an error of the documented kind.", 0, testLendingNonsense},
}

// lending starts both workers on a scene, and returns the lender's.
func (l *loan) lending(rounds uint64) *flow {
	l.t.Helper()
	l.qb.window() // or the test is skipped
	borrowed, lent := l.a.memory(loanMemory, 0), l.b.memory(loanMemory, 0)
	l.a.do(Borrower{Pair: l.qa.id, Memory: borrowed.id})
	return &flow{l.b, l.b.do(Lender{Pair: l.qb.id, Memory: lent.id, Rounds: rounds}).ID}
}

// lendingDepth leaves room for what nobody waits for.
const lendingDepth = 32

// A Send behind a Bind carries a span that works at once, also if a Revoke is in front of the Bind.
func testLentAtOnce(t *T) {
	l := t.loanWith(OpenPair{Access: verbs.RemoteWrite, SendDepth: lendingDepth})
	rounds := uint64(50 * t.can.Repeat)
	l.lending(rounds).succeeds(rounds)
}

// From Bind to Revoke nothing is allocated.
func testLendingAllocations(t *T) {
	const forCommands = 250
	rounds := uint64(max(10*forCommands, 100*t.can.Repeat))
	l := t.loanWith(OpenPair{Access: verbs.RemoteWrite, SendDepth: lendingDepth})
	flow := l.lending(1 << 40) // until it is stopped
	flow.reaches(rounds / 10)
	before := l.b.do(Mallocs{}).Word
	flow.reaches(flow.state().Rounds + rounds)
	if n := l.b.do(Mallocs{}).Word - before; n > forCommands {
		t.Errorf("%d allocations in about %d rounds", n, rounds)
	}
	flow.stop()
}

// lent is a revocation of what is lent. What the streams write to is memory, which grants nothing by itself, under the key of
// the window.
func (r *revocation) lent(w *window, target *mem) {
	r.t.Helper()
	r.target = target
	target.region.RemoteKey = w.bind(target.span(0, revokeSlots*r.slot), verbs.RemoteWrite).Key
}

// When a Revoke completes, nothing that the window let in can land any more: see revocation.holds.
func testRevokeWindow(t *T) {
	r := t.revocation()
	target := r.b.memory(revokeSlots*r.slot, 0)
	for i := range t.can.Repeat {
		w := r.qb.window()
		r.lent(w, target)
		flow := r.writes(uint64(1 + 3*i%17))
		w.revoke(r.snapshot())
		r.holds(flow)
		r.reconnect()
	}
}

// When a window's Close returns, nothing that it let in can land any more.
func testRevokeWindowClose(t *T) {
	r := t.revocation()
	target := r.b.memory(revokeSlots*r.slot, 0)
	for i := range t.can.Repeat {
		w := r.qb.window()
		r.lent(w, target)
		flow := r.writes(uint64(1 + 3*i%17))
		w.close(r.snapshot())
		r.holds(flow)
		r.reconnect()
	}
}

// When a memory's Close returns, nothing can land in what was lent of it any more.
func testRevokeLentMemory(t *T) {
	r := t.revocation()
	for i := range t.can.Repeat {
		opened := r.b.do(OpenMemory{Size: revokeSlots * r.slot, OwnPages: true})
		r.lent(r.qb.window(), &mem{node: r.b, id: opened.ID, region: opened.Region})
		flow := r.writes(uint64(1 + 3*i%17))
		r.b.do(Close{Kind: aMemory, ID: r.target.id, Snapshot: r.snapshot()})
		r.holds(flow)
		r.reconnect()
	}
}

// A Revoke completes also when the writer is stopped.
func testStoppedRevokeWindow(t *T) {
	var w *window
	t.stoppedRevocationOf(func(g *guest) {
		w = g.at.window()
		g.there.region.RemoteKey = w.bind(g.there.span(0, g.size()), verbs.RemoteAll).Key
	}, func(*guest) { w.revoke(Snapshot{}) })
}

// A Bind or a Revoke that is Quiet is reported only if it fails.
func testQuietLending(t *T) {
	l := t.loan()
	w := l.qb.window()
	silent := func(c Command) Result {
		t.Helper()
		r := l.b.do(c)
		l.qb.post(request(verbs.OpWrite, 7, verbs.Span{}, verbs.RemoteSpan{}))
		if c := l.qb.requests(1)[0]; c.Tag != 7 || c.Status != verbs.OK {
			t.Fatalf("behind a Quiet one of a window %+v completed, want the request behind it", c)
		}
		return r
	}
	for range 2 * defaultQuiet {
		lent := silent(Bind{Window: w.id, Tag: 1, Piece: l.mb.span(0, 64), Access: verbs.RemoteAll, Flags: verbs.Quiet}).Remote
		l.works("lent quietly", verbs.OpWrite, lent)
		silent(Revoke{Window: w.id, Tag: 2, Flags: verbs.Quiet})
	}
	outside := l.mb.span(0, 64)
	outside.Address += loanSize
	l.b.do(Bind{Window: w.id, Tag: 3, Piece: outside, Access: verbs.RemoteAll, Flags: verbs.Quiet})
	if c := l.qb.requests(1)[0]; c.Tag != 3 || c.Op != verbs.OpBind || c.Status != verbs.LocalProtection {
		t.Fatalf("a Quiet Bind of a piece outside its memory completed as %+v", c)
	}
}

// defaultQuiet is more rounds than the send queue of a scene holds.
const defaultQuiet = 20

// A Bind or a Revoke that finds the queue full is ErrQueueFull, and changes nothing.
func testLendingFull(t *T) {
	l := t.loanWith(OpenPair{SendDepth: 2, Access: verbs.RemoteAll})
	windows := []*window{l.qb.window(), l.qb.window(), l.qb.window()}
	binds, revokes := make([]Command, 3), make([]Command, 3)
	for i, w := range windows {
		binds[i] = Bind{Window: w.id, Tag: uint64(i), Piece: l.mb.span(64*i, 64), Access: verbs.RemoteAll}
		revokes[i] = Revoke{Window: w.id, Tag: uint64(i)}
	}
	for range 3 {
		l.b.refuses(Together{binds}, verbs.ErrQueueFull)
		t.inOrder(l.qb.requests(2), verbs.OK)
		lent := windows[2].bind(l.mb.span(128, 64), verbs.RemoteAll)
		l.b.refuses(Together{revokes}, verbs.ErrQueueFull)
		t.inOrder(l.qb.requests(2), verbs.OK)
		l.works("what could not be taken back", verbs.OpWrite, lent)
		windows[2].revoke(Snapshot{})
	}
}

// A piece outside memory of the queue pair's domain ends as LocalProtection.
func testLendingChecked(t *T) {
	l := t.loan()
	foreign := l.b.memoryIn(l.b.do(OpenDomain{}).ID, loanSize, verbs.RemoteAll)
	closed := l.b.memory(loanSize, verbs.RemoteAll)
	closed.close()
	before, behind, garbage := l.mb.span(0, 8), l.mb.span(loanSize-8, 8), l.mb.span(0, 8)
	before.Address--
	behind.Address++
	garbage.Key ^= 0x5a5a
	for _, c := range []struct {
		what  string
		piece verbs.Span
	}{
		{"one byte before its memory", before}, {"one byte behind its memory", behind}, {"another key", garbage},
		{"memory of another domain", foreign.span(0, 8)}, {"closed memory", closed.span(0, 8)},
	} {
		w := l.qb.window()
		l.qa.receive(verbs.Receive{Tag: 1})
		l.b.do(Together{[]Command{Bind{Window: w.id, Tag: 1, Piece: c.piece, Access: verbs.RemoteAll},
			Post{Pair: l.qb.id, Requests: []verbs.Request{{Tag: 2, Op: verbs.OpSend}}}}})
		t.statuses("bind of "+c.what, l.qb.requests(2), verbs.LocalProtection, verbs.Flushed)
		l.qb.untilState(verbs.Error)
		t.statuses("receive behind it", l.qa.receives(1), verbs.Flushed)
		l.again()
	}
}

// A Bind or a Revoke behind a failure, or in Error, is flushed, and lends nothing.
func testLendingFlushed(t *T) {
	l := t.loan()
	w, other := l.qb.window(), l.qb.window()
	other.bind(l.mb.span(0, 64), verbs.RemoteAll)
	bad := l.mb.span(0, 8)
	bad.Key ^= 0x5a5a
	bind := Bind{Window: w.id, Tag: 2, Piece: l.mb.span(0, 64), Access: verbs.RemoteAll}
	lent := l.b.do(Together{[]Command{
		Post{Pair: l.qb.id, Requests: []verbs.Request{request(verbs.OpSend, 1, bad, verbs.RemoteSpan{})}}, bind}}).Remote
	t.statuses("a Send that fails, and a Bind behind it", l.qb.requests(2), verbs.LocalProtection, verbs.Flushed)
	l.qb.untilState(verbs.Error)
	l.b.do(Revoke{Window: other.id, Tag: 3})
	if c := l.qb.requests(1)[0]; c.Op != verbs.OpRevoke || c.Status != verbs.Flushed {
		t.Fatalf("a Revoke in Error completed as %+v", c)
	}
	l.again()
	l.refused("a Bind that was flushed", verbs.OpWrite, lent)
}

// A window closes while a Bind or a Revoke is under way: that ends well, and so does what is behind.
func testWindowClosedEarly(t *T) {
	l := t.loan()
	behind := Post{Pair: l.qb.id, Requests: []verbs.Request{request(verbs.OpWrite, 2, verbs.Span{}, verbs.RemoteSpan{})}}
	for range t.can.Repeat {
		w := l.qb.window()
		l.b.do(Together{[]Command{Bind{Window: w.id, Tag: 1, Piece: l.mb.span(0, 64), Access: verbs.RemoteAll},
			Close{Kind: aWindow, ID: w.id}, behind}})
		t.statuses("Bind of a window that was closed", l.qb.requests(2), verbs.OK, verbs.OK)
	}
	w := l.qb.window()
	lent := w.bind(l.mb.span(0, 64), verbs.RemoteAll)
	l.b.do(Together{[]Command{Revoke{Window: w.id, Tag: 1}, Close{Kind: aWindow, ID: w.id}, behind}})
	t.statuses("Revoke of a window that was closed", l.qb.requests(2), verbs.OK, verbs.OK)
	l.refused("lent through a window that is closed", verbs.OpWrite, lent)
}

// A bad Bind or Revoke is an error of the documented kind, and the window goes on working.
func testLendingNonsense(t *T) {
	l := t.loan()
	w := l.qb.window()
	good := Bind{Window: w.id, Tag: 1, Piece: l.mb.span(0, 64), Access: verbs.RemoteRead}
	bad := func(want error, change func(*Bind)) {
		t.Helper()
		c := good
		change(&c)
		l.b.refuses(c, want)
	}
	bad(verbs.ErrArgument, func(b *Bind) { b.Piece.Length = 0 })
	bad(verbs.ErrArgument, func(b *Bind) { b.Access = 0 })
	bad(verbs.ErrArgument, func(b *Bind) { b.Access = badAccess })
	bad(verbs.ErrArgument, func(b *Bind) { b.Flags = verbs.Fence })
	bad(verbs.ErrArgument, func(b *Bind) { b.Flags = verbs.Inline })
	bad(verbs.ErrBounds, func(b *Bind) { b.Piece = b.Piece.Sub(60, 8) })
	l.b.refuses(Revoke{Window: w.id, Tag: 1}, verbs.ErrState)
	for _, op := range []verbs.Op{verbs.OpBind, verbs.OpRevoke} {
		l.b.refuses(Post{Pair: l.qb.id, Requests: []verbs.Request{{Op: op, Span: l.mb.span(0, 8)}}}, verbs.ErrArgument)
	}
	lent := w.bind(good.Piece, good.Access)
	l.b.refuses(good, verbs.ErrInUse)
	l.b.refuses(Revoke{Window: w.id, Tag: 1, Flags: verbs.Fence}, verbs.ErrArgument)
	l.works("after much nonsense", verbs.OpRead, lent)
	w.close(Snapshot{})
	l.b.refuses(good, verbs.ErrClosed)
	l.b.refuses(Revoke{Window: w.id, Tag: 1}, verbs.ErrClosed)
	fresh := l.b.pair(OpenPair{})
	bad(verbs.ErrState, func(b *Bind) { b.Window = fresh.window().id })
	fresh.close()
	l.b.refuses(OpenWindow{fresh.id}, verbs.ErrClosed)
}

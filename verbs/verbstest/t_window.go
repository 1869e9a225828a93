package verbstest

import (
	"github.com/weft-fabric/weft/verbs"
)

// This file is about windows: what is lent, to whom, and until when. A device without windows skips it.

var windowTests = []Test{
	{"WindowsLendWhatMemoryDoesNot", "Memory that grants nothing is used through a window, for what it is lent for.", 0, testLent},
	{"WindowsLendTheirPieceAlone", "What is lent is these bytes, for these operations, under this key.", 0, testLentPiece},
	{"WindowsNeedTheQueuePair", "What is lent needs the access of the queue pair, too.", 0, testLentGate},
	{"WindowsLendToOnePeer", "What is lent is lent to the peer of the window's queue pair, and not to its other queue pairs.", 0,
		testLentToOne},
	{"WindowsAreSeparate", "Many windows lend many pieces at once, and each is taken back alone.", 0, testManyWindows},
	{"LentUntilRevoked", "What was revoked is refused; lent again it has another key, and the old one stays refused.", 0,
		testLentAgain},
	{"LentUntilTheWindowCloses", "When a window is closed, what it lent is refused.", 0, testWindowClosed},
	{"LentUntilTheMemoryCloses", "When memory is closed, what was lent of it is refused.", 0, testLentMemoryClosed},
	{"LentUntilTheConnectionEnds", "Reset and Close of a queue pair close its windows; what they lent does not open the next one.", 0,
		testLentConnection},
	{"LentKeysCannotBeGuessed", "Keys of what is lent do not resemble each other.", StrongKeys, testLentKeys},
}

// Memory that grants nothing is used through a window, for what it is lent for. Pieces may overlap.
func testLent(t *T) {
	l := t.loan()
	for _, op := range remoteOps {
		w, other := l.qb.window(), l.qb.window()
		l.works("what is lent for it", op, w.bind(l.mb.span(64, 8), op.Needs()))
		l.works("what is lent for everything, too", op, other.bind(l.mb.span(0, 128), verbs.RemoteAll).Sub(64, 8))
	}
	lent := l.qb.window().bind(l.mb.span(8, 256), verbs.RemoteRead|verbs.RemoteWrite)
	l.ma.fill(0, 256, 5)
	l.qa.post(request(verbs.OpWrite, 0, l.ma.span(0, 256), lent), fenced(request(verbs.OpRead, 1, l.ma.span(512, 256), lent)))
	t.inOrder(l.qa.requests(2), verbs.OK)
	if want := l.ma.checksum(0, 256); l.mb.checksum(8, 256) != want || l.ma.checksum(512, 256) != want {
		t.Fatalf("256 bytes were written through a window and read back, and are others")
	}
	l.works("a word that is lent", verbs.OpFetchAdd, l.qb.window().bind(l.mb.span(512, 8), verbs.RemoteAtomic))
	if old := l.ma.word(0); old != l.mb.word(512) { // zero was added
		t.Fatalf("a FetchAdd of nothing through a window brought %#x, there is %#x", old, l.mb.word(512))
	}
}

// What is lent is these bytes, for these operations, under this key.
func testLentPiece(t *T) {
	l := t.loan()
	const first, size = 1024, 64
	for _, op := range remoteOps {
		lent := l.qb.window().bind(l.mb.span(first, size), verbs.RemoteAll&^op.Needs())
		l.refused("lent for everything else", op, lent)
		l.again()
	}
	for _, c := range []struct {
		what  string
		forge func(lent *verbs.RemoteSpan)
	}{
		{"the word before what is lent", func(r *verbs.RemoteSpan) { r.Address -= 8 }},
		{"one byte before what is lent", func(r *verbs.RemoteSpan) { r.Address-- }},
		{"one byte behind what is lent", func(r *verbs.RemoteSpan) { r.Address += size - 7 }},
		{"just behind what is lent", func(r *verbs.RemoteSpan) { r.Address += size }},
		{"around the end of addresses", func(r *verbs.RemoteSpan) { r.Address = ^uint64(0) - 3 }},
		{"address zero", func(r *verbs.RemoteSpan) { r.Address = 0 }},
		{"key zero", func(r *verbs.RemoteSpan) { r.Key = 0 }},
		{"one key further", func(r *verbs.RemoteSpan) { r.Key++ }},
		{"the key of the memory", func(r *verbs.RemoteSpan) { r.Key = l.mb.region.RemoteKey }},
		{"the local key of the memory", func(r *verbs.RemoteSpan) { r.Key = uint64(l.mb.region.LocalKey) }},
	} {
		for _, op := range []verbs.Op{verbs.OpWrite, verbs.OpRead} {
			lent := l.qb.window().bind(l.mb.span(first, size), verbs.RemoteAll)
			c.forge(&lent)
			l.refused(c.what, op, lent)
			l.again()
		}
	}
}

// What is lent needs the access of the queue pair, too.
func testLentGate(t *T) {
	l := t.loanWith(OpenPair{Access: verbs.RemoteRead})
	lent := l.qb.window().bind(l.mb.span(0, 64), verbs.RemoteAll)
	l.works("the queue pair allows it", verbs.OpRead, lent)
	l.qb.setAccess(verbs.RemoteRead|verbs.RemoteWrite, Snapshot{})
	l.works("the queue pair allows it by now", verbs.OpWrite, lent)
	l.qb.setAccess(verbs.RemoteRead, Snapshot{})
	l.refused("the queue pair does not allow it any more", verbs.OpWrite, lent)
}

// What is lent is lent to the peer of the window's queue pair: not to its other queue pairs, nor to others, nor to the lender.
func testLentToOne(t *T) {
	l := t.loan()
	lent := l.qb.window().bind(l.mb.span(0, 64), verbs.RemoteAll)
	l.works("its own", verbs.OpWrite, lent)
	l.by(l.a).refused("another queue pair of the same peer", verbs.OpWrite, lent)
	l.by(t.open("c")).refused("another peer", verbs.OpRead, lent)
	l.by(l.b).refused("the lender itself", verbs.OpRead, lent)
	l.works("its own, after others were refused", verbs.OpRead, lent)
	back := &loan{t: t, a: l.b, b: l.a, qa: l.qb, qb: l.qa, ma: l.mb, mb: l.ma}
	back.refused("the lender, by the same connection", verbs.OpRead, lent)
}

// Many windows lend many pieces at once, and each is taken back alone.
func testManyWindows(t *T) {
	const piece = 16
	l := t.loan()
	n := min(10*t.can.Repeat, loanSize/piece)
	windows, lent := make([]*window, n), make([]verbs.RemoteSpan, n)
	for i := range windows {
		windows[i] = l.qb.window()
		lent[i] = windows[i].bind(l.mb.span(piece*i, piece), verbs.RemoteWrite)
	}
	use := func(i int) {
		t.Helper()
		value := uint64(i)<<32 | t.tag()
		l.ma.put(0, wordBytes(value))
		l.works(name("window ", i), verbs.OpWrite, lent[i])
		if got := l.mb.word(piece * i); got != value {
			t.Fatalf("%#x was written through window %d, and %#x is there", value, i, got)
		}
	}
	for i := range windows {
		use(i)
	}
	for i := 0; i < n; i += 2 {
		windows[i].revoke(Snapshot{})
	}
	for i := 1; i < n; i += 2 {
		use(i)
	}
	l.refused("one of those that were revoked", verbs.OpWrite, lent[0])
}

// What was revoked is refused; lent again it has another key, and the old one stays refused.
func testLentAgain(t *T) {
	l := t.loan()
	for i, op := range remoteOps {
		w := l.qb.window()
		old := w.bind(l.mb.span(0, 64), verbs.RemoteAll)
		l.works("lent", op, old)
		w.revoke(Snapshot{})
		if i%2 == 0 {
			again := w.bind(l.mb.span(0, 64), verbs.RemoteAll)
			l.works("lent again", op, again)
			if again.Key == old.Key {
				t.Fatalf("what was lent again has the key of before")
			}
		}
		l.refused("by the key of what was taken back", op, old)
		l.again()
	}
}

// When a window is closed, what it lent is refused. Other windows go on.
func testWindowClosed(t *T) {
	l := t.loan()
	for _, op := range remoteOps {
		w, other := l.qb.window(), l.qb.window()
		lent, stays := w.bind(l.mb.span(0, 64), verbs.RemoteAll), other.bind(l.mb.span(0, 64), verbs.RemoteAll)
		l.works("lent", op, lent)
		w.close(Snapshot{})
		w.close(Snapshot{})
		l.works("lent through another window", op, stays)
		l.refused("lent through a window that is closed", op, lent)
		l.again()
	}
}

// When memory is closed, what was lent of it is refused, also if other memory has come to lie there.
func testLentMemoryClosed(t *T) {
	l := t.loan()
	for _, op := range remoteOps {
		w, m := l.qb.window(), l.b.memory(loanSize, verbs.RemoteAll)
		lent := w.bind(m.span(0, 64), verbs.RemoteAll)
		l.works("lent", op, lent)
		m.close()
		l.mb = l.b.memory(loanSize, verbs.RemoteAll)
		l.refused("lent of memory that is closed", op, lent)
		l.again()
	}
}

// Reset and Close of a queue pair close its windows; what they lent does not open the next connection.
func testLentConnection(t *T) {
	l := t.loan()
	for _, c := range []struct {
		what string
		end  func()
	}{
		{"reset by the lender", func() { l.qb.reset(); l.qa.reset(); t.connect(l.qa, l.qb) }},
		{"reset by the borrower", func() {
			l.qa.reset()
			l.qb.untilState(verbs.Error)
			l.qb.reset()
			t.connect(l.qa, l.qb)
		}},
		{"closed", l.again},
	} {
		w := l.qb.window()
		lent := w.bind(l.mb.span(0, 64), verbs.RemoteAll)
		l.works("lent", verbs.OpWrite, lent)
		c.end()
		l.b.refuses(Bind{Window: w.id, Tag: 1, Piece: l.mb.span(0, 8), Access: verbs.RemoteRead}, verbs.ErrClosed)
		l.refused("lent before the queue pair was "+c.what, verbs.OpWrite, lent)
		l.again()
	}
}

// Keys of what is lent do not resemble each other, also of one window.
func testLentKeys(t *T) {
	l := t.loan()
	w := l.qb.window()
	t.areRandom(func() uint64 {
		lent := w.bind(l.mb.span(0, 8), verbs.RemoteRead)
		w.revoke(Snapshot{})
		return lent.Key
	})
}

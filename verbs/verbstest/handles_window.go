package verbstest

import (
	"errors"

	"github.com/weft-fabric/weft/verbs"
)

// This file is what tests do with windows.

// window is a window at an end.
type window struct {
	pair *pair
	id   int
}

// window opens a window. A device that has none skips the test.
func (p *pair) window() *window {
	t := p.node.t
	t.Helper()
	r, err := p.node.end.Do(OpenWindow{p.id})
	if errors.Is(err, verbs.ErrNotSupported) {
		t.Skipf("the device has no windows")
	}
	if err != nil {
		t.Fatalf("%v: new window: %v", p, err)
	}
	return &window{p, r.ID}
}

// bind lends a piece, and waits until that has completed.
func (w *window) bind(piece verbs.Span, access verbs.Access) verbs.RemoteSpan {
	t := w.pair.node.t
	t.Helper()
	tag := t.tag()
	remote := w.pair.node.do(Bind{Window: w.id, Tag: tag, Piece: piece, Access: access}).Remote
	w.ended(verbs.OpBind, tag)
	return remote
}

// revoke takes it back, and waits until that has completed; the snapshot is taken then.
func (w *window) revoke(snapshot Snapshot) {
	t := w.pair.node.t
	t.Helper()
	tag := t.tag()
	w.pair.node.do(Revoke{Window: w.id, Tag: tag, Snapshot: snapshot})
	w.ended(verbs.OpRevoke, tag)
}

func (w *window) ended(op verbs.Op, tag uint64) {
	w.pair.node.t.Helper()
	want := verbs.Completion{Tag: verbs.Tag(tag), Queue: w.pair.number, Op: op}
	if c := w.pair.requests(1)[0]; c != want {
		w.pair.node.t.Fatalf("%v: %+v completed, want %+v", w.pair, c, want)
	}
}

func (w *window) close(snapshot Snapshot) {
	w.pair.node.t.Helper()
	w.pair.node.do(Close{Kind: aWindow, ID: w.id, Snapshot: snapshot})
}

// loan is a scene in which b lends to a. Its memory grants nothing by itself.
type loan struct {
	t      *T
	a, b   *node
	qa, qb *pair
	ma, mb *mem
}

const loanSize = 4096

func (t *T) loan() *loan { return t.loanWith(OpenPair{Access: verbs.RemoteAll}) }

func (t *T) loanWith(config OpenPair) *loan {
	t.Helper()
	l := &loan{t: t, a: t.open("a"), b: t.open("b")}
	l.ma, l.mb = l.a.memory(loanSize, 0), l.b.memory(loanSize, 0)
	l.mb.fill(0, loanSize, 9)
	l.connect(config)
	return l
}

// connect gives the scene a new connection.
func (l *loan) connect(config OpenPair) {
	l.t.Helper()
	l.qa, l.qb = l.a.pair(config), l.b.pair(config)
	l.t.connect(l.qa, l.qb)
}

// by is the same scene with another user of what is lent, who has another connection with the lender.
func (l *loan) by(user *node) *loan {
	l.t.Helper()
	other := *l
	other.a, other.ma = user, user.memory(loanSize, 0)
	other.connect(OpenPair{Access: verbs.RemoteAll})
	return &other
}

// again is connect after what has ended the one before.
func (l *loan) again() {
	l.t.Helper()
	l.qa.close()
	l.qb.close()
	l.connect(OpenPair{Access: verbs.RemoteAll})
}

// use has a do something with what was lent: eight bytes of it.
func (l *loan) use(op verbs.Op, lent verbs.RemoteSpan) verbs.Status {
	l.t.Helper()
	if op.TakesReceive() {
		l.qb.receive(verbs.Receive{Tag: 1})
	}
	l.qa.post(request(op, 0, l.ma.span(0, 8), lent))
	return l.qa.requests(1)[0].Status
}

// works checks that what was lent can be used.
func (l *loan) works(what string, op verbs.Op, lent verbs.RemoteSpan) {
	l.t.Helper()
	l.t.must(l.use(op, lent), verbs.OK, "%v: %s", op, what)
}

// refused checks that it cannot, that nothing has landed, and that both ends know.
func (l *loan) refused(what string, op verbs.Op, lent verbs.RemoteSpan) {
	l.t.Helper()
	before := l.mb.checksum(0, loanSize)
	if status := l.use(op, lent); !status.Refused() {
		l.t.Fatalf("%v: %s: ended %v, want a refusal", op, what, status)
	}
	l.qa.untilState(verbs.Error)
	l.qb.untilState(verbs.Error)
	if l.mb.checksum(0, loanSize) != before {
		l.t.Fatalf("%v: %s: it was refused, and landed", op, what)
	}
}

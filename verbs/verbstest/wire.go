package verbstest

import "github.com/weft-fabric/weft/verbs"

// This file is the scene that most tests play in.

// wire is the usual scene: two ends, a connected queue pair between them, and memory that each lets the other use.
type wire struct {
	a, b   *node
	qa, qb *pair
	ma, mb *mem
}

const wireMemory = 64 << 10

func (t *T) wire() *wire {
	t.Helper()
	return t.wireWith(OpenPair{Access: verbs.RemoteAll})
}

func (t *T) wireWith(config OpenPair) *wire {
	t.Helper()
	w := &wire{a: t.open("a"), b: t.open("b")}
	w.ma, w.mb = w.a.memory(wireMemory, verbs.RemoteAll), w.b.memory(wireMemory, verbs.RemoteAll)
	w.qa, w.qb = w.a.pair(config), w.b.pair(config)
	t.connect(w.qa, w.qb)
	return w
}

// reconnect resets both ends and connects them again.
func (w *wire) reconnect() {
	w.a.t.Helper()
	w.qa.reset()
	w.qb.reset()
	w.a.t.connect(w.qa, w.qb)
}

// carries checks that the wire works: a message each way, with its content.
func (w *wire) carries(seed uint64) {
	t := w.a.t
	t.Helper()
	t.carries(w.qa, w.ma, w.qb, w.mb, seed)
	t.carries(w.qb, w.mb, w.qa, w.ma, seed+1)
}

// carries sends a message from one pair to another and checks that it arrives whole. It uses the first 256 bytes of the
// sender's memory and the second 256 of the receiver's.
func (t *T) carries(from *pair, source *mem, to *pair, target *mem, seed uint64) {
	t.Helper()
	source.fill(0, 256, seed)
	to.receive(verbs.Receive{Tag: 71, Span: target.span(256, 256)})
	from.post(verbs.Request{Tag: 72, Op: verbs.OpSend, Span: source.span(0, 256)})
	t.statuses("send", from.requests(1), verbs.OK)
	t.statuses("receive", to.receives(1), verbs.OK)
	if source.checksum(0, 256) != target.checksum(256, 256) {
		t.Fatalf("a message of 256 bytes from %v to %v came with other bytes", from, to)
	}
}

package verbstest

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// This file is what tests do with queue pairs.

// pair is a queue pair at an end.
type pair struct {
	node    *node
	id      int
	number  uint32
	address verbs.Address
}

func (n *node) pair(config OpenPair) *pair {
	n.t.Helper()
	r := n.do(config)
	return &pair{node: n, id: r.ID, number: r.Number, address: r.Address}
}

func (p *pair) post(list ...verbs.Request) {
	p.node.t.Helper()
	p.node.do(Post{Pair: p.id, Requests: list})
}

func (p *pair) receive(list ...verbs.Receive) {
	p.node.t.Helper()
	p.node.do(Post{Pair: p.id, Receives: list})
}

// requests waits for n of the pair's own requests to complete.
func (p *pair) requests(n int) []verbs.Completion {
	p.node.t.Helper()
	return p.node.take(p.number, Requests, n)
}

// receives waits for n receives to complete.
func (p *pair) receives(n int) []verbs.Completion {
	p.node.t.Helper()
	return p.node.take(p.number, Receives, n)
}

// control waits for the next control of the pair, which must be the one that was started with tag, and returns its
// status.
func (p *pair) control(op verbs.Op, tag uint64) verbs.Status {
	p.node.t.Helper()
	c := p.node.take(p.number, Controls, 1)[0]
	if c.Op != op || c.Tag != verbs.Tag(tag) {
		p.node.t.Fatalf("%s: %+v completed, want %v with tag %d", p, c, op, tag)
	}
	return c.Status
}

func (p *pair) String() string { return fmt.Sprintf("%s's queue pair %d", p.node.name, p.number) }

func (p *pair) inspect() Result {
	p.node.t.Helper()
	return p.node.do(Inspect{p.id})
}

func (p *pair) untilState(s verbs.State) {
	p.node.t.Helper()
	p.node.until(StateIs{p.id, s})
}

func (t *T) tag() uint64 {
	t.tags++
	return t.tags
}

// connect connects two queue pairs and waits for both.
func (t *T) connect(a, b *pair) {
	t.Helper()
	ta, tb := t.tag(), t.tag()
	a.node.do(Connect{a.id, ta, b.address})
	b.node.do(Connect{b.id, tb, a.address})
	t.must(a.control(verbs.OpConnect, ta), verbs.OK, "%v connects", a)
	t.must(b.control(verbs.OpConnect, tb), verbs.OK, "%v connects", b)
}

// reset takes a queue pair back to New and learns its new address.
func (p *pair) reset() {
	t := p.node.t
	t.Helper()
	tag := t.tag()
	p.node.do(Reset{p.id, tag})
	t.must(p.control(verbs.OpReset, tag), verbs.OK, "reset of %v", p)
	p.address = p.inspect().Address
}

// setAccess changes the pair's gate and waits for the completion; the snapshot is taken then.
func (p *pair) setAccess(access verbs.Access, snapshot Snapshot) {
	t := p.node.t
	t.Helper()
	tag := t.tag()
	p.node.do(SetQueueAccess{Pair: p.id, Tag: tag, Access: access, Snapshot: snapshot})
	t.must(p.control(verbs.OpQueueAccess, tag), verbs.OK, "set access of %v to %v", p, access)
}

// setAccess changes the memory's gate and waits for the completion; the snapshot is taken then.
func (m *mem) setAccess(access verbs.Access, snapshot Snapshot) {
	t := m.node.t
	t.Helper()
	tag := t.tag()
	m.node.do(SetMemoryAccess{Memory: m.id, Tag: tag, Access: access, Snapshot: snapshot})
	done := m.node.take(0, Controls, 1)[0]
	if done.Op != verbs.OpMemoryAccess || done.Tag != verbs.Tag(tag) || done.Status != verbs.OK {
		t.Fatalf("set access of memory to %v completed as %+v", access, done)
	}
	m.renew()
}

func (p *pair) close() {
	p.node.t.Helper()
	p.node.do(Close{Kind: aPair, ID: p.id})
}

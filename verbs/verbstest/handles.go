package verbstest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs"
)

// T is a test that is running: it opens ends and gives up at the first thing that goes wrong.
type T struct {
	TB
	lab  Lab
	can  Capabilities
	tags uint64 // the last tag that was given to a control
}

// finish closes what the test has opened. What cannot be closed is a failure too.
func (t *T) finish() {
	t.Helper()
	if err := t.lab.Close(); err != nil {
		t.Errorf("close the lab: %v", err)
	}
}

// node is an end, as tests speak to it.
type node struct {
	t      *T
	end    End
	name   string
	limits verbs.Limits
}

func (t *T) open(name string) *node { return t.openWith(name, EndConfig{}) }

func (t *T) openWith(name string, config EndConfig) *node {
	t.Helper()
	e, err := t.lab.Open(name, config)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	n := &node{t: t, end: e, name: name}
	n.limits = n.do(Inspect{}).Limits
	return n
}

// do carries out a command that must succeed.
func (n *node) do(c Command) Result {
	n.t.Helper()
	r, err := n.end.Do(c)
	if err != nil {
		n.t.Fatalf("%s: %T: %v%s", n.name, c, err, n.explain(err))
	}
	return r
}

// refuses carries out a command that must fail with want.
func (n *node) refuses(c Command, want error) Result {
	n.t.Helper()
	r, err := n.end.Do(c)
	if !errors.Is(err, want) {
		n.t.Fatalf("%s: %T gave %v, want an error that is %q", n.name, c, err, want)
	}
	return r
}

// explain adds to a hang what the end looks like.
func (n *node) explain(err error) string {
	if !errors.Is(err, ErrHang) {
		return ""
	}
	r, _ := n.end.Do(Describe{})
	return "\n" + strings.Join(r.Text, "\n")
}

func (n *node) until(c Condition) {
	n.t.Helper()
	n.do(Until{c})
}

func (n *node) signal(s Signal) {
	n.t.Helper()
	if err := n.end.Signal(s); err != nil {
		n.t.Fatalf("%s: %v: %v", n.name, s, err)
	}
}

// now is the time at the end.
func (n *node) now() clock.Time {
	n.t.Helper()
	return n.do(Now{}).Now
}

// take waits for completions of a class and takes them.
func (n *node) take(queue uint32, class Class, count int) []verbs.Completion {
	n.t.Helper()
	n.until(Ended{Queue: queue, Class: class, N: count})
	return n.do(Take{Queue: queue, Class: class, N: count}).Completions
}

// takeAny is take for all queue pairs of the end together.
func (n *node) takeAny(class Class, count int) []verbs.Completion {
	n.t.Helper()
	n.until(Ended{AnyQueue: true, Class: class, N: count})
	return n.do(Take{AnyQueue: true, Class: class, N: count}).Completions
}

// mem is a memory at an end. Its spans are plain numbers: a test may forge them.
type mem struct {
	node   *node
	id     int
	region Region
}

func (n *node) memory(size int, access verbs.Access) *mem {
	n.t.Helper()
	return n.memoryIn(0, size, access)
}

func (n *node) memoryIn(domain, size int, access verbs.Access) *mem {
	n.t.Helper()
	r := n.do(OpenMemory{Domain: domain, Size: size, Access: access})
	return &mem{node: n, id: r.ID, region: r.Region}
}

func (m *mem) span(offset, size int) verbs.Span {
	return verbs.Span{Address: m.region.Address + uint64(offset), Length: uint32(size), Key: m.region.LocalKey}
}

func (m *mem) remote(offset, size int) verbs.RemoteSpan {
	return verbs.RemoteSpan{Address: m.region.Address + uint64(offset), Length: uint64(size), Key: m.region.RemoteKey}
}

// renew asks for the remote key again, which a change of access may have changed.
func (m *mem) renew() {
	m.node.t.Helper()
	m.region = m.node.do(Load{Memory: m.id, N: 8}).Region
}

func (m *mem) put(offset int, b []byte) {
	m.node.t.Helper()
	m.node.do(Store{m.id, offset, b})
}

func (m *mem) get(offset, size int) []byte {
	m.node.t.Helper()
	return m.node.do(Load{m.id, offset, size}).Bytes
}

func (m *mem) word(offset int) uint64 {
	m.node.t.Helper()
	return m.node.do(Load{m.id, offset, 8}).Word
}

func (m *mem) fill(offset, size int, seed uint64) {
	m.node.t.Helper()
	m.node.do(Fill{m.id, offset, size, seed})
}

func (m *mem) checksum(offset, size int) uint64 {
	m.node.t.Helper()
	return m.node.do(Checksum{m.id, offset, size}).Word
}

func (m *mem) close() {
	m.node.t.Helper()
	m.node.do(Close{Kind: AMemory, ID: m.id})
}

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

// setAccess changes the pair's gate and waits for the completion; the content of snapshot, if not nil, is kept then.
func (p *pair) setAccess(access verbs.Access, snapshot *mem) {
	t := p.node.t
	t.Helper()
	tag := t.tag()
	c := SetQueueAccess{Pair: p.id, Tag: tag, Access: access}
	if snapshot != nil {
		c.Snapshot = snapshot.id
	}
	p.node.do(c)
	t.must(p.control(verbs.OpQueueAccess, tag), verbs.OK, "set access of %v to %v", p, access)
}

// setAccess changes the memory's gate and waits for the completion.
func (m *mem) setAccess(access verbs.Access, snapshot *mem) {
	t := m.node.t
	t.Helper()
	tag := t.tag()
	c := SetMemoryAccess{Memory: m.id, Tag: tag, Access: access}
	if snapshot != nil {
		c.Snapshot = snapshot.id
	}
	m.node.do(c)
	done := m.node.take(0, Controls, 1)[0]
	if done.Op != verbs.OpMemoryAccess || done.Tag != verbs.Tag(tag) || done.Status != verbs.OK {
		t.Fatalf("set access of memory to %v completed as %+v", access, done)
	}
	m.renew()
}

func (p *pair) close() {
	p.node.t.Helper()
	p.node.do(Close{Kind: APair, ID: p.id})
}

// must fails the test unless a status is the one that the contract says.
func (t *T) must(got, want verbs.Status, format string, args ...any) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: ended %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

// statuses fails the test unless the completions ended as listed.
func (t *T) statuses(what string, got []verbs.Completion, want ...verbs.Status) {
	t.Helper()
	for i := range want {
		if i >= len(got) || got[i].Status != want[i] {
			t.Fatalf("%s: ended as %+v, want %v", what, got, want)
		}
	}
}

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

package verbstest

import (
	"github.com/weft-fabric/weft/verbs"
)

// This file is about who may reach which memory.

var gateTests = []Test{
	{"RefusedWithoutBothGates",
		"An operation needs the access of the memory and of the queue pair; without either it is refused and nothing lands.",
		0, testGates},
	{"RefusedOutsideItsBytes", "A capability reaches only its bytes, and only with its own key.", 0, testCapability},
	{"RefusedInAnotherDomain", "A queue pair reaches only memory of its own domain.", 0, testForeignDomain},
	{"RefusedAfterMemoryClose", "A capability dies with its memory.", 0, testClosedMemory},
	{"LocalSpansAreChecked", "A local span outside memory of the queue pair's domain ends as LocalProtection.", 0,
		testLocalSpans},
	{"ReceivesAreChecked",
		"A receive whose spans are bad ends as LocalProtection, and the Send that took it as RemoteInvalid.",
		0, testBadReceives},
	{"NothingNeedsNoKey", "An operation of zero bytes needs no valid key at either end, only the queue pair's access.", 0,
		testZeroBytes},
	{"KeysCannotBeGuessed", "Keys of memories made one after the other do not resemble each other.", StrongKeys,
		testKeys},
}

// gate is a stage for refusals: one device at each end, and a fresh connection for each case.
type gate struct {
	t      *T
	a, b   *node
	ma     *mem
	target *mem
}

func (t *T) gate() *gate {
	t.Helper()
	g := &gate{t: t, a: t.open("a"), b: t.open("b")}
	g.ma = g.a.memory(4096, 0)
	return g
}

// refused posts one request over a new connection and checks everything that a refusal means: the status, what was
// behind it, both ends' states, and that the target's memory is as it was.
func (g *gate) refused(what string, memory, queue verbs.Access, op verbs.Op, forge func(*verbs.Request)) {
	g.t.Helper()
	g.target = g.b.memory(4096, memory)
	g.target.fill(0, 4096, 9)
	before := g.target.checksum(0, 4096)
	qa, qb := g.a.pair(OpenPair{SendDepth: 8}), g.b.pair(OpenPair{Access: queue})
	g.t.connect(qa, qb)
	qb.receive(verbs.Receive{Tag: 1}, verbs.Receive{Tag: 2})
	r := request(op, 0, g.ma.span(0, 8), g.target.remote(1024, 8))
	if forge != nil {
		forge(&r)
	}
	qa.post(r, request(verbs.OpSend, 1, g.ma.span(0, 0), verbs.RemoteSpan{}))
	ended := qa.requests(2)
	if !ended[0].Status.Refused() || ended[1].Status != verbs.Flushed {
		g.t.Fatalf("%s: ended as %v and, behind it, %v; want a refusal and Flushed", what, ended[0].Status, ended[1].Status)
	}
	g.t.statuses(what+": receives of the target", qb.receives(2), verbs.Flushed, verbs.Flushed)
	qa.untilState(verbs.Error)
	qb.untilState(verbs.Error)
	if g.target.checksum(0, 4096) != before {
		g.t.Fatalf("%s: it was refused, and landed", what)
	}
	qa.close()
	qb.close()
}

// allowed checks that the same request succeeds when nothing is wrong with it.
func (g *gate) allowed(memory, queue verbs.Access, op verbs.Op) {
	g.t.Helper()
	g.target = g.b.memory(4096, memory)
	qa, qb := g.a.pair(OpenPair{SendDepth: 8}), g.b.pair(OpenPair{Access: queue})
	g.t.connect(qa, qb)
	qb.receive(verbs.Receive{Tag: 1})
	qa.post(request(op, 0, g.ma.span(0, 8), g.target.remote(1024, 8)))
	if c := qa.requests(1)[0]; c.Status != verbs.OK {
		g.t.Fatalf("%v of memory that allows %v through a queue pair that allows %v ended %v", op, memory, queue, c.Status)
	}
	qa.close()
	qb.close()
}

var remoteOps = []verbs.Op{verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead, verbs.OpCompareSwap, verbs.OpFetchAdd}

// An operation needs the access of the memory and of the queue pair.
func testGates(t *T) {
	g := t.gate()
	for _, op := range remoteOps {
		needs := op.Needs()
		without := verbs.RemoteAll &^ needs
		g.allowed(needs, needs, op)
		g.refused(op.String()+" that the memory does not allow", without, verbs.RemoteAll, op, nil)
		g.refused(op.String()+" that the queue pair does not allow", verbs.RemoteAll, without, op, nil)
	}
	g.refused("write where nothing is allowed", 0, 0, verbs.OpWrite, nil)
}

// A capability reaches only its bytes, and only with its own key.
func testCapability(t *T) {
	g := t.gate()
	for _, c := range []struct {
		what  string
		forge func(r *verbs.Request)
	}{
		{"one byte before the memory", func(r *verbs.Request) { r.Remote.Address = g.target.region.Address - 1 }},
		{"one byte behind the memory", func(r *verbs.Request) { r.Remote.Address = g.target.region.Address + 4096 - 7 }},
		{"just behind the memory", func(r *verbs.Request) { r.Remote.Address = g.target.region.Address + 4096 }},
		{"around the end of addresses", func(r *verbs.Request) { r.Remote.Address = ^uint64(0) - 3 }},
		{"address zero", func(r *verbs.Request) { r.Remote.Address = 0 }},
		{"key zero", func(r *verbs.Request) { r.Remote.Key = 0 }},
		{"one key further", func(r *verbs.Request) { r.Remote.Key++ }},
		{"all bits of the key", func(r *verbs.Request) { r.Remote.Key = ^uint64(0) }},
		{"the local key", func(r *verbs.Request) { r.Remote.Key = uint64(g.target.region.LocalKey) }},
	} {
		for _, op := range []verbs.Op{verbs.OpWrite, verbs.OpRead} {
			g.refused(op.String()+": "+c.what, verbs.RemoteAll, verbs.RemoteAll, op, c.forge)
		}
	}
	for _, offset := range []uint64{4096, ^uint64(7)} {
		g.refused("atomic outside", verbs.RemoteAll, verbs.RemoteAll, verbs.OpFetchAdd,
			func(r *verbs.Request) { r.Remote.Address = g.target.region.Address + offset })
	}
}

// A queue pair reaches only memory of its own domain.
func testForeignDomain(t *T) {
	g := t.gate()
	domain := g.b.do(OpenDomain{}).ID
	foreign := g.b.memoryIn(domain, 4096, verbs.RemoteAll)
	foreign.fill(0, 4096, 3)
	before := foreign.checksum(0, 4096)
	for _, op := range remoteOps {
		g.refused(op.String()+" with a key of another domain", verbs.RemoteAll, verbs.RemoteAll, op,
			func(r *verbs.Request) { r.Remote = foreign.remote(0, 8) })
	}
	if foreign.checksum(0, 4096) != before {
		t.Fatalf("a refused operation landed in another domain")
	}
}

// A capability dies with its memory. Its place may be taken by other memory meanwhile, which it does not reach either.
func testClosedMemory(t *T) {
	g := t.gate()
	for _, op := range remoteOps {
		old := g.b.memory(4096, verbs.RemoteAll)
		old.close()
		g.refused(op.String()+" after Close", verbs.RemoteAll, verbs.RemoteAll, op,
			func(r *verbs.Request) { r.Remote = old.remote(0, 8) })
	}
}

// A local span outside memory of the queue pair's domain ends as LocalProtection.
func testLocalSpans(t *T) {
	w := t.wire()
	foreign := w.a.memoryIn(w.a.do(OpenDomain{}).ID, 4096, 0)
	closed := w.a.memory(4096, 0)
	closed.close()
	first, last := w.ma.span(0, 8), w.ma.span(wireMemory-8, 8)
	first.Address--
	last.Address++
	garbage := w.ma.span(0, 8)
	garbage.Key ^= 0x5a5a
	w.mb.fill(0, 4096, 1)
	before := w.mb.checksum(0, 4096)
	behind := map[verbs.Op]int{verbs.OpRead: 4096}
	for _, c := range []struct {
		what string
		span verbs.Span
	}{
		{"one byte before its memory", first}, {"one byte behind its memory", last}, {"another key", garbage},
		{"memory of another domain", foreign.span(0, 8)}, {"closed memory", closed.span(0, 8)},
	} {
		for _, op := range []verbs.Op{verbs.OpWrite, verbs.OpSend, verbs.OpRead} {
			w.qb.receive(verbs.Receive{Tag: 1, Span: w.mb.span(0, 8)})
			// What is behind a Read may be carried out before the Read's answer finds nowhere to go.
			w.qa.post(request(op, 0, c.span, w.mb.remote(0, 8)),
				request(verbs.OpWrite, 1, w.ma.span(0, 8), w.mb.remote(behind[op], 8)))
			t.statuses(op.String()+" with a span of "+c.what, w.qa.requests(2), verbs.LocalProtection, verbs.Flushed)
			w.qa.untilState(verbs.Error)
			w.reconnect()
			t.statuses("receive", w.qb.receives(1), verbs.Flushed)
		}
	}
	if w.mb.checksum(0, 4096) != before {
		t.Fatalf("a request without a valid source has landed")
	}
}

// A receive whose spans are bad ends as LocalProtection, and the Send that took it as RemoteInvalid.
func testBadReceives(t *T) {
	w := t.wire()
	closed := w.b.memory(4096, 0)
	closed.close()
	last := w.mb.span(wireMemory-8, 8)
	last.Address++
	for _, span := range []verbs.Span{last, closed.span(0, 8), w.b.memoryIn(w.b.do(OpenDomain{}).ID, 64, 0).span(0, 8)} {
		w.qb.receive(verbs.Receive{Tag: 1, Span: span}, verbs.Receive{Tag: 2})
		w.qa.post(verbs.Request{Op: verbs.OpSend, Span: w.ma.span(0, 8)}, verbs.Request{Op: verbs.OpSend})
		t.statuses("send into a bad receive", w.qa.requests(2), verbs.RemoteInvalid, verbs.Flushed)
		t.statuses("bad receive", w.qb.receives(2), verbs.LocalProtection, verbs.Flushed)
		w.qa.untilState(verbs.Error)
		w.qb.untilState(verbs.Error)
		w.reconnect()
	}
	w.carries(1)
}

// An operation of zero bytes needs no valid key at either end, only the queue pair's access.
func testZeroBytes(t *T) {
	w := t.wireWith(OpenPair{Access: verbs.RemoteRead | verbs.RemoteWrite})
	nowhere, nothing := verbs.Span{Address: 1, Key: 12345}, verbs.RemoteSpan{Address: 1, Key: 12345}
	w.qb.receive(verbs.Receive{Tag: 0, Span: nowhere}, verbs.Receive{Tag: 1, Span: nowhere})
	for i, op := range []verbs.Op{verbs.OpSend, verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead} {
		w.qa.post(request(op, uint64(i), nowhere, nothing))
		t.statuses(op.String()+" of nothing", w.qa.requests(1), verbs.OK)
	}
	t.inOrder(w.qb.receives(2), verbs.OK)
	w.qb.setAccess(verbs.RemoteRead, Snapshot{})
	w.qa.post(request(verbs.OpWrite, 0, nowhere, nothing))
	if c := w.qa.requests(1)[0]; !c.Status.Refused() {
		t.Fatalf("a Write of nothing through a queue pair that does not allow Writes ended %v", c.Status)
	}
}

// Keys of memories made one after the other do not resemble each other.
func testKeys(t *T) {
	a := t.open("a")
	t.areRandom(func() uint64 { return a.memory(8, 0).region.RemoteKey })
}

// areRandom draws keys, and checks that they are not alike.
func (t *T) areRandom(draw func() uint64) {
	t.Helper()
	seen := map[uint64]bool{}
	var all, any uint64 = ^uint64(0), 0
	for range 64 {
		key := draw()
		if seen[key] {
			t.Fatalf("the key %#x was given out twice", key)
		}
		seen[key] = true
		all, any = all&key, any|key
	}
	if all != 0 || any != ^uint64(0) {
		t.Fatalf("of 64 keys, bits %#x were always set and bits %#x never: they are not random", all, ^any)
	}
}

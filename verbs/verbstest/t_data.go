package verbstest

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// This file is about bytes: each operation moves its own, whole, to where they belong.

var dataTests = []Test{
	{"EveryOperationAtEverySize", "An operation moves exactly its bytes, and its completion says what it was.", 0,
		testEverySize},
	{"AtomicsReturnWhatWasThere", "CompareSwap swaps only if the word is as expected; both atomics return the old word.", 0,
		testAtomics},
	{"ImmediateValuesArrive", "The receiver's completion carries the sender's 32-bit number, whatever it is.", 0,
		testImmediates},
	{"PiecesAreGatheredAndScattered", "A message's pieces are put together, and taken apart, in the order given.", 0,
		testPieces},
	{"InlineBytesAreTakenAtOnce", "The memory of an Inline request may be reused right after Flush.", 0, testInline},
	{"WriteImmLeavesTheReceiveAlone", "A WriteImm takes a receive and leaves its memory untouched.", 0, testWriteImmReceive},
	{"SendNeedsNoPermission", "Access is about memory that peers name; a Send needs none.", 0, testSendNeedsNone},
}

// request makes the usual shapes of request.
func request(op verbs.Op, tag uint64, local verbs.Span, remote verbs.RemoteSpan) verbs.Request {
	r := verbs.Request{Tag: verbs.Tag(tag), Op: op, Span: local}
	if op.HasRemote() {
		r.Remote = remote
	}
	return r
}

// quiet and fenced add a flag to a request.
func quiet(r verbs.Request) verbs.Request  { r.Flags |= verbs.Quiet; return r }
func fenced(r verbs.Request) verbs.Request { r.Flags |= verbs.Fence; return r }

// margin is how many bytes around a message must stay untouched.
const margin = 64

// An operation moves exactly its bytes, and its completion says what it was. A margin around the message shows bytes too
// many, patterns that nowhere repeat show bytes in the wrong place.
func testEverySize(t *T) {
	const largest = 1 << 20
	a, b := t.open("a"), t.open("b")
	inline := min(a.limits.MaxInline, largest)
	config := OpenPair{Access: verbs.RemoteAll, MaxInline: inline}
	s := &sizeScene{t: t, qa: a.pair(config), qb: b.pair(config)}
	s.ma, s.mb = a.memory(largest+2*margin, verbs.RemoteAll), b.memory(largest+2*margin, verbs.RemoteAll)
	t.connect(s.qa, s.qb)
	for _, op := range []verbs.Op{verbs.OpSend, verbs.OpSendImm, verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead} {
		for _, size := range []int{0, 1, 7, 64, inline, min(inline+1, largest), 4099, largest} {
			s.moves(op, size, 0)
			if size <= inline && op != verbs.OpRead {
				s.moves(op, size, verbs.Inline)
			}
		}
	}
}

type sizeScene struct {
	t      *T
	qa, qb *pair
	ma, mb *mem
	seed   uint64
}

// moves carries out one operation between fresh patterns and checks every byte of both memories' middle parts.
func (s *sizeScene) moves(op verbs.Op, size int, flags verbs.Flags) {
	s.t.Helper()
	what := fmt.Sprintf("%v of %d bytes, flags %d", op, size, flags)
	s.seed += 2
	reach := min(size+2*margin, int(s.ma.region.Length))
	s.ma.fill(0, reach, s.seed)
	s.mb.fill(0, reach, s.seed+1)
	from, to, fromSeed := s.ma, s.mb, s.seed
	if op == verbs.OpRead {
		from, to, fromSeed = s.mb, s.ma, s.seed+1
	}
	s.post(op, size, flags)
	s.complete(what, op, size)
	want := make([]byte, reach)
	fillPattern(want, s.seed+s.seed+1-fromSeed)
	source := make([]byte, reach)
	fillPattern(source, fromSeed)
	copy(want[margin:margin+size], source[margin:])
	if to.checksum(0, reach) != checksum(want) {
		s.t.Fatalf("%s: the target holds other bytes than it should, %s", what, firstDifference(to.get(0, reach), want))
	}
	if from.checksum(0, reach) != checksum(source) {
		s.t.Fatalf("%s: the source has changed", what)
	}
}

func (s *sizeScene) post(op verbs.Op, size int, flags verbs.Flags) {
	s.t.Helper()
	if op.TakesReceive() {
		into := verbs.Receive{Tag: 2, Span: s.mb.span(margin, size)}
		if op == verbs.OpWriteImm {
			into.Span = verbs.Span{}
		}
		s.qb.receive(into)
	}
	r := request(op, 1, s.ma.span(margin, size), s.mb.remote(margin, size))
	r.Flags = flags
	if op == verbs.OpSendImm || op == verbs.OpWriteImm {
		r.Imm = 0xfeedf00d
	}
	s.qa.post(r)
}

func (s *sizeScene) complete(what string, op verbs.Op, size int) {
	s.t.Helper()
	done := s.qa.requests(1)[0]
	if want := (verbs.Completion{Tag: 1, Queue: s.qa.number, Bytes: uint32(size), Op: op}); done != want {
		s.t.Fatalf("%s completed as %+v, want %+v", what, done, want)
	}
	if !op.TakesReceive() {
		return
	}
	want := verbs.Completion{Tag: 2, Queue: s.qb.number, Bytes: uint32(size), Op: op.Arrived()}
	if op != verbs.OpSend {
		want.Imm = 0xfeedf00d
	}
	if got := s.qb.receives(1)[0]; got != want {
		s.t.Fatalf("%s arrived as %+v, want %+v", what, got, want)
	}
}

func firstDifference(got, want []byte) string {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Sprintf("first at %d: %#x, want %#x", i, got[i], want[i])
		}
	}
	return "though not when looked at again"
}

// CompareSwap swaps only if the word is as expected; both atomics return the old word.
func testAtomics(t *T) {
	w := t.wire()
	const word = 128
	w.mb.fill(0, 256, 5)
	before := w.mb.get(0, 256)
	value := w.mb.word(word)
	for _, c := range []struct {
		op            verbs.Op
		compare, swap uint64
		want          uint64
	}{
		{verbs.OpCompareSwap, value + 1, 7, value},
		{verbs.OpCompareSwap, value, 1000, 1000},
		{verbs.OpFetchAdd, 0, 5, 1005},
		{verbs.OpFetchAdd, 0, 0, 1005},
		{verbs.OpFetchAdd, 0, ^uint64(0), 1004}, // adding wraps
		{verbs.OpCompareSwap, 1004, 0, 0},
		{verbs.OpFetchAdd, 0, ^uint64(0), ^uint64(0)},
		{verbs.OpCompareSwap, ^uint64(0), 1, 1},
	} {
		r := request(c.op, 3, w.ma.span(64, 8), w.mb.remote(word, 8))
		r.Compare, r.Swap = c.compare, c.swap
		w.qa.post(r)
		done := w.qa.requests(1)[0]
		if done != (verbs.Completion{Tag: 3, Queue: w.qa.number, Bytes: 8, Op: c.op}) {
			t.Fatalf("%v completed as %+v", c.op, done)
		}
		if old := w.ma.word(64); old != value {
			t.Fatalf("%v(%d, %d) of %d returned %d as the old value", c.op, c.compare, c.swap, value, old)
		}
		if value = w.mb.word(word); value != c.want {
			t.Fatalf("%v(%d, %d) left %d, want %d", c.op, c.compare, c.swap, value, c.want)
		}
	}
	after := w.mb.get(0, 256)
	if !bytes.Equal(before[:word], after[:word]) || !bytes.Equal(before[word+8:], after[word+8:]) {
		t.Fatalf("an atomic has changed bytes around its word")
	}
}

// The receiver's completion carries the sender's 32-bit number, whatever it is.
func testImmediates(t *T) {
	w := t.wire()
	for _, op := range []verbs.Op{verbs.OpSendImm, verbs.OpWriteImm} {
		for _, imm := range []uint32{0, 1, 0x80000000, 0xffffffff} {
			w.qb.receive(verbs.Receive{Tag: 9, Span: w.mb.span(0, 16)})
			r := request(op, 8, w.ma.span(0, 16), w.mb.remote(0, 16))
			r.Imm = imm
			w.qa.post(r)
			t.statuses(op.String(), w.qa.requests(1), verbs.OK)
			if got := w.qb.receives(1)[0]; got.Imm != imm || got.Op != op.Arrived() {
				t.Fatalf("%v of %#x arrived as %+v", op, imm, got)
			}
		}
	}
}

// A message's pieces are put together, and taken apart, in the order given. They lie out of order, touch no word's border
// and one is empty, so that no simpler copy gives the same bytes.
func testPieces(t *T) {
	w := t.wire()
	w.ma.fill(0, 4096, 11)
	w.mb.fill(0, 4096, 12)
	pieces := []verbs.Span{w.ma.span(2000, 100), w.ma.span(100, 0), w.ma.span(7, 33), w.ma.span(1000, 67)}
	at := w.ma.get(0, 4096)
	whole := joined(at[2000:2100], at[7:40], at[1000:1067])

	r := verbs.Request{Tag: 1, Op: verbs.OpWrite, Span: pieces[0], More: pieces[1:], Remote: w.mb.remote(512, 200)}
	w.qa.post(r)
	t.statuses("gathered write", w.qa.requests(1), verbs.OK)
	if got := w.mb.get(512, 200); !bytes.Equal(got, whole) {
		t.Fatalf("a gathered Write put other bytes there")
	}
	w.qb.receive(verbs.Receive{Tag: 2, Span: w.mb.span(3000, 50), More: []verbs.Span{w.mb.span(2000, 149),
		w.mb.span(1500, 20)}})
	r.Op, r.Remote = verbs.OpSend, verbs.RemoteSpan{}
	w.qa.post(r)
	t.statuses("gathered send", w.qa.requests(1), verbs.OK)
	t.statuses("scattered receive", w.qb.receives(1), verbs.OK)
	if got := joined(w.mb.get(3000, 50), w.mb.get(2000, 149), w.mb.get(1500, 1)); !bytes.Equal(got, whole) {
		t.Fatalf("a gathered Send arrived with other bytes")
	}
	w.qa.post(verbs.Request{Tag: 3, Op: verbs.OpRead, Span: w.ma.span(3000, 150),
		More: []verbs.Span{w.ma.span(3500, 50)}, Remote: w.mb.remote(512, 200)})
	t.statuses("scattered read", w.qa.requests(1), verbs.OK)
	if got := joined(w.ma.get(3000, 150), w.ma.get(3500, 50)); !bytes.Equal(got, whole) {
		t.Fatalf("a scattered Read brought other bytes")
	}
}

func joined(pieces ...[]byte) []byte { return bytes.Join(pieces, nil) }

// The memory of an Inline request may be reused right after Flush. The message has to wait for a receive, so a NIC that
// had not taken the bytes, all that fit inline, would send what was scribbled over them.
func testInline(t *T) {
	limit := min(t.open("limits").limits.MaxInline, wireMemory/4)
	size := limit &^ 7 // whole words, so that the last one can be scribbled over
	w := t.wireWith(OpenPair{Access: verbs.RemoteAll, MaxInline: limit})
	w.ma.fill(0, size, 3)
	want := w.ma.get(0, size)
	send := verbs.Request{Tag: 1, Op: verbs.OpSend, Flags: verbs.Inline, Span: w.ma.span(0, size)}
	write := request(verbs.OpWrite, 2, w.ma.span(0, size), w.mb.remote(wireMemory/2, size))
	write.Flags = verbs.Inline
	w.a.do(Post{Pair: w.qa.id, Requests: []verbs.Request{send, write},
		Scribble: []scribble{{w.ma.id, 0, 1}, {w.ma.id, size - 8, 2}}})
	w.qb.receive(verbs.Receive{Tag: 3, Span: w.mb.span(0, size)})
	t.statuses("inline", w.qa.requests(2), verbs.OK, verbs.OK)
	t.statuses("receive", w.qb.receives(1), verbs.OK)
	if got := w.mb.get(0, size); !bytes.Equal(got, want) {
		t.Fatalf("an Inline Send carried %x, the bytes at its Flush were %x", got, want)
	}
	if got := w.mb.get(wireMemory/2, size); !bytes.Equal(got, want) {
		t.Fatalf("an Inline Write carried %x, the bytes at its Flush were %x", got, want)
	}
}

// A WriteImm takes a receive and leaves its memory untouched.
func testWriteImmReceive(t *T) {
	w := t.wire()
	w.ma.fill(0, 256, 1)
	w.mb.fill(0, 512, 2)
	untouched := w.mb.checksum(256, 256)
	w.qb.receive(verbs.Receive{Tag: 1, Span: w.mb.span(256, 256)}, verbs.Receive{Tag: 2, Span: w.mb.span(256, 8)})
	w.qa.post(request(verbs.OpWriteImm, 3, w.ma.span(0, 256), w.mb.remote(0, 256)),
		request(verbs.OpWriteImm, 4, w.ma.span(0, 256), w.mb.remote(0, 256)))
	t.statuses("write with immediate", w.qa.requests(2), verbs.OK, verbs.OK)
	t.statuses("its arrival, also with a receive shorter than the message", w.qb.receives(2), verbs.OK, verbs.OK)
	if w.mb.checksum(256, 256) != untouched || w.mb.checksum(0, 256) != w.ma.checksum(0, 256) {
		t.Fatalf("the bytes of a WriteImm are not where it wrote them, or the receive's memory has changed")
	}
}

// Access is about memory that peers name; a Send needs none.
func testSendNeedsNone(t *T) {
	a, b := t.open("a"), t.open("b")
	qa, qb := a.pair(OpenPair{}), b.pair(OpenPair{})
	ma, mb := a.memory(512, 0), b.memory(512, 0)
	t.connect(qa, qb)
	t.carries(qa, ma, qb, mb, 1)
}

// wordBytes is a word as it lies in memory.
func wordBytes(v uint64) []byte { return binary.NativeEndian.AppendUint64(nil, v) }

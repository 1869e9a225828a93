package verbstest

import (
	"github.com/weft-fabric/weft/verbs"
)

// This file is about receives that queue pairs share.

var poolTests = []Test{
	{"SharedReceivesServeAll",
		"Whichever queue pair gets a message takes the next shared receive, and its completion names the queue pair.",
		SharedReceives, testPoolServesAll},
	{"SharedReceivesAreTakenInOrder", "Shared receives are taken in the order they were posted.", SharedReceives,
		testPoolOrder},
	{"SharedReceivesSurviveAQueuePair", "A queue pair that fails leaves the shared receives to the others.", SharedReceives,
		testPoolSurvives},
	{"SharedReceivesHaveLimits", "A full pool is ErrQueueFull; its queue pairs have no receives of their own; it closes last.",
		SharedReceives, testPoolLimits},
}

// Whichever queue pair gets a message takes the next shared receive, and its completion names the queue pair.
func testPoolServesAll(t *T) {
	const senders, size, window = 4, 32, 8
	messages := uint64(20 * t.can.Repeat)
	server := t.open("server")
	pool := server.do(OpenPool{Depth: window}).ID
	sink := server.sink(Sink{Pool: pool, Memory: server.memory(size*window, 0).id, Size: size, Window: window, Stamped: true})
	var flows []*flow
	for i := range senders {
		n := t.open(name("sender", i))
		q, there := n.pair(OpenPair{SendDepth: 8}), server.pair(OpenPair{Pool: pool})
		t.connect(q, there)
		m := n.memory(20*size, 0)
		flows = append(flows, n.stream(Stream{Pair: q.id, Memory: m.id, Slots: 20, Stride: size, Stamp: 1, Rounds: messages,
			Round: []verbs.Request{request(verbs.OpSend, 0, m.span(0, size), verbs.RemoteSpan{})}}))
	}
	for _, f := range flows {
		f.succeeds(messages)
	}
	sink.reaches(senders * messages)
	if got := sink.state().Rounds; got != senders*messages {
		t.Fatalf("%d messages were sent, %d arrived", senders*messages, got)
	}
}

// poolScene is a server with a pool and two queue pairs, each connected to a queue pair of one client.
type poolScene struct {
	server, client *node
	pool           int
	at, from       [2]*pair
	ms, mc         *mem
}

func (t *T) poolScene(depth int) *poolScene {
	t.Helper()
	s := &poolScene{server: t.open("server"), client: t.open("client")}
	s.pool = s.server.do(OpenPool{Depth: depth}).ID
	s.ms, s.mc = s.server.memory(4096, 0), s.client.memory(4096, 0)
	for i := range s.at {
		s.at[i], s.from[i] = s.server.pair(OpenPair{Pool: s.pool}), s.client.pair(OpenPair{})
		t.connect(s.at[i], s.from[i])
	}
	return s
}

// Shared receives are taken in the order they were posted.
func testPoolOrder(t *T) {
	s := t.poolScene(8)
	var list []verbs.Receive
	for i := range 8 {
		list = append(list, verbs.Receive{Tag: verbs.Tag(i), Span: s.ms.span(64*i, 8)})
	}
	s.server.do(PostPool{s.pool, list})
	for i := range 8 {
		s.mc.put(0, wordBytes(uint64(100+i)))
		s.from[i%2].post(verbs.Request{Op: verbs.OpSendImm, Imm: uint32(i), Span: s.mc.span(0, 8)})
		t.statuses("send", s.from[i%2].requests(1), verbs.OK)
		got := s.at[i%2].receives(1)[0]
		want := verbs.Completion{Tag: verbs.Tag(i), Queue: s.at[i%2].number, Bytes: 8, Imm: uint32(i), Op: verbs.OpReceiveImm}
		if got != want || s.ms.word(64*i) != uint64(100+i) {
			t.Fatalf("message %d arrived as %+v with %d, want %+v", i, got, s.ms.word(64*i), want)
		}
	}
}

// A queue pair that fails leaves the shared receives to the others.
func testPoolSurvives(t *T) {
	s := t.poolScene(4)
	s.server.do(PostPool{s.pool, []verbs.Receive{{Tag: 0, Span: s.ms.span(0, 8)}, {Tag: 1, Span: s.ms.span(64, 8)}}})
	s.from[0].close()
	s.at[0].untilState(verbs.Error)
	s.at[0].close()
	for i := range 2 {
		s.from[1].post(verbs.Request{Op: verbs.OpSend, Span: s.mc.span(0, 8)})
		t.statuses("send over the other queue pair", s.from[1].requests(1), verbs.OK)
		if c := s.at[1].receives(1)[0]; c.Status != verbs.OK || c.Tag != verbs.Tag(i) {
			t.Fatalf("shared receive %d completed as %+v after another queue pair failed", i, c)
		}
	}
}

// A full pool is ErrQueueFull; its queue pairs have no receives of their own; it closes last.
func testPoolLimits(t *T) {
	s := t.poolScene(2)
	full := PostPool{s.pool, []verbs.Receive{{Tag: 0, Span: s.ms.span(0, 8)}, {Tag: 1}, {Tag: 2}}}
	if n := s.server.refuses(full, verbs.ErrQueueFull).Count; n != 2 {
		t.Fatalf("a pool of 2 took %d receives", n)
	}
	s.server.refuses(Post{Pair: s.at[0].id, Receives: []verbs.Receive{{Tag: 0}}}, verbs.ErrState)
	s.server.refuses(Close{Kind: aPool, ID: s.pool}, verbs.ErrInUse)
	s.from[0].post(verbs.Request{Op: verbs.OpSend, Span: s.mc.span(0, 8)})
	t.statuses("send", s.from[0].requests(1), verbs.OK)
	t.statuses("shared receive", s.at[0].receives(1), verbs.OK)
	if room := s.server.refuses(full, verbs.ErrQueueFull).Count; room != 1 {
		t.Fatalf("one of 2 shared receives was taken, and %d could be posted", room)
	}
	s.at[0].close()
	s.at[1].close()
	s.server.do(Close{Kind: aPool, ID: s.pool})
	s.server.refuses(full, verbs.ErrClosed)
	s.server.do(Close{Kind: aPool, ID: s.pool})
}

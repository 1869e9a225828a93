package verbstest

import (
	"strconv"

	"github.com/weft-fabric/weft/verbs"
)

// This file is about peers that die.

var deathTests = []Test{
	{"TargetDiesInAStream", "A target that dies is reported: RetryExceeded, then Flushed. Others are not disturbed.", Kill,
		testTargetDies},
	{"WriterDiesInAStream", "A writer that dies is noticed; afterwards nothing of it lands any more.", Kill, testWriterDies},
	{"PeerDiesWhileIdle", "A peer that dies while nothing is under way is noticed: receives are Flushed.", Kill,
		testIdleDeath},
	{"DeathIsNoticedInTime", "A dead peer is reported within Limits.PeerTimeout.", Kill | ExactTime, testDeathInTime},
	{"PeerDiesWhileConnecting", "Connecting to a peer that has died does not succeed.", Kill, testDeathBeforeConnect},
}

// trio is an end in the middle with a connection to each of two others.
type trio struct {
	a, b, c *node
	ab, ba  *pair
	ac, ca  *pair
	m       *mem // of a
	mb, mc  *mem
}

func (t *T) trio() *trio {
	t.Helper()
	s := &trio{a: t.open("a"), b: t.open("b"), c: t.open("c")}
	config := OpenPair{Access: verbs.RemoteAll}
	s.ab, s.ba, s.ac, s.ca = s.a.pair(config), s.b.pair(config), s.a.pair(config), s.c.pair(config)
	s.m, s.mb, s.mc = s.a.memory(8192, verbs.RemoteAll), s.b.memory(8192, verbs.RemoteAll), s.c.memory(8192, verbs.RemoteAll)
	t.connect(s.ab, s.ba)
	t.connect(s.ac, s.ca)
	return s
}

// A target that dies is reported: RetryExceeded, then Flushed. Others are not disturbed.
func testTargetDies(t *T) {
	s := t.trio()
	toB := s.a.stream(Stream{Pair: s.ab.id, Memory: s.m.id,
		Round: []verbs.Request{request(verbs.OpWrite, 0, s.m.span(0, 4096), s.mb.remote(0, 4096))}})
	toC := s.a.stream(Stream{Pair: s.ac.id, Memory: s.m.id,
		Round: []verbs.Request{request(verbs.OpWrite, 0, s.m.span(0, 4096), s.mc.remote(0, 4096))}})
	s.ab.receive(verbs.Receive{Tag: 0}, verbs.Receive{Tag: 1})
	toB.reaches(10)
	toC.reaches(10)
	s.b.signal(KillEnd)
	t.endsByDeath(toB)
	t.inOrder(s.ab.receives(2), verbs.Flushed)
	s.ab.untilState(verbs.Error)
	toC.reaches(toC.state().Rounds + 100)
	toC.stop()
	t.carries(s.ac, s.m, s.ca, s.mc, 4)
	s.ab.reset()
}

// endsByDeath waits for the end of a stream whose target was killed. It is Flushed if the death was noticed in a moment when
// nothing was outstanding. Where the NIC is not the host, it outlives the process by moments in which its memory is gone
// already: then it refuses.
func (t *T) endsByDeath(flow *flow) {
	t.Helper()
	status := flow.fails()
	if status != verbs.RetryExceeded && status != verbs.Flushed && (t.can.Has&OwnNIC == 0 || !status.Refused()) {
		t.Fatalf("%s: a stream whose target died ended %v", flow.node.name, status)
	}
}

// A writer that dies is noticed; afterwards nothing of it lands any more.
func testWriterDies(t *T) {
	s := t.trio()
	s.ab.receive(verbs.Receive{Tag: 0})
	flow := s.b.stream(Stream{Pair: s.ba.id, Memory: s.mb.id, Slots: 65, Stride: 64, Stamp: 1,
		Round: []verbs.Request{request(verbs.OpWrite, 0, s.mb.span(0, 64), s.m.remote(0, 64))}})
	flow.reaches(20)
	s.b.signal(KillEnd)
	t.inOrder(s.ab.receives(1), verbs.Flushed)
	s.ab.untilState(verbs.Error)
	left := s.m.checksum(0, 64)
	for i := range t.can.Repeat {
		t.carries(s.ac, s.m2(), s.ca, s.mc, uint64(i))
	}
	if s.m.checksum(0, 64) != left {
		t.Fatalf("a dead peer has written")
	}
	s.ab.reset()
}

// m2 is further memory of a, so that what a dead peer might write to stays alone.
func (s *trio) m2() *mem { return s.a.memory(512, 0) }

// A peer that dies while nothing is under way is noticed: receives are Flushed.
func testIdleDeath(t *T) {
	s := t.trio()
	s.ab.receive(verbs.Receive{Tag: 0}, verbs.Receive{Tag: 1}, verbs.Receive{Tag: 2})
	s.b.signal(KillEnd)
	t.inOrder(s.ab.receives(3), verbs.Flushed)
	s.ab.untilState(verbs.Error)
	t.carries(s.ac, s.m, s.ca, s.mc, 4)
}

// A dead peer is reported within Limits.PeerTimeout, whether something is under way or not.
func testDeathInTime(t *T) {
	for _, busy := range []bool{false, true} {
		a, b := t.open("a "+strconv.FormatBool(busy)), t.open("b "+strconv.FormatBool(busy))
		ma, mb := a.memory(8192, 0), b.memory(8192, verbs.RemoteAll)
		qa, qb := a.pair(OpenPair{}), b.pair(OpenPair{Access: verbs.RemoteAll})
		t.connect(qa, qb)
		qa.receive(verbs.Receive{Tag: 0})
		if busy {
			a.stream(Stream{Pair: qa.id, Memory: ma.id,
				Round: []verbs.Request{request(verbs.OpWrite, 0, ma.span(0, 4096), mb.remote(0, 4096))}}).reaches(5)
		}
		before := a.now()
		b.signal(KillEnd)
		t.inOrder(qa.receives(1), verbs.Flushed)
		if passed := a.now().Sub(before); passed > a.limits.PeerTimeout {
			t.Fatalf("busy %t: a death was noticed after %v, promised are %v", busy, passed, a.limits.PeerTimeout)
		}
	}
}

// Connecting to a peer that has died does not succeed.
func testDeathBeforeConnect(t *T) {
	s := t.trio()
	p, peer := s.a.pair(OpenPair{}), s.b.pair(OpenPair{})
	s.b.signal(KillEnd)
	t.doesNotConnect("a dead peer", p, peer.address)
	t.carries(s.ac, s.m, s.ca, s.mc, 4)
}

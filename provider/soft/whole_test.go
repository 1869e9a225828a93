package soft

import (
	"bytes"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// TestReceiveThatLies: the words of a receive are its owner's to write. Whatever they say, a message lands inside the memory that
// they name, or nowhere.
func TestReceiveThatLies(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*slot)
		send driver.Status
	}{
		"no lie":        {func(*slot) {}, driver.OK},
		"before":        {func(s *slot) { s.first.Address -= 8 }, driver.RemoteInvalid},
		"behind":        {func(s *slot) { s.first.Address += 4 << 20 }, driver.RemoteInvalid},
		"over the edge": {func(s *slot) { s.first.Address += 4<<20 - 8 }, driver.RemoteInvalid},
		"wraps":         {func(s *slot) { s.first.Address = ^uint64(0) - 8 }, driver.RemoteInvalid},
		"endless":       {func(s *slot) { s.first.Length = 1<<32 - 1 }, driver.RemoteInvalid},
		"short":         {func(s *slot) { s.first.Length, s.bytes = 8, 8 }, driver.RemoteInvalid},
		"more spans":    {func(s *slot) { s.more = 1<<32 - 1 }, driver.OK}, // as many as there can be, and they are empty
	} {
		t.Run(name, func(t *testing.T) {
			l := newLinkOn(t, Config{Lanes: SharedMemory})
			message := driver.Request{Op: driver.OpSend, Span: span(l.mema, 0, 16)}
			receive(t, l.qb, driver.Receive{Span: span(l.memb, 0, 64)}, driver.Receive{Span: span(l.memb, 0, 64)})
			post(t, l.qa, message) // from now on the memory is known
			l.a.expect(0, driver.OpSend, driver.OK, l.b)
			l.b.expect(0, driver.OpReceive, driver.OK)
			c.edit(&l.qb.pool.slots[l.qb.pool.line[1]])
			post(t, l.qa, message)
			l.a.expect(0, driver.OpSend, c.send, l.b)
		})
	}
}

// TestWholeAndInPieces: messages of one piece and of several land in receives of one piece and of several, on every lane of memory.
func TestWholeAndInPieces(t *testing.T) {
	for _, lanes := range []Lanes{InProcess, SharedMemory} {
		t.Run(lanes.String(), func(t *testing.T) {
			l := newLinkOn(t, Config{Lanes: lanes})
			src, dst := l.mema.Region().Bytes, l.memb.Region().Bytes
			for i := range 64 {
				src[i] = byte(i + 1)
			}
			for _, r := range []driver.Receive{
				{Span: span(l.memb, 0, 32)}, {Span: span(l.memb, 0, 64)},
				{Span: span(l.memb, 0, 8), More: []driver.Span{span(l.memb, 8, 24)}},
				{More: []driver.Span{span(l.memb, 0, 0), span(l.memb, 0, 32)}},
			} {
				for _, s := range []driver.Request{
					{Op: driver.OpSend, Span: span(l.mema, 0, 32)},
					{Op: driver.OpSendImm, Imm: 7, Span: span(l.mema, 0, 32)},
					{Op: driver.OpSend, Imm: 7, Span: span(l.mema, 0, 24), More: []driver.Span{span(l.mema, 24, 8)}},
				} {
					clear(dst[:64])
					receive(t, l.qb, r)
					post(t, l.qa, s)
					l.a.expect(0, s.Op, driver.OK, l.b)
					c := l.b.expect(0, s.Op.Arrived(), driver.OK)
					if want := map[driver.Op]uint32{driver.OpSendImm: 7}[s.Op]; c.Bytes != 32 || c.Imm != want {
						t.Errorf("%v arrived as %+v", s.Op, c)
					}
					if !bytes.Equal(dst[:32], src[:32]) || dst[32] != 0 {
						t.Errorf("%v into %d spans: got %v", s.Op, 1+len(r.More), dst[:33])
					}
				}
			}
		})
	}
}

// TestPollFillsTheRoomThereIs: what waits comes first, then what a turn finds, and what has no room stays.
func TestPollFillsTheRoomThereIs(t *testing.T) {
	const each = 5
	for room := range 2*each + 3 {
		l := newLink(t)
		for i := range each {
			receive(t, l.qa, driver.Receive{Tag: driver.Tag(each + i)})
			receive(t, l.qb, driver.Receive{})
		}
		for i := range each {
			post(t, l.qa, driver.Request{Tag: driver.Tag(i), Op: driver.OpSend})
			post(t, l.qb, driver.Request{Op: driver.OpSend})
		}
		into := make([]driver.Completion, room)
		for next := 0; next < 2*each; {
			n, err := l.a.cq.Poll(into)
			ok(t, err)
			if want := min(room, 2*each-next); n != want {
				t.Fatalf("room for %d: got %d completions behind %d, want %d", room, n, next, want)
			}
			for _, c := range into[:n] {
				if c.Tag != driver.Tag(next) || c.Status != driver.OK {
					t.Fatalf("room for %d: completion %d is %+v", room, next, c)
				}
				next++
			}
			if room == 0 {
				into, room = make([]driver.Completion, 2*each), 2*each
			}
		}
		l.a.silent()
		if l.a.cq.into != nil || l.a.cq.filled != 0 {
			t.Error("the queue keeps what it was lent")
		}
	}
}

// TestControlsNeedNoRoomOfTheDepth: completions of control operations are beyond the depth, and only while they wait.
func TestControlsNeedNoRoomOfTheDepth(t *testing.T) {
	l := newLink(t) // a turn has found that they are connected
	for range 3 {
		if got := l.a.cq.done.extra; got != 0 {
			t.Fatalf("room for %d more completions than the depth, want 0", got)
		}
		ok(t, l.qa.SetAccess(5, driver.RemoteAll))
		l.a.expect(5, driver.OpQueueAccess, driver.OK)
	}
}

// TestWholeMessagesAreRefused like all others.
func TestWholeMessagesAreRefused(t *testing.T) {
	outside := func(s driver.Span) driver.Span { s.Address += 4 << 20; return s }
	for _, lanes := range []Lanes{InProcess, SharedMemory} {
		for name, c := range map[string]struct {
			source, end         func(driver.Span) driver.Span // of the message, and behind the first span of the receive
			closed              bool                          // the receive's memory
			sent, arrivedStatus driver.Status
		}{
			"bad source": {source: outside, sent: driver.LocalProtection, arrivedStatus: driver.Flushed},
			"bad end":    {end: outside, sent: driver.RemoteInvalid, arrivedStatus: driver.LocalProtection},
			"closed":     {closed: true, sent: driver.RemoteInvalid, arrivedStatus: driver.LocalProtection},
		} {
			t.Run(lanes.String()+" "+name, func(t *testing.T) {
				l := newLinkOn(t, Config{Lanes: lanes})
				m := l.b.memory(4096, 0)
				from, into := span(l.mema, 0, 16), driver.Receive{Tag: 2, Span: span(m, 0, 64)}
				receive(t, l.qb, driver.Receive{Tag: 1, Span: span(m, 0, 64)})
				post(t, l.qa, driver.Request{Op: driver.OpSend, Span: from}) // from now on the memory is known
				l.a.expect(0, driver.OpSend, driver.OK, l.b)
				l.b.expect(1, driver.OpReceive, driver.OK)
				if c.source != nil {
					from = c.source(from)
				}
				if c.end != nil {
					into.More = []driver.Span{c.end(span(l.memb, 0, 8))}
				}
				receive(t, l.qb, into)
				if c.closed {
					ok(t, m.Close())
				}
				post(t, l.qa, driver.Request{Op: driver.OpSend, Span: from})
				l.a.expect(0, driver.OpSend, c.sent, l.b)
				l.b.expect(2, driver.OpReceive, c.arrivedStatus, l.a)
			})
		}
	}
}

// TestMessagesAfterPagesMoved: what was known of the memory is forgotten.
func TestMessagesAfterPagesMoved(t *testing.T) {
	l := newNeighbours(t)
	for range 3 {
		receive(t, l.qb, driver.Receive{Span: span(l.memb, 0, 64)})
		post(t, l.qa, driver.Request{Op: driver.OpSend, Span: span(l.mema, 0, 16)})
		l.a.expect(0, driver.OpSend, driver.OK, l.b)
		l.b.expect(0, driver.OpReceive, driver.OK)
		l.memb.region.beginMoving()
		l.memb.region.endMoving()
	}
}

// TestWholeMessagesKeepToTheQuantum: those that one Post may not copy any more wait.
func TestWholeMessagesKeepToTheQuantum(t *testing.T) {
	const size, fit, all = quantum, copyQuantum / quantum, 4
	l := newLink(t)
	list := make([]driver.Request, all)
	for i := range list {
		receive(t, l.qb, driver.Receive{Span: span(l.memb, 0, size)})
		list[i] = driver.Request{Op: driver.OpSend, Span: span(l.mema, 0, size)}
	}
	l.a.inside(func() {
		l.qa.requester.budget = copyQuantum
		for i := range list {
			l.qa.accept(list[i:])
		}
		if got := l.qa.requester.backlog.count; got != all-fit {
			t.Errorf("%d of %d messages wait, want %d", got, all, all-fit)
		}
	})
	for range list {
		l.a.expect(0, driver.OpSend, driver.OK, l.b)
	}
}

// TestBusyAndRung: a busy queue pair that is rung may have had its turn before that, so it has another soon.
func TestBusyAndRung(t *testing.T) {
	l := newLink(t)
	l.a.inside(func() {
		l.qa.accept([]driver.Request{{Op: driver.OpSend}}) // it waits for a receive
		if l.a.cq.work(); l.a.cq.next == soon {
			t.Error("a queue pair that waits for its peer wants to be looked at soon")
		}
		l.qa.bell.ring()
		if l.a.cq.work(); l.a.cq.next != soon {
			t.Error("a queue pair that was rung is not looked at soon")
		}
	})
	receive(t, l.qb, driver.Receive{})
	l.a.expect(0, driver.OpSend, driver.OK, l.b)
}

// TestBrokenPeerIsLeftAlone: no receive is taken there, and nothing lands, though this end does not know yet.
func TestBrokenPeerIsLeftAlone(t *testing.T) {
	l := newLink(t)
	receive(t, l.qb, driver.Receive{Tag: 2, Span: span(l.memb, 0, 64)})
	peer, r := l.qb.life.Load(), driver.Request{Tag: 1, Op: driver.OpSend, Span: span(l.mema, 0, 16)}
	peer.phaseWord.Store(uint32(phaseFailed))
	if peer.land(&r, l.mema.region, 0, l.memb.region, l.memb.region.base) || peer.arrived.Load() != 0 {
		t.Error("a message has landed")
	}
	post(t, l.qa, r)
	if got := l.qb.pool.taken.Load(); got != 0 {
		t.Errorf("%d receives were taken", got)
	}
	l.a.expect(1, driver.OpSend, driver.Flushed)
}

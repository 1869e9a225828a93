package soft

import (
	"net"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// listener is a stranger that is called: its name comes after all others.
func newListener(t testing.TB) (*stranger, *net.UnixListener) {
	t.Helper()
	s := newStranger(t)
	s.me = ^s.me
	l, err := net.ListenUnix("unixpacket", meetingName(s.me))
	ok(t, err)
	t.Cleanup(func() { l.Close() })
	return s, l
}

// answer meets a device that calls, up to its Call.
func (s *stranger) answer(l *net.UnixListener, d *Device) noteWithFD {
	s.t.Helper()
	c, err := l.AcceptUnix()
	ok(s.t, err)
	s.adopt(c)
	closeDescriptor(s.until(noteHello).fd)
	s.say(&note{Kind: noteHello, Device: uint64(s.me), There: noteName{Device: uint64(d.identity)}}, nil, s.arena.fd)
	in := s.until(noteCall)
	closeDescriptor(in.fd)
	return in
}

// accept says that a call is accepted.
func (s *stranger) accept(call noteWithFD) {
	fd := s.event()
	s.say(&note{Kind: noteAccept, Here: call.There, There: call.Here, Life: s.words()}, nil, fd)
	closeDescriptor(fd)
}

// A peer accepts when the caller has given up: it is told so, and nothing stays behind.
func TestAcceptedTooLate(t *testing.T) {
	for name, giveUp := range map[string]func(*host, *QueuePair){
		"timed out": func(*host, *QueuePair) {},
		"reset": func(h *host, q *QueuePair) {
			ok(h.t, q.Reset(2))
		},
		"closed": func(h *host, q *QueuePair) {
			ok(h.t, q.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostWith(t, Config{Lanes: SharedMemory, PeerTimeout: 200 * time.Millisecond})
			q := h.pair()
			s, l := newListener(t)
			ok(t, q.Connect(1, s.address(1)))
			call := s.answer(l, h.device)
			before := countDescriptors(t)
			giveUp(h, q)
			if name == "timed out" {
				h.expect(1, driver.OpConnect, driver.RetryExceeded)
			}
			s.accept(call)
			s.until(noteRefuse)
			sameDescriptors(t, before)
			q.Close()
			s.say(&note{Kind: noteRetire, Here: call.There, There: call.Here}, nil, -1)
			s.alive(h.device)
			n := h.device.neighbours.known[s.me]
			n.mu.Lock()
			defer n.mu.Unlock()
			if len(n.ties) != 0 {
				t.Errorf("%d ties are left", len(n.ties))
			}
		})
	}
}

// A peer that gives up after it was accepted: the end that is Ready becomes an orphan, though nothing is posted.
func TestAcceptedInVain(t *testing.T) {
	h := newHostWith(t, Config{Lanes: SharedMemory})
	s := newStranger(t)
	s.greet(h.device)
	q := s.connect(h)
	receive(t, q, driver.Receive{Tag: 5})
	s.say(&note{Kind: noteRefuse, Here: noteName{uint64(s.me), q.number, 1},
		There: noteName{uint64(h.device.identity), q.number, q.life.Load().epoch}}, nil, -1)
	h.expect(5, driver.OpReceive, driver.Flushed)
}

// The neighbour dies while its memory is asked for: that is not a refusal.
func TestNeighbourDiesAsked(t *testing.T) {
	h := newHostWith(t, Config{Lanes: SharedMemory})
	m := h.memory(4096, 0)
	s := newStranger(t)
	s.greet(h.device)
	q := s.connect(h)
	post(t, q, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(m, 0, 8),
		Remote: driver.RemoteSpan{Address: 4096, Length: 8, Key: 99}})
	for range 1000 {
		h.silent()
	}
	n := q.life.Load().tied().neighbour
	n.mu.Lock()
	for _, bells := range n.asked {
		if len(bells) != 1 {
			t.Errorf("%d bells wait for one queue pair", len(bells))
		}
	}
	n.gone = true // as it is between the end of the socket and that of the connections
	n.mu.Unlock()
	h.silent()
	s.conn.Close()
	h.expect(1, driver.OpWrite, driver.RetryExceeded)
}

// A neighbour that reads nothing, because it is stopped, holds nobody up. When it goes on, it hears everything in order.
func TestNotesForAStoppedNeighbour(t *testing.T) {
	const notes = 3000
	h := newHostWith(t, Config{Lanes: SharedMemory})
	m := h.memory(4096, 0)
	before := countDescriptors(t)
	s := newStranger(t)
	s.greet(h.device)
	s.known(h.device)
	n := h.device.neighbours.known[s.me].neighbour
	for i := range notes {
		ok(t, n.say(&note{Kind: noteClosed, Key: uint64(i)}, nil, []int{-1, m.backing.fd}[i%2]))
	}
	for i := range notes {
		in := s.hear()
		if closeDescriptor(in.fd); in.Key != uint64(i) || (in.fd >= 0) != (i%2 == 1) {
			t.Fatalf("note %d comes as %d, with descriptor %d", i, in.Key, in.fd)
		}
	}
	for range notes { // and nothing is left of what it never reads
		ok(t, n.say(&note{Kind: noteClosed}, nil, m.backing.fd))
	}
	s.end()
	sameDescriptors(t, before)
}

// Who is just greeting when the device is closed does not keep it open.
func TestCloseWhileGreeting(t *testing.T) {
	d, err := New(Config{Lanes: SharedMemory, PeerTimeout: 50 * time.Millisecond})
	ok(t, err)
	s := newStranger(t)
	s.dial(d)
	ok(t, d.Close())
	s.gone()
	d.neighbours.closing.Store(true)
	if d.neighbours.add(&neighbour{peer: s.me}) == nil {
		t.Error("a closing device has met somebody")
	}
}

// A neighbour calls twice: the second time it is turned away, and no descriptor is left.
func TestNeighbourCallsTwice(t *testing.T) {
	h := newHostWith(t, Config{Lanes: SharedMemory})
	s := newStranger(t)
	s.greet(h.device)
	s.known(h.device) // or the device might know the twin first
	before := countDescriptors(t)
	for range 5 {
		twin := *s
		twin.greet(h.device)
		twin.gone()
		twin.conn.Close()
	}
	sameDescriptors(t, before)
	s.alive(h.device)
}

// Completion queues come and go at a peer: what wakes them goes too.
func TestWakersAreClosed(t *testing.T) {
	l := newNeighbours(t)
	before := countDescriptors(t)
	for range 20 {
		a, b := l.a.sibling(), l.b.sibling()
		qa, qb := a.pair(), b.pair()
		join(a, qa, b, qb)
		a.close()
		b.close()
	}
	sameDescriptors(t, before)
	l.works()
}

// Two devices that call each other at once meet: only one of them calls.
func TestNeighboursCallEachOther(t *testing.T) {
	for range 20 {
		a, b := newHostWith(t, Config{Lanes: SharedMemory}), newHostWith(t, Config{Lanes: SharedMemory})
		var pairs [8][2]*QueuePair
		for i := range pairs {
			pairs[i] = [2]*QueuePair{a.pair(), b.pair()}
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, p := range pairs {
				_ = p[0].Connect(1, p[1].Address())
			}
		}()
		for _, p := range pairs {
			ok(t, p[1].Connect(1, p[0].Address()))
		}
		<-done
		for range pairs {
			a.expect(1, driver.OpConnect, driver.OK, b)
			b.expect(1, driver.OpConnect, driver.OK, a)
		}
		a.close()
		b.close()
	}
}

// Connect and Reset at all moments: nothing hangs, and nothing is left.
func TestNeighbourResetsWhileConnecting(t *testing.T) {
	l := newLinkOn(t, Config{Lanes: SharedMemory, PeerTimeout: 100 * time.Millisecond}) // nobody may call
	for i := range 300 {
		ok(t, l.qa.Reset(1))
		ok(t, l.qb.Reset(1))
		l.a.expect(1, driver.OpReset, driver.OK)
		l.b.expect(1, driver.OpReset, driver.OK)
		ok(t, l.qa.Connect(2, l.qb.Address()))
		ok(t, l.qb.Connect(2, l.qa.Address()))
		for end := clock.Real.Now().Add(time.Duration(i) * time.Microsecond); clock.Real.Now() < end; {
			l.a.cq.Wait(end, 0)
		}
		ok(t, l.qa.Reset(3))
		for c := l.a.next(l.b); c.Tag != 3; c = l.a.next(l.b) {
			if c.Op != driver.OpConnect {
				t.Fatalf("unexpected %+v", c)
			}
		}
		if c := l.b.next(l.a); c.Tag != 2 {
			t.Fatalf("unexpected %+v", c)
		}
	}
	reconnect(l)
	l.works()
	n := l.qa.life.Load().tied().neighbour
	until(t, "all other ties are gone", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.ties) == 1
	})
}

// A neighbour is shown memory once, however many queue pairs it connects: thousands of them would show it thousands of times.
func TestMemoryIsShownOnce(t *testing.T) {
	l := newNeighbours(t)
	view := func() *region { // of b's memory, at a
		l.a.device.neighbours.mu.Lock()
		point := l.a.device.neighbours.known[l.b.device.identity]
		l.a.device.neighbours.mu.Unlock()
		point.mu.Lock()
		defer point.mu.Unlock()
		return point.views[viewKey{0, l.memb.region.remoteKey}]
	}
	write := driver.Request{Op: driver.OpWrite, Span: span(l.mema, 0, 8), Remote: remote(l.memb, 0, 8)}
	post(t, l.qa, write)
	l.a.expect(0, driver.OpWrite, driver.OK)
	before := view()
	for range 3 { // when one has connected, what the one before it was shown has come
		join(l.a, l.a.pair(), l.b, l.b.pair())
	}
	if after := view(); before == nil || after != before {
		t.Errorf("the view was %p and is %p", before, after)
	}
}

package soft

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

func TestConnectWaitsForBoth(t *testing.T) {
	a, b := newHost(t), newHost(t)
	qa, qb := a.pair(), b.pair()
	ok(t, qa.Connect(1, qb.Address()))
	a.silent()
	b.silent()
	if qa.State() != driver.Connecting {
		t.Fatalf("state is %v, want Connecting", qa.State())
	}
	ok(t, qb.Connect(2, qa.Address()))
	a.expect(1, driver.OpConnect, driver.OK)
	// The other end has not looked yet, but messages may come.
	receive(t, qb, driver.Receive{Tag: 4})
	post(t, qa, driver.Request{Tag: 3, Op: driver.OpSend})
	a.expect(3, driver.OpSend, driver.OK)
	b.expect(2, driver.OpConnect, driver.OK)
	b.expect(4, driver.OpReceive, driver.OK)
}

// TestConnectFails names peers that will never answer.
func TestConnectFails(t *testing.T) {
	for name, peer := range map[string]func(*host) driver.Address{
		"silent": func(h *host) driver.Address { return h.pair().Address() },
		"closed": func(h *host) driver.Address {
			q := h.pair()
			ok(h.t, q.Close())
			return q.Address()
		},
		"reset": func(h *host) driver.Address {
			q := h.pair()
			old := q.Address()
			ok(h.t, q.Reset(1))
			return old
		},
		"killed": func(h *host) driver.Address {
			q := h.pair()
			h.device.Kill()
			return q.Address()
		},
		"taken": func(h *host) driver.Address {
			q := h.pair()
			join(h, q, h, h.pair())
			return q.Address()
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{PeerTimeout: 2 * tolerance} // only who is silent is waited for
			if name == "silent" {
				config.PeerTimeout = time.Millisecond
			}
			a := newHostWith(t, config)
			q := a.pair()
			receive(t, q, driver.Receive{Tag: 2})
			ok(t, q.Connect(1, peer(newHost(t))))
			a.expect(1, driver.OpConnect, driver.RetryExceeded)
			a.expect(2, driver.OpReceive, driver.Flushed)
			if q.State() != driver.Error {
				t.Errorf("state is %v, want Error", q.State())
			}
		})
	}
}

// TestOldAddressesLeadNowhere: the queue pair still exists, and even names us, but in another life.
func TestOldAddressesLeadNowhere(t *testing.T) {
	a, b := newHost(t), newHost(t)
	qa, qb := a.pair(), b.pair()
	old := qb.Address()
	ok(t, qb.Reset(1))
	b.expect(1, driver.OpReset, driver.OK)
	ok(t, qb.Connect(2, qa.Address()))
	ok(t, qa.Connect(3, old))
	a.expect(3, driver.OpConnect, driver.RetryExceeded)
	b.expect(2, driver.OpConnect, driver.RetryExceeded)
}

// TestConnectRefusesWhatCannotBeAPeer: addresses of nothing, of another process, and of the queue pair itself, in this
// life and in an earlier one.
func TestConnectRefusesWhatCannotBeAPeer(t *testing.T) {
	h := newHost(t)
	q := h.pair()
	old := q.Address()
	ok(t, q.Reset(1))
	foreign := address{process: process.identity + 1, lifeName: lifeName{1, 1, 1}}
	for _, peer := range []driver.Address{"", "tcp:1", driver.Address(foreign.String()), old, q.Address()} {
		if err := q.Connect(1, peer); !errors.Is(err, driver.ErrArgument) {
			t.Errorf("connecting to %q: %v", peer, err)
		}
	}
	if q.State() != driver.New {
		t.Errorf("state is %v, want New", q.State())
	}
}

func TestResetFlushesThenReconnects(t *testing.T) {
	l := newLink(t)
	for round := range driver.Tag(3) {
		old := l.qa.Address()
		receive(t, l.qa, driver.Receive{Tag: 11}, driver.Receive{Tag: 12})
		receive(t, l.qb, driver.Receive{Tag: 21})
		post(t, l.qb, driver.Request{Tag: 22, Op: driver.OpSend})
		post(t, l.qa, driver.Request{Tag: 13, Op: driver.OpSend}, driver.Request{Tag: 14, Op: driver.OpSend})
		ok(t, l.qa.Reset(15))
		l.a.expect(13, driver.OpSend, driver.OK)
		l.a.expect(11, driver.OpReceive, driver.OK)
		l.a.expect(14, driver.OpSend, driver.Flushed)
		l.a.expect(12, driver.OpReceive, driver.Flushed)
		l.a.expect(15, driver.OpReset, driver.OK)
		l.a.silent()
		if l.qa.State() != driver.New || l.qa.Address() == old {
			t.Fatalf("round %d: state %v, address %s", round, l.qa.State(), l.qa.Address())
		}
		l.b.expect(22, driver.OpSend, driver.OK)
		l.b.expect(21, driver.OpReceive, driver.OK)
		l.b.silent()
		if l.qb.State() != driver.Error {
			t.Fatalf("round %d: peer is %v, want Error", round, l.qb.State())
		}
		ok(t, l.qb.Reset(23))
		l.b.expect(23, driver.OpReset, driver.OK)
		join(l.a, l.qa, l.b, l.qb)
	}
}

func TestResetWhileConnecting(t *testing.T) {
	h := newHost(t)
	q := h.pair()
	ok(t, q.Connect(1, h.pair().Address()))
	ok(t, q.Reset(2))
	h.expect(1, driver.OpConnect, driver.Flushed)
	h.expect(2, driver.OpReset, driver.OK)
}

// TestResetKeepsRevokedAccess: what was taken away stays away.
func TestResetKeepsRevokedAccess(t *testing.T) {
	l := newLink(t)
	ok(t, l.qb.SetAccess(1, 0))
	ok(t, l.qb.Reset(2))
	ok(t, l.qa.Reset(3))
	l.b.expect(1, driver.OpQueueAccess, driver.OK)
	l.b.expect(2, driver.OpReset, driver.OK)
	l.a.expect(3, driver.OpReset, driver.OK)
	join(l.a, l.qa, l.b, l.qb)
	post(t, l.qa, driver.Request{Op: driver.OpWrite, Span: span(l.mema, 0, 8), Remote: remote(l.memb, 0, 8)})
	l.a.expect(0, driver.OpWrite, driver.RemoteInvalid)
}

// TestCloseInEveryState also checks that nothing of a closed queue pair can be polled.
func TestCloseInEveryState(t *testing.T) {
	for name, prepare := range map[string]func(*link) *QueuePair{
		"New":        func(l *link) *QueuePair { return l.a.pair() },
		"Connecting": func(l *link) *QueuePair { q := l.a.pair(); ok(l.a.t, q.Connect(1, l.b.pair().Address())); return q },
		"Ready":      func(l *link) *QueuePair { return l.qa },
		"busy": func(l *link) *QueuePair {
			receive(l.a.t, l.qa, driver.Receive{}, driver.Receive{})
			post(l.b.t, l.qb, driver.Request{Op: driver.OpSend})
			post(l.a.t, l.qa, driver.Request{Op: driver.OpWrite}, driver.Request{Op: driver.OpSend})
			return l.qa
		},
		"mid-message": func(l *link) *QueuePair {
			receive(l.b.t, l.qb, driver.Receive{Span: span(l.memb, 0, 4<<20)})
			post(l.a.t, l.qa, driver.Request{Op: driver.OpSend, Span: span(l.mema, 0, 4<<20)})
			return l.qa
		},
		"Error": func(l *link) *QueuePair {
			post(l.a.t, l.qa, driver.Request{Op: driver.OpFetchAdd, Span: span(l.mema, 0, 8)})
			return l.qa
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLink(t)
			q := prepare(l)
			ok(t, q.Close())
			l.a.silent()
			l.b.poll()
			if q.State() != driver.Closed || (q == l.qa && l.qb.State() != driver.Error) {
				t.Errorf("state is %v, peer is %v", q.State(), l.qb.State())
			}
		})
	}
}

func TestCloseOrderIsChecked(t *testing.T) {
	h := newHost(t)
	h.pair()
	if h.device.Close() == nil || h.domain.Close() == nil || h.cq.Close() == nil {
		t.Error("a parent was closed before its children")
	}
}

// TestMeetingsAreProgress: on every lane, a connection that is made gives the others of its device more time.
func TestMeetingsAreProgress(t *testing.T) {
	for _, lanes := range []Lanes{InProcess, SharedMemory, TCP} {
		l := newLinkOn(t, Config{Lanes: lanes})
		for _, h := range []*host{l.a, l.b} {
			m := &h.device.meetings
			met := clock.Time(m.progress.Load())
			if early := (deadline{timeout: tolerance, since: met - 1}); met == 0 || early.at(m) != met.Add(tolerance) {
				t.Errorf("%v: the last meeting was at %d", lanes, met)
			}
		}
	}
}

package ibv_test

import (
	"net"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/verbs/driver"
)

// A Send that waits for a receive is found also behind Quiet requests, of whose end the device says nothing.
func TestLateBehindQuiet(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	a, _ := s.wire()
	s.quietWrite(a, 1)
	s.send(a, 2, 1)
	time.Sleep(50 * time.Millisecond) // the Write needs less
	ibv.Linger(s.queue, 0)
	ibv.Linger(s.queue, 2*hangs)
	if c := s.take(1)[0]; c.Tag != 2 || c.Status != driver.ReceiverNotReady {
		t.Errorf("%+v", c)
	}
}

// What a device refuses to take bears the blame, not what was under way before it.
func TestRefusedByTheDevice(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	a, _ := s.wire()
	s.send(a, 1, 2)
	r := s.memory.Region()
	_, err := a.Post([]driver.Request{
		{Tag: 3, Op: driver.OpSend},
		{Tag: 4, Op: driver.OpWrite, Flags: driver.Inline, Span: driver.Span{Address: r.Address, Length: 4096, Key: r.LocalKey},
			Remote: driver.RemoteSpan{Address: r.Address, Length: 4096, Key: r.RemoteKey}}, // far over MaxInline
		{Tag: 5, Op: driver.OpSend},
	})
	s.must(err)
	for i, c := range s.take(5) {
		want := driver.Flushed
		if c.Tag == 4 {
			want = driver.LocalProtection
		}
		if c.Tag != driver.Tag(1+i) || c.Status != want {
			t.Errorf("%+v, want tag %d, %v", c, 1+i, want)
		}
	}
}

// What shared receives have got before a Reset is reported before it.
func TestResetBehindArrivals(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	queue, err := s.device.NewCompletionQueue(64)
	s.must(err)
	pool, err := s.domain.(driver.SharedReceiver).NewSharedReceives(driver.SharedConfig{Depth: 8, MaxSpans: 1, Completions: queue})
	s.must(err)
	a := s.pair()
	b, err := s.domain.NewQueuePair(driver.QueueConfig{Completions: queue, Shared: pool, SendDepth: 8, MaxSpans: 1})
	s.must(err)
	_, err = pool.PostReceive([]driver.Receive{{Tag: 1}, {Tag: 2}})
	s.must(err)
	s.must(a.Connect(3, b.Address()))
	s.must(b.Connect(4, a.Address()))
	other := &stage{t: t, queue: queue}
	s.take(1)
	other.take(1)
	s.send(a, 5, 2)
	s.take(2)
	s.must(b.Reset(6))
	for i, c := range other.take(3) {
		if want := []driver.Tag{1, 2, 6}[i]; c.Tag != want || c.Status != driver.OK {
			t.Errorf("%+v, want tag %d", c, want)
		}
	}
	s.must(b.Close())
	s.must(pool.Close())
	s.must(queue.Close())
}

// A peer that is reached by link-local addresses is watched, too.
func TestWatchedByLinkLocal(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	linkLocal := func(e *ibv.Endpoint) {
		var kept []ibv.GID
		for _, g := range e.GIDs {
			if g.Address.IsLinkLocalUnicast() {
				kept = append(kept, g)
			}
		}
		if e.GIDs = kept; len(kept) == 0 {
			t.Skip("the port has no link-local address")
		}
	}
	a, b := s.pair(), s.pair()
	s.must(a.Connect(1, s.like(b, linkLocal)))
	s.must(b.Connect(2, s.like(a, linkLocal)))
	s.take(2)
	s.receive(a, 3, 1)
	s.must(b.Close())
	s.pairs = s.pairs[:1]
	if c := s.take(1)[0]; c.Tag != 3 || c.Status != driver.Flushed {
		t.Errorf("%+v", c)
	}
}

// A change of access does not wait for word of a peer that keeps silent.
func TestSetAccessBeforeWord(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	silent, err := net.Listen("tcp", ":0")
	s.must(err)
	defer silent.Close()
	a := s.pair()
	s.must(a.Connect(1, s.like(s.pair(), func(e *ibv.Endpoint) { e.Watch = port(silent) })))
	s.must(a.SetAccess(2, 0))
	for i, c := range s.take(2) {
		if want := []driver.Tag{2, 1}[i]; c.Tag != want || c.Status != driver.OK {
			t.Errorf("%+v, want tag %d", c, want)
		}
	}
}

// A Quiet Write that has arrived is no longer under way: neither Reset nor the end of the peer says that it failed.
func TestQuietSuccessStaysQuiet(t *testing.T) {
	needDevice(t)
	for _, end := range []func(a, b driver.QueuePair) error{
		func(a, _ driver.QueuePair) error { return a.Reset(4) },
		func(_, b driver.QueuePair) error { return b.Reset(5) },
	} {
		s := openStage(t)
		a, b := s.wire()
		s.receive(a, 4, 1)
		s.quietWrite(a, 1)
		time.Sleep(50 * time.Millisecond) // the Write needs less
		s.must(end(a, b))
		for _, c := range s.take(2) {
			if c.Tag == 1 {
				t.Errorf("%+v", c)
			}
		}
		if a.State() == driver.Ready {
			t.Error("it is still Ready")
		}
		s.nothing()
		s.close()
	}
}

// A Quiet Write that its peer never got is reported.
func TestQuietFailureIsHeard(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	a, b := s.wire()
	s.must(b.Close())
	s.pairs = s.pairs[:1]
	s.quietWrite(a, 1)
	if c := s.take(1)[0]; c.Tag != 1 || c.Status != driver.RetryExceeded {
		t.Errorf("%+v", c)
	}
}

func (s *stage) quietWrite(q driver.QueuePair, tag driver.Tag) {
	s.t.Helper()
	r := s.memory.Region()
	_, err := q.Post([]driver.Request{{Tag: tag, Op: driver.OpWrite, Flags: driver.Quiet, Span: driver.Span{Address: r.Address, Length: 8, Key: r.LocalKey},
		Remote: driver.RemoteSpan{Address: r.Address + 8, Length: 8, Key: r.RemoteKey}}})
	s.must(err)
}

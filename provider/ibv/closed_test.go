package ibv_test

import (
	"errors"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/verbs/driver"
)

// A Wake that comes after Close, as that of a context that was cancelled meanwhile, rings no bell: its number may be another file's by then.
func TestWakeAfterClose(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	queue, err := s.device.NewCompletionQueue(4)
	s.must(err)
	s.must(queue.Close())
	var bells []unix.PollFd
	for range 8 { // they take the numbers that Close has freed
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		s.must(err)
		defer unix.Close(fd)
		bells = append(bells, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	queue.(driver.Waiter).Wake()
	if n, err := unix.Poll(bells, 0); n != 0 || err != nil {
		t.Errorf("%d files of others were written to, %v", n, err)
	}
}

// Memory that is closed has no access to change: its pages may be another's by then.
func TestSetAccessAfterClose(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	m, err := s.domain.(driver.Allocator).Alloc(4096, driver.RemoteAll)
	s.must(err)
	s.must(m.Close())
	if err := m.(driver.MemoryAccess).SetAccess(s.queue, 1, driver.RemoteRead); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("changing the access of closed memory: %v", err)
	}
}

// Memory may be closed while another goroutine posts Inline requests from it: they carry its bytes, or fail.
func TestCloseWhilePostingInline(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	for range 100 {
		a, _ := s.wire()
		m, err := s.domain.(driver.Allocator).Alloc(4096, 0)
		s.must(err)
		var closing sync.WaitGroup
		started := make(chan struct{})
		closing.Go(func() {
			<-started
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
		s.postUntilRefused(a, m.Region(), started)
		closing.Wait()
		s.closePairs()
	}
}

// postUntilRefused posts Inline writes from a region until one fails.
func (s *stage) postUntilRefused(q driver.QueuePair, from driver.Region, started chan struct{}) {
	s.t.Helper()
	to := s.memory.Region()
	list := make([]driver.Request, depth)
	for i := range list {
		list[i] = driver.Request{Tag: 1, Op: driver.OpWrite, Flags: driver.Inline, Span: driver.Span{Address: from.Address, Length: 16, Key: from.LocalKey},
			Remote: driver.RemoteSpan{Address: to.Address, Length: 16, Key: to.RemoteKey}}
	}
	for round := 0; ; round++ {
		_, err := q.Post(list)
		s.must(err)
		if round == 0 {
			close(started)
		}
		for _, c := range s.take(depth) {
			switch c.Status {
			case driver.OK:
			case driver.LocalProtection:
				return
			default:
				s.t.Fatalf("%+v", c)
			}
		}
	}
}

func (s *stage) closePairs() {
	s.t.Helper()
	for _, q := range s.pairs {
		s.must(q.Close())
	}
	s.pairs = nil
}

// An empty list is nothing to do.
func TestEmptyLists(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	pool, err := s.domain.(driver.SharedReceiver).NewSharedReceives(driver.SharedConfig{Depth: 2, MaxSpans: 1, Completions: s.queue})
	s.must(err)
	a, b := s.wire()
	s.receive(b, 1, 2)
	s.send(a, 3, 1)
	s.take(2)
	for _, post := range []func() (int, error){
		func() (int, error) { return a.Post(nil) },
		func() (int, error) { return b.PostReceive(nil) },
		func() (int, error) { return pool.PostReceive(nil) },
	} {
		if n, err := post(); n != 0 || err != nil {
			t.Errorf("posting nothing: %d, %v", n, err)
		}
	}
	s.nothing()
	s.must(pool.Close())
}

// What closed queue pairs have left in the completion queue takes no room from others.
func TestClosedPairsLeaveRoom(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	queue, err := s.device.NewCompletionQueue(2 * depth)
	s.must(err)
	for range 40 { // of which none is polled
		q, err := s.domain.NewQueuePair(driver.QueueConfig{Completions: queue, SendDepth: 1, ReceiveDepth: depth, MaxSpans: 1})
		s.must(err)
		s.receive(q, 1, depth)
		s.must(q.Reset(2))
		s.must(q.Close())
	}
	s.wire() // works, unless the device was given up
	if s.log.String() != "" {
		t.Errorf("the log says:\n%s", s.log)
	}
	s.must(queue.Close())
}

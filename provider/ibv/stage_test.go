package ibv_test

import (
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/verbs/driver"
)

// hangs is when a test gives up. It says nothing about how fast something is.
const hangs = time.Minute

// stage is an opened device with what tests need of it.
type stage struct {
	t      testing.TB
	device *ibv.Device
	domain driver.Domain
	queue  driver.CompletionQueue
	memory driver.Memory
	log    *journal
	pairs  []driver.QueuePair
}

func openStage(t testing.TB) *stage {
	t.Helper()
	return openStageOn(t, os.Getenv(roceVariable))
}

func openStageOn(t testing.TB, device string) *stage {
	t.Helper()
	s := &stage{t: t, log: new(journal)}
	var err error
	s.device, err = ibv.Open(ibv.Config{Device: device, PeerTimeout: peerTimeout, Log: slog.New(slog.NewTextHandler(s.log, nil))})
	s.must(err)
	s.domain, err = s.device.NewDomain()
	s.must(err)
	s.queue, err = s.device.NewCompletionQueue(1 << 14)
	s.must(err)
	s.memory, err = s.domain.(driver.Allocator).Alloc(4096, driver.RemoteAll)
	s.must(err)
	return s
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// close frees everything, children first.
func (s *stage) close() {
	s.t.Helper()
	for _, q := range s.pairs {
		s.must(q.Close())
	}
	s.must(s.memory.Close())
	s.must(s.queue.Close())
	s.must(s.domain.Close())
	s.must(s.device.Close())
}

const depth = 64

func (s *stage) pair() driver.QueuePair {
	s.t.Helper()
	q, err := s.domain.NewQueuePair(driver.QueueConfig{Completions: s.queue, SendDepth: depth, ReceiveDepth: depth, MaxSpans: 1, MaxInline: 16,
		Access: driver.RemoteAll, ReceiverWait: hangs})
	s.must(err)
	s.pairs = append(s.pairs, q)
	return q
}

// wire makes two queue pairs that are connected to each other.
func (s *stage) wire() (a, b driver.QueuePair) {
	s.t.Helper()
	a, b = s.pair(), s.pair()
	s.must(a.Connect(1, b.Address()))
	s.must(b.Connect(2, a.Address()))
	for _, c := range s.take(2) {
		if c.Op != driver.OpConnect || c.Status != driver.OK {
			s.t.Fatalf("connecting ended with %+v", c)
		}
	}
	return a, b
}

// take waits for n completions.
func (s *stage) take(n int) []driver.Completion {
	s.t.Helper()
	list := make([]driver.Completion, n)
	got, end := 0, time.Now().Add(hangs)
	for got < n {
		some, err := s.queue.Poll(list[got:])
		s.must(err)
		got += some
		if some == 0 {
			s.must(s.queue.(driver.Waiter).Wait(clock.Real.Now().Add(time.Second), 0))
		}
		if time.Now().After(end) {
			s.t.Fatalf("%d of %d completions: %+v", got, n, list[:got])
		}
	}
	return list
}

// receive posts n receives with tags from first.
func (s *stage) receive(q driver.QueuePair, first driver.Tag, n int) {
	s.t.Helper()
	list := make([]driver.Receive, n)
	for i := range list {
		list[i].Tag = first + driver.Tag(i)
	}
	_, err := q.PostReceive(list)
	s.must(err)
}

// write posts n writes of eight bytes with tags from first.
func (s *stage) write(q driver.QueuePair, first driver.Tag, n int) {
	s.t.Helper()
	r := s.memory.Region()
	list := make([]driver.Request, n)
	for i := range list {
		list[i] = driver.Request{Tag: first + driver.Tag(i), Op: driver.OpWrite, Span: driver.Span{Address: r.Address, Length: 8, Key: r.LocalKey},
			Remote: driver.RemoteSpan{Address: r.Address + 8, Length: 8, Key: r.RemoteKey}}
	}
	_, err := q.Post(list)
	s.must(err)
}

// send posts n sends of nothing, which wait for receives.
func (s *stage) send(q driver.QueuePair, first driver.Tag, n int) {
	s.t.Helper()
	list := make([]driver.Request, n)
	for i := range list {
		list[i] = driver.Request{Tag: first + driver.Tag(i), Op: driver.OpSend}
	}
	_, err := q.Post(list)
	s.must(err)
}

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) count(words string) int { return strings.Count(j.String(), words) }

package ibv_test

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Many queue pairs fail at once and are polled one completion at a time, with more posted meanwhile: each ends its requests in order, the first
// with the reason, and its receives in order.
func TestManyFailAtOnce(t *testing.T) {
	needDevice(t)
	const pairs = 40
	s := openStage(t)
	defer s.close()
	ends := make(map[uint32]*tally)
	var senders []driver.QueuePair
	for range pairs {
		a, _ := s.wire()
		ends[a.Number()] = &tally{requests: driver.RetryExceeded, receives: driver.Flushed}
		senders = append(senders, a)
	}
	for i, a := range senders {
		s.receive(a, 0, depth/2)
		s.send(a, 0, depth)
		s.must(s.pairs[2*i+1].Reset(7)) // it has no receives, so all of a's requests wait
	}
	for range pairs * (1 + depth + depth) {
		c := s.take(1)[0]
		if c.Op != driver.OpReset {
			ends[c.Queue].book(t, c)
			continue
		}
		s.receive(senders[0], depth/2, depth/2) // whether it has failed by now or not
		senders = senders[1:]
	}
}

// tally is what comes next from a queue pair that fails.
type tally struct {
	requests, receives       driver.Status
	nextRequest, nextReceive driver.Tag
}

func (y *tally) book(t *testing.T, c driver.Completion) {
	t.Helper()
	status, tag := &y.requests, &y.nextRequest
	if c.Op == driver.OpReceive {
		status, tag = &y.receives, &y.nextReceive
	}
	if c.Tag != *tag || c.Status != *status {
		t.Fatalf("%+v, want tag %d, %v", c, *tag, *status)
	}
	*status = driver.Flushed
	*tag++
}

// A queue pair that is reset more often than there are generations still works, and nothing of its past is taken for its present.
func TestManyResets(t *testing.T) {
	needDevice(t)
	if testing.Short() {
		t.Skip("thousands of resets take a while")
	}
	s := openStage(t)
	defer s.close()
	q := s.pair()
	for i := range 4200 {
		s.receive(q, 5, 2)
		s.must(q.Reset(6))
		for j, c := range s.take(3) {
			if want := []driver.Tag{5, 6, 6}[j]; c.Tag != want {
				t.Fatalf("round %d: %+v as number %d", i, c, j)
			}
		}
	}
	a := s.pair()
	s.must(a.Connect(1, q.Address()))
	s.must(q.Connect(2, a.Address()))
	s.take(2)
	s.write(q, 3, 1)
	if c := s.take(1)[0]; c.Tag != 3 || c.Status != driver.OK {
		t.Errorf("%+v", c)
	}
}

// Words about a queue pair that come late, or about nobody, change nothing.
func TestStrayEvents(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	a, b := s.wire()
	const sharedLimit, portOther = 15, 99
	for _, kind := range []native.EventType{native.PairFatal, native.PairInvalid, native.PairAccess, native.PairLastTaken, native.GIDChange, sharedLimit, 14, 4, 19, -1} {
		s.device.Happen(kind, a.Number()) // the device says that it is well
		s.device.Happen(kind, 1<<23)
	}
	s.device.Happen(native.PortError, portOther)
	s.nothing()
	s.receive(b, 1, 1)
	s.send(a, 1, 1)
	for _, c := range s.take(2) {
		if c.Status != driver.OK {
			t.Errorf("%+v", c)
		}
	}
	if s.log.String() != "" {
		t.Errorf("the log says:\n%s", s.log)
	}
}

// What has ended is not late, however long this process stood still before it looked.
func TestWhatEndedIsNotLate(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	a, b := s.wire()
	s.receive(b, 1, 1)
	s.send(a, 2, 1)
	ibv.Linger(s.queue, 0)
	time.Sleep(50 * time.Millisecond) // the device needs less
	ibv.Linger(s.queue, 2*hangs)
	for _, c := range s.take(2) {
		if c.Status != driver.OK {
			t.Errorf("%+v", c)
		}
	}
	if a.State() != driver.Ready {
		t.Errorf("the queue pair is %v", a.State())
	}
}

// Wakes are never lost.
func TestWakesAreNotLost(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	waiter := s.queue.(driver.Waiter)
	for range 300 {
		var woken sync.WaitGroup
		woken.Go(waiter.Wake)
		s.must(waiter.Wait(clock.Real.Now().Add(2*hangs), 0))
		woken.Wait()
	}
}

// A bell that was served without a look at it does not ring for ever: who waits then sleeps.
func TestServedBellIsSilent(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	s.device.Happen(native.PairFatal, 1<<23)
	s.nothing()
	const nap = 10 * time.Millisecond
	before := clock.Real.Now()
	for range 2 { // one may end early for no reason
		s.must(s.queue.(driver.Waiter).Wait(clock.Real.Now().Add(nap), 0))
	}
	if slept := clock.Real.Now().Sub(before); slept < nap {
		t.Errorf("two naps of %v took %v", nap, slept)
	}
}

// nothing polls, and finds nothing.
func (s *stage) nothing() {
	s.t.Helper()
	if n, err := s.queue.Poll(make([]driver.Completion, 1)); n > 0 || err != nil {
		s.t.Errorf("polled %d, %v", n, err)
	}
}

// Opening and closing leaves nothing behind, also while events come.
func TestOpenCloseLeavesNothing(t *testing.T) {
	needDevice(t)
	round := func() {
		s := openStage(t)
		s.pair()
		s.pair()
		var events sync.WaitGroup
		for _, kind := range []native.EventType{native.PairFatal, native.PortError, native.GIDChange, native.DeviceFatal} {
			events.Go(func() { s.device.Happen(kind, 1) })
		}
		events.Wait()
		s.close()
	}
	round()
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for range 30 {
		round()
	}
	for end := time.Now().Add(hangs); openFiles(t) > files || runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d files became %d, %d goroutines %d", files, openFiles(t), goroutines, runtime.NumGoroutine())
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

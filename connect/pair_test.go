package connect

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

var errPlanned = errors.New("planned by the test")

func newEnd(t testing.TB, config EndConfig) *End {
	t.Helper()
	nic, err := soft.New(soft.Config{})
	if err != nil {
		t.Fatal(err)
	}
	device, err := verbs.Open(nic)
	if err != nil {
		t.Fatal(err)
	}
	e, err := OpenEnd(device, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(), e.Close(), device.Close()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// joinBoth joins both ends at once.
func joinBoth(t testing.TB, a, b *Session, endA, endB *End, cardA, cardB Card) (atA, atB swapped) {
	t.Helper()
	ctx := testContext(t)
	done := make(chan swapped, 1)
	go func() {
		card, err := endB.Join(ctx, b, cardB)
		done <- swapped{card, err}
	}()
	atA.card, atA.err = endA.Join(ctx, a, cardA)
	return atA, <-done
}

func TestJoin(t *testing.T) {
	const pairs = 100
	config := EndConfig{Pairs: pairs, Memory: 8 * pairs, Access: verbs.RemoteWrite,
		Queue: verbs.QueueConfig{SendDepth: 4, ReceiveDepth: 4, Access: verbs.RemoteWrite}}
	endA, endB := newEnd(t, config), newEnd(t, config)
	a, b := meet(t, "127.0.0.1:0", Options{}, Options{})
	atA, atB := joinBoth(t, a, b, endA, endB, Card{}, Card{Spans: []verbs.RemoteSpan{endB.Memory.Remote(0, 8*pairs)}})
	if atA.err != nil || atB.err != nil {
		t.Fatal(atA.err, atB.err)
	}
	for i, q := range endA.Pairs { // each pair leads to B, wherever it ends
		endA.Memory.Store64(8*i, uint64(i))
		if q.State() != verbs.Ready || endB.Pairs[i].State() != verbs.Ready {
			t.Fatalf("queue pair %d is %v and %v", i, q.State(), endB.Pairs[i].State())
		}
		err := endA.Verbs.Write(testContext(t), q, endA.Memory.Span(8*i, 8), atA.card.Spans[0].Sub(uint64(8*i), 8))
		if err != nil || endB.Memory.Load64(8*i) != uint64(i) {
			t.Fatalf("write through queue pair %d: %v", i, err)
		}
	}
}

func TestJoinOfDifferentNumbers(t *testing.T) {
	a, b := meet(t, "127.0.0.1:0", Options{}, Options{})
	atA, atB := joinBoth(t, a, b, newEnd(t, EndConfig{Pairs: 2}), newEnd(t, EndConfig{Pairs: 3}), Card{}, Card{})
	for _, err := range []error{atA.err, atB.err} {
		if !errors.Is(err, ErrOutOfStep) {
			t.Errorf("two and three queue pairs joined: %v", err)
		}
	}
}

// TestJoinNamesWhoFailed: one end cannot connect its second queue pair; it names it, and the peer hears of it.
func TestJoinNamesWhoFailed(t *testing.T) {
	a, b := meet(t, "127.0.0.1:0", Options{}, Options{})
	end := newEnd(t, EndConfig{Pairs: 2})
	done := make(chan error, 1)
	go func() {
		_, err := b.Swap(testContext(t), Card{Addresses: []verbs.Address{end.Pairs[1].Address(), "nonsense"}})
		if err == nil {
			_, err = b.Swap(testContext(t), Card{Step: joined})
		}
		done <- err
	}()
	_, err := end.Join(testContext(t), a, Card{})
	mustContain(t, err, "connect queue pair 2 of 2", "nonsense")
	err = <-done
	if !errors.Is(err, ErrGaveUp) {
		t.Errorf("the peer of a join that failed: %v", err)
	}
	mustContain(t, err, "connect queue pair 2 of 2")
}

// TestJoinOverhearsThePeer: an end that waits for a peer that gave up says why it did. On a busy machine the peer may not
// have come to that when the time is up: then the next try takes longer.
func TestJoinOverhearsThePeer(t *testing.T) {
	var err error
	for within := 100 * time.Millisecond; within < patience && !errors.Is(err, ErrGaveUp); within *= 3 {
		err = joinWhoGaveUp(t, within)
	}
	mustContain(t, err, "connect queue pair 1 of 1", ErrGaveUp.Error(), errPlanned.Error())
}

// joinWhoGaveUp returns what a Join says whose peer swaps, and then gives up.
func joinWhoGaveUp(t *testing.T, within time.Duration) error {
	t.Helper()
	a, b := meet(t, "127.0.0.1:0", Options{}, Options{})
	end, stranger := newEnd(t, EndConfig{}), newEnd(t, EndConfig{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = b.Swap(testContext(t), Card{Addresses: []verbs.Address{stranger.Pairs[0].Address()}})
		_ = b.CloseWith(errPlanned)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	_, err := end.Join(ctx, a, Card{})
	<-done
	return err
}

func TestJoinAClosedQueuePair(t *testing.T) {
	a, _ := meet(t, "127.0.0.1:0", Options{}, Options{})
	end := newEnd(t, EndConfig{})
	end.Pairs[0].Close()
	if _, err := end.Join(testContext(t), a, Card{}); !errors.Is(err, ErrArgument) {
		t.Errorf("a closed queue pair joined: %v", err)
	}
	if _, err := a.Join(testContext(t), end.Verbs, []*verbs.QueuePair{nil}, Card{}); !errors.Is(err, ErrArgument) {
		t.Errorf("no queue pair joined: %v", err)
	}
}

func TestOpenEndClosesWhatItOpened(t *testing.T) {
	nic, err := soft.New(soft.Config{})
	if err != nil {
		t.Fatal(err)
	}
	device, err := verbs.Open(nic)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenEnd(device, EndConfig{Pairs: 2, Memory: 64, Queue: verbs.QueueConfig{Access: 0x80}}); !errors.Is(err, verbs.ErrArgument) {
		t.Errorf("an end with an unknown access: %v", err)
	}
	for _, config := range []EndConfig{{Pairs: -1}, {Memory: -1}} {
		if _, err := OpenEnd(device, config); !errors.Is(err, ErrArgument) {
			t.Errorf("%+v: %v", config, err)
		}
	}
	if _, err := OpenEnd(nil, EndConfig{}); !errors.Is(err, ErrArgument) {
		t.Error("an end on no device")
	}
	if err := device.Close(); err != nil {
		t.Error("OpenEnd failed, but left something open: ", err)
	}
}

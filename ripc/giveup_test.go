package ripc

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/wire"
)

// One who no longer waits loses the answer, and nothing else: the service does not know, and uses what it was lent. The link stays, with
// all that others have on it.
func TestWhoGivesUpBreaksNothing(t *testing.T) {
	for name, use := range map[string]func(m *Message, lent, own *Buffer) error{
		"filled": func(m *Message, _, own *Buffer) error {
			return m.AnswerWith(patient(t), Reply{Fill: map[int]*Buffer{0: own}})
		},
		"pulled": func(m *Message, lent, _ *Buffer) error {
			return errors.Join(m.PullInto(patient(t), lent), m.Answer(patient(t)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDirectory()
			a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
			s, err := b.Register(patient(t), "slow")
			check(t, err)
			lent, own := filled(t, b, 1000, "?"), filled(t, b, 1000, "content")
			ctx, cancel := context.WithCancel(patient(t))
			goOn, done := make(chan struct{}), make(chan error, 1)
			serve(t, s, func(m *Message) {
				cancel()
				<-goOn
				done <- use(m, lent, own)
			})
			there := filled(t, a, 1000, "x")
			_, err = a.Do(ctx, Request{To: s.ID(), Lend: []*Buffer{there}, Return: []*Buffer{filled(t, a, 1000, "?")}})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("given up: %v", err)
			}
			close(goOn)
			check(t, <-done)
		})
	}
}

// A service that is too slow to write its answer hears so, and may give another.
func TestReturnsAreNotFilledTooLate(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "slow")
	check(t, err)
	own := filled(t, b, 1000, "content")
	serve(t, s, func(m *Message) {
		time.Sleep(2 * time.Millisecond)
		if err := m.AnswerWith(patient(t), Reply{Fill: map[int]*Buffer{0: own}}); !errors.Is(err, ErrExpired) {
			t.Errorf("filled too late: %v", err)
		}
		check(t, m.Answer(patient(t), []byte("late")))
	})
	m, err := a.Do(patient(t), Request{To: s.ID(), Return: []*Buffer{filled(t, a, 1000, "?")}, Expiry: time.Millisecond})
	check(t, err)
	m.Release()
}

// What a message lends has its time from when it came, however long the service lets it wait: one who pulls what was taken back breaks
// the link.
func TestTheTimeOfALoanBeginsWhenItComes(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "slow")
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		err := a.Post(patient(t), Request{To: s.ID(), Lend: []*Buffer{filled(t, a, 1000, "x")}, Expiry: time.Millisecond})
		check(t, err)
	})
	until(t, b, "it has come", func() bool { return !s.arrived.Empty() })
	time.Sleep(2 * time.Millisecond)
	m, err := s.Receive(patient(t))
	check(t, err)
	defer m.Release()
	if err := m.PullInto(patient(t), filled(t, b, 1000, "?")); !errors.Is(err, ErrExpired) {
		t.Errorf("pulled too late: %v", err)
	}
}

// What a call has lent is let go of when it is given up, also if it came back before: nobody hears of the answer any more.
func TestWhoGivesUpKeepsNoBuffers(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "slow")
	check(t, err)
	ctx, cancel := context.WithCancel(patient(t))
	goOn := make(chan struct{})
	serve(t, s, func(m *Message) {
		check(t, m.PullInto(patient(t), filled(t, b, 1000, "?")))
		<-goOn
		check(t, m.Answer(patient(t)))
	})
	lent := filled(t, a, 1000, "x")
	call := a.newOperation(wire.Call, nil, &Request{To: s.ID(), Lend: []*Buffer{lent}})
	var done sync.WaitGroup
	done.Go(func() {
		if err := a.perform(ctx, call); !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
	})
	until(t, a, "it is back", func() bool { return call.isBack })
	cancel()
	done.Wait()
	close(goOn)
	if users := lent.users.Load(); users != 1 {
		t.Errorf("%d have the buffer, only this test should", users)
	}
}

// endsMeanwhile is a context that has not ended when it is first asked, and then has.
type endsMeanwhile struct {
	context.Context
	asked atomic.Int64
}

func (c *endsMeanwhile) Err() error {
	if c.asked.Add(1) == 1 {
		return nil
	}
	return c.Context.Err()
}

// Whenever the context of an answer ends, the call was answered, or can be: else its caller would wait for ever.
func TestAnAnswerThatWasNotSentIsNone(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "slow")
	check(t, err)
	over, cancel := context.WithCancel(patient(t))
	cancel()
	serve(t, s, func(m *Message) {
		for _, ctx := range []context.Context{over, &endsMeanwhile{Context: over}} {
			if err := m.Answer(ctx); !errors.Is(err, context.Canceled) && !m.isAnswered {
				t.Errorf("an answer whose time is over: %v", err)
			}
		}
		if !m.isAnswered {
			check(t, m.Answer(patient(t), []byte("late")))
		}
	})
	m, err := a.Call(patient(t), s.ID())
	check(t, err)
	m.Release()
}

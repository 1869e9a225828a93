package ripc

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
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

package ripc

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/ripc/wire"
)

// What is missing, or belongs elsewhere, is an error that says so, and no panic.
func TestWhatIsMissingIsAnErrorOfTheArguments(t *testing.T) {
	n, other := newNode(t, nil, Config{}), newNode(t, nil, Config{})
	s, err := n.Register(patient(t), "service")
	check(t, err)
	ctx := patient(t)
	to, own, foreign := s.ID(), []*Buffer{filled(t, n, 10, "x")}, []*Buffer{filled(t, other, 10, "x")}
	do := func(r Request) error {
		_, err := n.Do(ctx, r)
		return err
	}
	for name, err := range map[string]error{
		"a request to nobody":             do(Request{}),
		"a send to nobody":                n.Send(ctx, ID{}),
		"an ID of no kind":                do(Request{To: ID{9}}),
		"nothing to lend":                 do(Request{To: to, Lend: []*Buffer{nil}}),
		"nothing to lend for the answer":  do(Request{To: to, Return: []*Buffer{nil}}),
		"a send that lends nothing":       s.Post(ctx, Request{To: to, Lend: []*Buffer{nil}}),
		"a buffer of another node":        do(Request{To: to, Lend: foreign}),
		"less than no time":               do(Request{To: to, Expiry: -1}),
		"a call that may be dropped":      do(Request{To: to, Drop: true}),
		"lent to be read and written":     do(Request{To: to, Lend: own, Return: own}),
		"a call to an empty name":         do(Request{To: Name("")}),
		"a send to an empty name":         n.Send(ctx, Name("")),
		"a send to a group without one":   n.Send(ctx, Group("")),
		"a function without a node":       second(Function[int, int]{To: to}.Call(ctx, 1)),
		"a function without a service":    second(Function[int, int]{From: n}.Call(ctx, 1)),
		"a handler of no function":        s.Serve(ctx, 1, HandlerOf[int, int](nil, nil)),
		"a line that nobody uses":         n.NewLine(nil).Open(to),
		"a line that is accepted of none": n.NewLine(silent{}).Accept(nil),
		"a line that is refused to none":  n.NewLine(silent{}).Refuse(nil, ""),
	} {
		if !errors.Is(err, ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	check(t, s.Close())
}

func second[A any](_ A, err error) error { return err }

// silent uses a line for nothing.
type silent struct{}

func (silent) Ready()                {}
func (silent) Arrived(*wire.Message) {}
func (silent) Ended(error)           {}

// A reply that cannot be is an error, and the call can still be answered.
func TestWhatIsWrongWithAReplyIsAnErrorOfTheArguments(t *testing.T) {
	n := newNode(t, nil, Config{})
	s, err := n.Register(patient(t), "service")
	check(t, err)
	own := filled(t, n, 10, "x")
	var done sync.WaitGroup
	done.Go(func() {
		m, err := s.Receive(patient(t))
		check(t, err)
		defer m.Release()
		for name, r := range map[string]Reply{
			"nothing to fill with":   {Fill: map[int]*Buffer{0: nil}},
			"a return that is none":  {Fill: map[int]*Buffer{1: own}},
			"a return before all":    {Fill: map[int]*Buffer{-1: own}},
			"nothing to lend":        {Lend: []*Buffer{nil}},
			"less than no time":      {Expiry: -1},
			"too much for a message": {Items: make([][]byte, wire.MaxList+1)},
		} {
			if err := m.AnswerWith(patient(t), r); !errors.Is(err, ErrArgument) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := m.PullInto(patient(t), nil); !errors.Is(err, ErrArgument) {
			t.Errorf("pulled into nothing: %v", err)
		}
		check(t, m.Answer(context.Background()))
	})
	m, err := n.Do(patient(t), Request{To: s.ID(), Lend: []*Buffer{own}, Return: []*Buffer{filled(t, n, 10, "?")}})
	check(t, err)
	m.Release()
	done.Wait()
	check(t, s.Close())
}

// released is a buffer that was given back.
func released(t *testing.T, n *Node) *Buffer {
	b, err := n.Alloc(10)
	check(t, err)
	b.Release()
	return b
}

// What was released is the next one's memory: it is neither lent, nor filled or written to. What was kept before it is let go.
func TestABufferThatWasReleasedIsNotUsed(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "service")
	check(t, err)
	own, lent := filled(t, b, 10, "x"), filled(t, a, 10, "x")
	serve(t, s, func(m *Message) {
		for name, err := range map[string]error{
			"lent by an answer":    m.AnswerWith(patient(t), Reply{Lend: []*Buffer{own, released(t, b)}}),
			"filled into a return": m.AnswerWith(patient(t), Reply{Fill: map[int]*Buffer{0: released(t, b)}}),
			"pulled into":          m.PullInto(patient(t), own, released(t, b)),
		} {
			wantReleased(t, name, err)
		}
		check(t, m.Answer(patient(t)))
	})
	for name, r := range map[string]Request{"lent": {Lend: []*Buffer{lent, released(t, a)}}, "lent for the answer": {Return: []*Buffer{lent, released(t, a)}}} {
		r.To = s.ID()
		_, err := a.Do(patient(t), r)
		wantReleased(t, name, err)
	}
	m, err := a.Do(patient(t), Request{To: s.ID(), Lend: []*Buffer{lent, lent}, Return: []*Buffer{filled(t, a, 10, "?")}})
	check(t, err)
	m.Release()
	if lent.users.Load() != 1 || own.users.Load() != 1 {
		t.Errorf("%d and %d use what one has", lent.users.Load(), own.users.Load())
	}
	defer func() {
		if recover() == nil {
			t.Error("what was released was retained")
		}
	}()
	released(t, a).Retain()
}

func wantReleased(t *testing.T, name string, err error) {
	t.Helper()
	if !errors.Is(err, ErrArgument) || !strings.Contains(err.Error(), "buffer was released") {
		t.Errorf("%s: %v", name, err)
	}
}

package ripc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/verbs"
)

type question struct{ Word string }
type reply struct{ Length int }

func TestFunctions(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "length")
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		check(t, s.Serve(ctx, 4, HandlerOf(nil, func(_ context.Context, q question) (reply, error) {
			switch q.Word {
			case "":
				return reply{}, errors.New("there is no word")
			case "panic":
				panic(q.Word)
			}
			return reply{len(q.Word)}, nil
		})))
	})
	length := Function[question, reply]{From: a, To: s.ID()}
	for _, n := range []int{1, 100, 5000, 1 << 20} {
		got, err := length.Call(patient(t), question{strings.Repeat("x", n)})
		if err != nil || got.Length != n {
			t.Errorf("%d: %v, %v", n, got, err)
		}
	}
	if _, err := a.Call(patient(t), s.ID(), []byte(`{"Word":"x"}`), []byte("more")); err == nil || !strings.Contains(err.Error(), "2 parts") {
		t.Errorf("two items for a function: %v", err)
	}
	for _, bad := range []string{"", "panic"} {
		if _, err := length.Call(patient(t), question{bad}); !errors.Is(err, ErrFailed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	cancel()
	done.Wait()
	check(t, s.Close())
}

// Who shuts down loses nothing: what has arrived is handled, what comes later goes elsewhere.
func TestShutdownLosesNothing(t *testing.T) {
	d := newDirectory()
	a, b, c := newNode(t, d, Config{}), newNode(t, d, Config{}), newNode(t, d, Config{})
	var handled atomic.Int64
	run := func(n *Node) (stop func()) {
		s, err := n.Register(patient(t), "count")
		check(t, err)
		var done sync.WaitGroup
		done.Go(func() {
			_ = s.Serve(context.Background(), 2, func(context.Context, *Message) error {
				handled.Add(1)
				return nil
			})
		})
		return func() {
			_ = s.Close()
			done.Wait()
		}
	}
	stopB := run(b)
	var done sync.WaitGroup
	const calls = 500
	halfway := make(chan struct{})
	done.Go(func() {
		for i := range calls {
			if i == calls/2 {
				close(halfway)
			}
			m, err := a.Call(patient(t), Name("count"))
			if err != nil {
				t.Errorf("call %d: %v", i, err)
				return
			}
			m.Release()
		}
	})
	<-halfway
	stopC := run(c)
	check(t, b.Shutdown(patient(t)))
	done.Wait()
	stopB()
	stopC()
	if handled.Load() != calls {
		t.Errorf("%d of %d calls were handled", handled.Load(), calls)
	}
}

// A message that was not delivered is one error, of the next that is sent there; one that is marked so is sent again.
func TestUndeliveredMessages(t *testing.T) {
	d := newDirectory()
	a, b, c := newNode(t, d, Config{}), newNode(t, d, Config{}), newNode(t, d, Config{})
	first, err := b.Register(patient(t), "moves")
	check(t, err)
	to := first.ID()
	check(t, a.Send(patient(t), to, []byte("known")))
	m, err := first.Receive(patient(t))
	check(t, err)
	m.Release()
	check(t, first.Close())
	second, err := c.Register(patient(t), "moves")
	check(t, err)
	defer func() { check(t, second.Close()) }()

	sent, lost, kept := 0, 0, 0
	var count sync.WaitGroup
	count.Go(func() {
		for text := ""; text != "last"; kept++ {
			m, err := second.Receive(patient(t))
			check(t, err)
			text = string(m.Bytes())
			m.Release()
		}
	})
	for text := "plain"; ; {
		var undelivered *UndeliveredError
		switch err := a.Send(patient(t), to, []byte(text)); {
		case errors.As(err, &undelivered) && errors.Is(err, ErrNoService):
			lost += undelivered.Count
		case err != nil:
			t.Fatal(err)
		default:
			sent++
		}
		if text == "last" {
			break
		}
		if lost > 0 && sent > lost+10 {
			text = "last"
		}
	}
	count.Wait()
	until(t, a, "all that did not arrive were told, or are to be", func() bool {
		untold := 0
		if debt := a.office.route(to).debt; debt != nil { // a refusal that came after the last message
			untold = debt.Count
		}
		return lost > 0 && lost+kept+untold == sent
	})
}

func TestIdempotentMessagesAreSentAgain(t *testing.T) {
	d := newDirectory()
	a, b, c := newNode(t, d, Config{}), newNode(t, d, Config{}), newNode(t, d, Config{})
	from, err := a.Register(patient(t), "from")
	check(t, err)
	defer func() { check(t, from.Close()) }()
	first, err := b.Register(patient(t), "moves")
	check(t, err)
	r := Request{To: first.ID(), Items: [][]byte{[]byte("x")}, Idempotent: true}
	check(t, from.Post(patient(t), r))
	check(t, first.Close())
	second, err := c.Register(patient(t), "moves")
	check(t, err)
	check(t, from.Post(patient(t), r))
	m, err := second.Receive(patient(t))
	check(t, err)
	m.Release()
	check(t, second.Close())
}

// A handler whose answer cannot be sent has failed, and its caller hears so: nobody else would tell it.
func TestACallerHearsOfAnAnswerThatCannotBeSent(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "service")
	check(t, err)
	wide, err := b.Alloc(100)
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	handlers := map[string]Handler{
		"too large":    func(ctx context.Context, m *Message) error { return m.Answer(ctx, make([]byte, 1<<16)) },
		"a long error": func(context.Context, *Message) error { return errors.New(strings.Repeat("long ", 1<<14)) },
		"too wide a fill": func(ctx context.Context, m *Message) error {
			return m.AnswerWith(ctx, Reply{Fill: map[int]*Buffer{0: wide}})
		},
		"no such return": func(ctx context.Context, m *Message) error {
			return m.AnswerWith(ctx, Reply{Fill: map[int]*Buffer{1: wide}})
		},
		"Serve has ended": func(ctx context.Context, m *Message) error {
			cancel()
			return m.Answer(ctx)
		},
	}
	var done sync.WaitGroup
	done.Go(func() {
		check(t, s.Serve(ctx, 1, func(ctx context.Context, m *Message) error { return handlers[string(m.Bytes())](ctx, m) }))
	})
	narrow, err := a.Alloc(10)
	check(t, err)
	for _, what := range []string{"too large", "a long error", "too wide a fill", "no such return", "Serve has ended"} {
		_, err := a.Do(patient(t), Request{To: s.ID(), Items: [][]byte{[]byte(what)}, Return: []*Buffer{narrow}})
		if !errors.Is(err, ErrFailed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	done.Wait()
	narrow.Release()
	wide.Release()
	check(t, s.Close())
}

// An answer that is too large can be given long instead.
func TestAnAnswerThatIsTooLargeMayBeGivenOtherwise(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "service")
	check(t, err)
	var done sync.WaitGroup
	done.Go(func() {
		m, err := s.Receive(patient(t))
		check(t, err)
		defer m.Release()
		if err := m.Answer(patient(t), make([]byte, 1<<16)); !errors.Is(err, ErrTooLarge) || errors.Is(err, ErrLost) {
			t.Error(err)
		}
		check(t, m.Answer(patient(t), []byte("short")))
	})
	m, err := a.Call(patient(t), s.ID())
	check(t, err)
	if string(m.Bytes()) != "short" {
		t.Errorf("%q", m.Bytes())
	}
	m.Release()
	done.Wait()
	check(t, s.Close())
}

// again is a directory that says when somebody asks it a second time.
type again struct {
	*directory
	asked  atomic.Int64
	second func()
}

func (a *again) Find(ctx context.Context, id ID) ([]find.Record, error) {
	if a.asked.Add(1) == 2 {
		a.second()
	}
	return a.directory.Find(ctx, id)
}

// Who does not wait for all tries hears why the last one failed, not only that the time is up.
func TestWhoGivesUpHearsWhatWasInTheWay(t *testing.T) {
	ctx, cancel := context.WithCancel(patient(t))
	d := &again{directory: newDirectory(), second: cancel}
	_, err := d.Claim(ctx, find.Record{Service: Name("gone"), Name: "gone", Node: Name("gone"), At: []string{"unix:@nobody"}})
	check(t, err)
	_, err = newNode(t, nil, Config{Resolver: d}).Call(ctx, Name("gone"))
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrNoService) || !strings.Contains(err.Error(), "not reachable: no link to process") || !strings.Contains(err.Error(), "unix:@nobody") {
		t.Error(err)
	}
}

// A handler hears how long its caller waits, and works no longer.
func TestAHandlerHasItsCallersDeadline(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "slow")
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended, gaveUp := make(chan error, 1), make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		check(t, s.Serve(ctx, 1, func(ctx context.Context, m *Message) error {
			if string(m.Bytes()) == "wait" {
				<-ctx.Done()
				ended <- ctx.Err()
				<-gaveUp
			} else if at, ok := ctx.Deadline(); ok {
				t.Errorf("a deadline at %v, nobody has set one", at)
			}
			return nil
		}))
	})
	m, err := a.Call(context.Background(), s.ID(), []byte("hello")) // the way is known
	check(t, err)
	m.Release()
	hasty, stop := context.WithTimeout(patient(t), time.Second)
	defer stop()
	if _, err := a.Call(hasty, s.ID(), []byte("wait")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller: %v", err)
	}
	close(gaveUp)
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the handler: %v", err)
		}
	case <-patient(t).Done():
		t.Error("the handler has not heard of it")
	}
	cancel()
	done.Wait()
}

// served returns a service that has a handler, and a node that can call it.
func served(t *testing.T, handle Handler) (caller *Node, service ID) {
	t.Helper()
	d := newDirectory()
	caller, at := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := at.Register(patient(t), "service")
	check(t, err)
	var done sync.WaitGroup
	done.Go(func() { _ = s.Serve(context.Background(), 1, handle) })
	t.Cleanup(func() {
		check(t, s.Close())
		done.Wait()
	})
	return caller, s.ID()
}

// Whatever becomes of a handler, its caller hears of it, and the next one is served.
func TestACallerHearsOfAHandlerThatDoesNotReturn(t *testing.T) {
	a, service := served(t, func(_ context.Context, m *Message) error {
		if string(m.Bytes()) == "Goexit" {
			runtime.Goexit()
		}
		return (*find.TakenError)(nil)
	})
	for range 2 {
		for _, what := range []string{"Goexit", "nil pointer"} { // of which it cannot be asked what it means
			if _, err := a.Call(patient(t), service, []byte(what)); !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), what) {
				t.Errorf("the caller hears %v", err)
			}
		}
	}
}

// A handler may release a call before it returns, to have room for the next. Its caller is answered all the same.
func TestACallThatItsHandlerHasReleasedIsAnswered(t *testing.T) {
	a, service := served(t, func(_ context.Context, m *Message) error {
		m.Release()
		return nil
	})
	m, err := a.Call(patient(t), service)
	check(t, err)
	m.Release()
}

// That the time is over is one error, whoever notices it first: the caller, or the handler.
func TestATimeThatIsOverAtTheServiceIsAnErrorOfTheContexts(t *testing.T) {
	failure := fmt.Errorf("read: %w", context.DeadlineExceeded)
	a, service := served(t, func(context.Context, *Message) error { return failure })
	_, err := a.Call(patient(t), service)
	var failed *FailedError
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &failed) || failed.Text != failure.Error() {
		t.Errorf("the caller hears %v", err)
	}
	failure = fmt.Errorf("read: %w", context.Canceled) // it was not the caller who has done that
	if _, err = a.Call(patient(t), service); !errors.Is(err, ErrFailed) || errors.Is(err, context.Canceled) {
		t.Errorf("the caller hears %v", err)
	}
}

// panicOf returns what f panics with.
func panicOf(f func()) (what any) {
	defer func() { what = recover() }()
	f()
	return nil
}

// A panic of the loop that a handler happens to run while it waits, be it another node's, is not taken for the handler's: that node would
// live on, of no use, and its callers would wait.
func TestAPanicOfTheLoopIsNoHandlers(t *testing.T) {
	inner, err := newNIC()
	check(t, err)
	device, err := verbs.Open(inner)
	check(t, err)
	broken, err := Open(Config{Device: device})
	check(t, err)
	n := newNode(t, nil, Config{})
	s, err := n.Register(patient(t), "handled")
	check(t, err)
	check(t, n.Send(patient(t), s.ID()))
	m, err := s.receiveFor(patient(t), newHandling(patient(t)))
	check(t, err)
	what := panicOf(func() {
		_ = guard(m, func(context.Context, *Message) error { return broken.on(func() { panic("a bug of the machine's") }) })
	})
	if what != "a bug of the machine's" {
		t.Errorf("the panic is %v", what)
	}
	m.Release()
	if _, err := broken.Call(patient(t), s.ID()); err == nil || !strings.Contains(err.Error(), "has panicked") {
		t.Errorf("call: %v", err)
	}
	if err := broken.Close(); err == nil || !strings.Contains(err.Error(), "has panicked") {
		t.Errorf("close: %v", err)
	}
	check(t, device.Close())
	check(t, s.Close())
}

// A call costs five allocations without a handler: two operations, two messages, and who receives one. A handler adds a goroutine and a
// context, of two each, and nothing else.
func TestACallAllocatesLittle(t *testing.T) {
	caller, service := served(t, func(_ context.Context, m *Message) error { return m.Answer(context.Background(), m.Items()...) })
	text := make([]byte, 64)
	allocations := testing.AllocsPerRun(1000, func() {
		m, err := caller.Call(context.Background(), service, text)
		check(t, err)
		m.Release()
	})
	if allocations > 9 {
		t.Errorf("%v allocations for a call", allocations)
	}
}

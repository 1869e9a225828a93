package ripc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/ripc/find"
)

func ask(t testing.TB, n *Node, to, text string) {
	t.Helper()
	m, err := n.Call(patient(t), Name(to), []byte(text))
	check(t, err)
	if string(m.Bytes()) != text {
		t.Errorf("asked %q, was told %q", text, m.Bytes())
	}
	m.Release()
}

func TestAServiceAnswersWhereverItIs(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	echo(t, b, "echo")
	echo(t, a, "here")
	for i := range 200 {
		ask(t, a, "echo", fmt.Sprint("there ", i))
		ask(t, a, "here", fmt.Sprint("here ", i))
		ask(t, b, "here", fmt.Sprint("back ", i))
	}
}

func TestWithoutAResolverAProcessHasItself(t *testing.T) {
	n := newNode(t, nil, Config{})
	echo(t, n, "echo")
	ask(t, n, "echo", "hello")
	if _, err := n.Call(patient(t), Name("nobody")); !errors.Is(err, ErrNoService) {
		t.Errorf("a service that nobody has: %v", err)
	}
}

func TestAServiceThatNobodyHasIsAnErrorAtOnce(t *testing.T) {
	n := newNode(t, newDirectory(), Config{})
	if _, err := n.Call(patient(t), Name("nobody")); !errors.Is(err, ErrNoService) || !errors.Is(err, find.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := n.Send(patient(t), Name("nobody")); !errors.Is(err, ErrNoService) {
		t.Errorf("%v", err)
	}
}

func TestManyCallAtATime(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	for i := range 4 {
		echo(t, b, fmt.Sprint("echo/", i))
	}
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := range 100 {
				ask(t, a, fmt.Sprint("echo/", g%4), fmt.Sprint(g, i))
			}
		})
	}
	all.Wait()
}

// Both begin to talk at the same moment: there is one link in the end.
func TestTwoThatDialEachOther(t *testing.T) {
	for range 10 {
		d := newDirectory()
		a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
		echo(t, a, "a")
		echo(t, b, "b")
		var all sync.WaitGroup
		all.Go(func() { ask(t, a, "b", "from a") })
		all.Go(func() { ask(t, b, "a", "from b") })
		all.Wait()
		for _, n := range []*Node{a, b} {
			check(t, n.shared.Do(func() {
				if len(n.office.peers) != 1 || len(n.office.places) != 0 {
					t.Errorf("it knows %d processes", len(n.office.peers)+len(n.office.places))
				}
			}))
		}
	}
}

func TestAMessageKeepsItsItems(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	from, err := a.Register(patient(t), "from")
	check(t, err)
	to, err := b.Register(patient(t), "to")
	check(t, err)
	defer func() { check(t, from.Close()); check(t, to.Close()) }()
	large, err := a.Alloc(1000)
	check(t, err)
	defer large.Release()
	copy(large.Bytes(), bytes.Repeat([]byte("x"), 1000))
	check(t, from.Send(patient(t), to.ID(), []byte("small"), large.Bytes(), nil, large.Bytes()[:300]))
	m, err := to.Receive(patient(t))
	check(t, err)
	defer m.Release()
	if items := m.Items(); len(items) != 4 || string(items[0]) != "small" || !bytes.Equal(items[1], large.Bytes()) || len(items[2]) != 0 ||
		!bytes.Equal(items[3], large.Bytes()[:300]) || m.From() != from.ID() || m.IsCall() {
		t.Errorf("%d items from %v", len(items), m.From())
	}
	counts, err := a.Counts()
	check(t, err)
	if counts.Copied != uint64(len("from")+len("small")) { // its name was presented first
		t.Errorf("%d bytes were copied, only the small ones should be", counts.Copied)
	}
	if err := m.Answer(patient(t)); !errors.Is(err, ErrAnswered) {
		t.Errorf("an answer to nobody: %v", err)
	}
}

func TestAServiceMayFail(t *testing.T) {
	n := newNode(t, nil, Config{})
	s, err := n.Register(patient(t), "fails")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	var done sync.WaitGroup
	done.Go(func() {
		m, err := s.Receive(patient(t))
		check(t, err)
		check(t, m.Fail(patient(t), "no such key"))
		m.Release()
	})
	_, err = n.Call(patient(t), Name("fails"))
	var failed *FailedError
	if !errors.As(err, &failed) || failed.Text != "no such key" {
		t.Errorf("%v", err)
	}
	done.Wait()
}

// A service that was closed here and is registered there is found again, without an error.
func TestAServiceThatMovesIsFoundAgain(t *testing.T) {
	d := newDirectory()
	a, b, c := newNode(t, d, Config{}), newNode(t, d, Config{}), newNode(t, d, Config{})
	first := echo(t, b, "echo")
	ask(t, a, "echo", "before")
	check(t, first.Close())
	echo(t, c, "echo")
	ask(t, a, "echo", "after")
}

// A process that ends takes nothing with it that was not delivered.
func TestAProcessThatEndsIsReplaced(t *testing.T) {
	d := newDirectory()
	a, b, c := newNode(t, d, Config{}), newNode(t, d, Config{}), newNode(t, d, Config{})
	echo(t, b, "echo")
	ask(t, a, "echo", "before")
	check(t, b.Close())
	echo(t, c, "echo")
	m, err := a.Do(patient(t), Request{To: Name("echo"), Items: [][]byte{[]byte("after")}, Idempotent: true})
	check(t, err)
	m.Release()
}

func TestACallThatIsGivenUp(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "silent")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if _, err := a.Call(ctx, s.ID(), []byte("?")); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was cancelled: %v", err)
		}
	})
	m, err := s.Receive(patient(t))
	check(t, err)
	cancel()
	done.Wait()
	check(t, m.Answer(patient(t), []byte("too late")))
	m.Release()
	if _, err := s.Receive(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("receive with a context that has ended: %v", err)
	}
}

func TestCloseEndsWhoWaits(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "silent")
	check(t, err)
	var done sync.WaitGroup
	done.Go(func() {
		if _, err := s.Receive(patient(t)); !errors.Is(err, ErrClosed) {
			t.Errorf("receive: %v", err)
		}
	})
	done.Go(func() {
		for {
			if _, err := a.Call(patient(t), s.ID()); err != nil {
				return
			}
		}
	})
	check(t, b.Close())
	check(t, a.Close())
	done.Wait()
}

// A link that nobody uses is given up at both ends, and made anew when somebody does.
func TestIdleLinksAreGivenUp(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{Idle: 20 * time.Millisecond}), newNode(t, d, Config{})
	echo(t, b, "echo")
	for range 3 {
		ask(t, a, "echo", "hello")
		for links := 1; links > 0; {
			check(t, pause.For(patient(t), time.Millisecond))
			check(t, a.on(func() { links = len(a.office.everybody()) }))
		}
	}
}

// The parts of a message that was released belong to another one: it must not show them.
func TestAReleasedMessageHasNothing(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s := echo(t, b, "echo")
	first, err := a.Call(patient(t), s.ID(), []byte("first"))
	check(t, err)
	first.Release()
	second, err := a.Call(patient(t), s.ID(), []byte("second"))
	check(t, err)
	defer second.Release()
	if first.Bytes() != nil || len(first.Items()) != 0 || first.From() != s.ID() || string(second.Bytes()) != "second" {
		t.Errorf("%q of %v, then %q", first.Items(), first.From(), second.Bytes())
	}
}

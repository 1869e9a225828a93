package ripc

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/ripc/wire"
)

// waiting is a service whose handlers do nothing but wait for the end of their context.
type waiting struct {
	*Service
	begun  chan context.Context
	causes chan error
}

func newWaiting(t *testing.T, n *Node, name string) waiting {
	t.Helper()
	s, err := n.Register(patient(t), name)
	check(t, err)
	w := waiting{s, make(chan context.Context, 1), make(chan error, 1)}
	var done sync.WaitGroup
	done.Go(func() {
		_ = s.Serve(context.Background(), 2, func(ctx context.Context, _ *Message) error {
			w.begun <- ctx
			select {
			case <-ctx.Done():
			case <-patient(t).Done(): // the test has failed
			}
			w.causes <- context.Cause(ctx)
			return ctx.Err()
		})
	})
	t.Cleanup(func() {
		_ = n.Close()
		done.Wait()
	})
	return w
}

// expect waits for the end of a handler's context.
func (w *waiting) expect(t *testing.T, ctx context.Context, cause error) {
	t.Helper()
	select {
	case got := <-w.causes:
		if !errors.Is(got, cause) || !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("the context ended with %v, because of %v, want %v", ctx.Err(), got, cause)
		}
	case <-patient(t).Done():
		t.Fatalf("the handler does not hear of it: %v", cause)
	}
}

// A handler works as long as somebody waits for it, and no longer.
func TestAHandlersContextEndsWithItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(server, client *Node, cancel func())
		cause error
	}{
		"the caller gives up":  {func(_, _ *Node, cancel func()) { cancel() }, ErrCallerGaveUp},
		"the caller is closed": {func(_, client *Node, _ func()) { _ = client.Close() }, ErrCallerGone},
		"the node is closed":   {func(server, _ *Node, _ func()) { _ = server.Close() }, ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDirectory()
			server, client := newNode(t, d, Config{}), newNode(t, d, Config{})
			w := newWaiting(t, server, "waiting")
			ctx, cancel := context.WithCancel(patient(t))
			defer cancel()
			var all sync.WaitGroup
			all.Go(func() {
				if _, err := client.Call(ctx, w.ID()); err == nil || errors.Is(err, ErrFailed) {
					t.Errorf("the caller hears %v", err)
				}
			})
			handler := <-w.begun
			c.end(server, client, cancel)
			w.expect(t, handler, c.cause)
			all.Wait()
		})
	}
}

// A call to a service of one's own process is given up like any other. What follows on the link still arrives.
func TestACallIsGivenUpWithinAProcess(t *testing.T) {
	n := newNode(t, nil, Config{})
	echo(t, n, "echo")
	w := newWaiting(t, n, "waiting")
	for range 3 {
		ctx, cancel := context.WithCancel(patient(t))
		var all sync.WaitGroup
		all.Go(func() { _, _ = n.Call(ctx, w.ID()) })
		handler := <-w.begun
		cancel()
		w.expect(t, handler, ErrCallerGaveUp)
		all.Wait()
		ask(t, n, "echo", "still here")
	}
	until(t, n, "nothing is left of them", func() bool { return len(n.office.handled) == 0 })
}

// Nobody waits for what a send brings: its handler goes on when its sender is gone, and ends with the node.
func TestTheHandlerOfASendNeedsNoSender(t *testing.T) {
	d := newDirectory()
	server, client := newNode(t, d, Config{}), newNode(t, d, Config{})
	w := newWaiting(t, server, "waiting")
	check(t, client.Send(patient(t), w.ID()))
	handler := <-w.begun
	check(t, client.Close())
	until(t, server, "its sender is gone", unlinked(server))
	if handler.Err() != nil {
		t.Errorf("it ended with its sender: %v", context.Cause(handler))
	}
	check(t, server.Close())
	w.expect(t, handler, ErrClosed)
}

// A call that is given up before anybody has received it is not received at all.
func TestACallThatIsGivenUpInTheQueue(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "busy")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	ctx, cancel := context.WithCancel(patient(t))
	var all sync.WaitGroup
	all.Go(func() {
		_, err := a.Do(ctx, Request{To: s.ID(), Lend: []*Buffer{filled(t, a, 1000, "x")}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the caller hears %v", err)
		}
	})
	until(t, b, "it has come", func() bool { return !s.arrived.Empty() })
	cancel()
	all.Wait()
	until(t, b, "it is gone", s.arrived.Empty)
	check(t, a.Send(patient(t), s.ID(), []byte("the next")))
	m, err := s.Receive(patient(t))
	check(t, err)
	if string(m.Bytes()) != "the next" {
		t.Errorf("received was %q", m.Bytes())
	}
	m.Release()
}

// A caller that is killed says nothing. The service hears of it although nothing is under way to it.
func TestAHandlerHearsOfAKilledCaller(t *testing.T) {
	at := place("host " + filepath.Join(t.TempDir(), "weft"))
	n, closeAll, err := at.open()
	check(t, err)
	defer func() { check(t, closeAll()) }()
	w := newWaiting(t, n, "kv")
	caller := startChild(t, at)
	caller.command("call")
	handler := <-w.begun
	check(t, pause.For(patient(t), time.Second)) // nobody looks after the link any more who has done so since it was made
	check(t, caller.process.Kill())
	w.expect(t, handler, ErrCallerGone)
}

// A peer can give up its own calls, and no others: whatever number it names.
func TestNobodyGivesUpTheCallsOfOthers(t *testing.T) {
	d := newDirectory()
	server, client := newNode(t, d, Config{}), newNode(t, d, Config{})
	w := newWaiting(t, server, "waiting")
	ctx, cancel := context.WithCancel(patient(t))
	var all sync.WaitGroup
	all.Go(func() { _, _ = client.Call(ctx, w.ID()) })
	handler := <-w.begun
	marker, err := server.Register(patient(t), "marker")
	check(t, err)
	eve := newIntruder(t, nil)
	h := eve.hello()
	eve.link(server, h)
	send := wire.Head{Type: wire.Send, From: processID("", h.salt), To: marker.ID(), Number: 1}
	eve.say(&wire.Message{Head: send})
	check(t, server.on(func() {
		for c := range server.office.handled {
			send.Number = c.number
		}
	}))
	eve.say(&wire.Message{Head: wire.Head{Type: wire.GiveUp, To: w.ID(), Number: send.Number}})
	eve.say(&wire.Message{Head: send})
	for range 2 { // and what came between them
		m, err := marker.Receive(patient(t))
		check(t, err)
		m.Release()
	}
	if handler.Err() != nil {
		t.Errorf("a stranger has given it up: %v", context.Cause(handler))
	}
	cancel()
	w.expect(t, handler, ErrCallerGaveUp)
	all.Wait()
}

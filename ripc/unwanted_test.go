package ripc

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
)

// oneAtATime is a service whose handler says what it handles, and goes on when it is told to.
type oneAtATime struct {
	*Service
	begun, goOn chan string
	log         lockedText
}

func newOneAtATime(t *testing.T, d *directory) *oneAtATime {
	t.Helper()
	o := &oneAtATime{begun: make(chan string, 16), goOn: make(chan string)}
	n := newNode(t, d, Config{Log: slog.New(slog.NewTextHandler(&o.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	var err error
	o.Service, err = n.Register(patient(t), "busy")
	check(t, err)
	var done sync.WaitGroup
	done.Go(func() {
		_ = o.Serve(context.Background(), 1, func(ctx context.Context, m *Message) error {
			o.begun <- string(m.Bytes())
			<-o.goOn
			return ctx.Err()
		})
	})
	t.Cleanup(func() {
		_ = n.Close()
		done.Wait()
	})
	return o
}

// lines are those of the log that are about handlers and their answers.
func (o *oneAtATime) lines() (list []string) {
	for line := range strings.Lines(o.log.String()) {
		if strings.Contains(line, "handler") || strings.Contains(line, "answer") {
			list = append(list, line)
		}
	}
	return list
}

// isWaiting reports whether a call waits for its turn, beside the one that is handled.
func (o *oneAtATime) isWaiting(t *testing.T) (is bool) {
	check(t, o.node.on(func() { is = len(o.node.office.handled) == 2 }))
	return is
}

// leaveInTheQueue makes a call that waits for its turn until its time is over.
func (o *oneAtATime) leaveInTheQueue(t *testing.T, from *Node) {
	t.Helper()
	const patience = 50 * time.Millisecond
	for !o.isWaiting(t) { // the time of one may be over before it has come
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_, err := from.Call(ctx, o.ID(), []byte("late"))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("its caller hears %v", err)
		}
	}
	check(t, pause.For(patient(t), patience+2*time.Millisecond)) // it came before now
}

// A call whose time is over before its turn comes is not handled: nobody would get the answer. Nor is it worth more than a line in the log.
func TestACallThatWaitedForTooLongIsNotHandled(t *testing.T) {
	d := newDirectory()
	o, client := newOneAtATime(t, d), newNode(t, d, Config{})
	var all sync.WaitGroup
	call := func(text string) { // it fails by itself if it is not answered
		m, err := client.Call(patient(t), o.ID(), []byte(text))
		check(t, err)
		m.Release()
	}
	all.Go(func() { call("first") })
	<-o.begun
	o.leaveInTheQueue(t, client)
	o.goOn <- "first"
	all.Go(func() { call("last") })
	if what := <-o.begun; what != "last" {
		t.Errorf("%q was handled", what)
	}
	close(o.goOn)
	all.Wait()
	for _, line := range o.lines() {
		if !strings.Contains(line, "level=DEBUG") || !strings.Contains(line, errOverdue.Error()) {
			t.Errorf("it says %s", line)
		}
	}
}

// A caller that leaves costs a line for each of its calls, for those who want to know all, and the handler of none that waits.
func TestACallerThatLeavesIsNoNews(t *testing.T) {
	d := newDirectory()
	o, client := newOneAtATime(t, d), newNode(t, d, Config{})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { _, _ = client.Call(patient(t), o.ID()) })
	}
	<-o.begun
	until(t, o.node, "the other one waits", func() bool { return len(o.node.office.handled) == 2 })
	check(t, client.Close())
	all.Wait()
	until(t, o.node, "they are known to be gone", func() bool { return o.node.office.hub.Links() == 0 })
	close(o.goOn)
	until(t, o.node, "both have ended", func() bool { return len(o.node.office.handled) == 0 })
	if lines := o.lines(); len(lines) != 2 || strings.Count(strings.Join(lines, ""), "level=DEBUG") != 2 || len(o.begun) > 0 {
		t.Errorf("%d handlers more have begun, and it says %q", len(o.begun), lines)
	}
}

// A call that cannot be answered, because its caller is gone, says that, and nothing that contradicts it.
func TestAnAnswerToNobodySaysSo(t *testing.T) {
	d := newDirectory()
	server, client := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := server.Register(patient(t), "slow")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	var all sync.WaitGroup
	all.Go(func() { _, _ = client.Call(patient(t), s.ID()) })
	m, err := s.Receive(patient(t))
	check(t, err)
	defer m.Release()
	check(t, client.Close())
	all.Wait()
	until(t, server, "the caller is gone", func() bool { return server.office.hub.Links() == 0 })
	if err := m.Answer(patient(t)); !errors.Is(err, ErrCallerGone) || errors.Is(err, ErrLost) {
		t.Errorf("the answer: %v", err)
	}
}

// Who releases no answers hears that this is why nothing can be sent any more.
func TestWhoReleasesNothingHearsSo(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{MaxSlots: 64}), newNode(t, d, Config{})
	echo(t, b, "echo")
	for held := 0; held == 0; check(t, a.on(func() { held = a.office.hub.Held() })) {
		m, err := a.Call(patient(t), Name("echo"))
		check(t, err)
		defer m.Release()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := a.Call(ctx, Name("echo"))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "messages of this node were received and not released") {
		t.Error(err)
	}
}

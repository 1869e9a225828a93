package perftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/connect"
)

// A session of package connect is an Exchange: the steps of both sides fit.
func TestOverASession(t *testing.T) {
	listener, err := connect.Listen(t.Context(), fmt.Sprintf("unix:@weft-perftest-%d", os.Getpid()), connect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, devices := openDevices(t)
	served := make(chan error, 1)
	go func() {
		session, err := listener.Accept(context.Background())
		if err != nil {
			served <- err
			return
		}
		err = (&Server{Side{Device: devices[1], Exchange: session}}).Serve(context.Background())
		served <- errors.Join(err, session.Close())
	}()
	session, err := connect.Dial(t.Context(), listener.Address(), connect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	results := 0
	client := &Client{Side: Side{Device: devices[0], Exchange: session}, Plan: smallPlan(), Report: func(Result) { results++ }}
	err = client.Run(t.Context())
	if err := errors.Join(err, session.Close(), <-served, devices[0].Close(), devices[1].Close()); err != nil {
		t.Error(err)
	}
	if results != len(client.Plan.Runs()) {
		t.Errorf("%d results", results)
	}
}

// A server that is interrupted in the middle of a run tells the client, which ends with what it was told. One that is
// interrupted while both still meet cannot: then the next try comes later.
func TestInterruptedServer(t *testing.T) {
	for _, plan := range plansOfOne() {
		var err error
		for after := 20 * time.Millisecond; after < 2*time.Second; after *= 3 {
			if err = interruptServer(t, plan, after); !errors.Is(err, connect.ErrPeerGone) {
				break
			}
		}
		if !errors.Is(err, connect.ErrGaveUp) || !strings.HasSuffix(err.Error(), ": the peer gave up: somebody pressed a key") ||
			strings.Contains(err.Error(), "session") {
			t.Errorf("%v: the client ends with %v", plan.Runs()[0], err)
		}
	}
}

// interruptServer returns what the client of an interrupted server ends with.
func interruptServer(t *testing.T, plan Plan, after time.Duration) error {
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	begin := func(int, Run) { time.AfterFunc(after, interrupt) }
	return overSession(t, plan, begin, func(s *Server, session *connect.Session) error {
		if err := s.Serve(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: the server ends with %v", plan.Runs()[0], err)
		}
		return session.CloseWith(errors.New("somebody pressed a key"))
	})
}

// overSession measures over a session, with a server that does what serve says.
func overSession(t *testing.T, plan Plan, begin func(int, Run), serve func(*Server, *connect.Session) error) error {
	t.Helper()
	listener, err := connect.Listen(t.Context(), fmt.Sprintf("unix:@weft-perftest-%d", os.Getpid()), connect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, devices := openDevices(t)
	served := make(chan error, 1)
	go func() {
		session, err := listener.Accept(context.Background())
		if err == nil {
			err = serve(&Server{Side{Device: devices[1], Exchange: session}}, session)
		}
		served <- err
	}()
	session, err := connect.Dial(t.Context(), listener.Address(), connect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	client := &Client{Side: Side{Device: devices[0], Exchange: session}, Plan: plan, Begin: begin, Report: func(Result) {}}
	err = client.Run(t.Context())
	if err := errors.Join(session.Close(), <-served, devices[0].Close(), devices[1].Close()); err != nil {
		t.Error(err)
	}
	return err
}

// silent is an Exchange whose peer has gone without a word.
type silent struct{ given time.Duration }

func (s *silent) Swap(ctx context.Context, _ connect.Card) (connect.Card, error) {
	deadline, _ := ctx.Deadline()
	s.given = time.Until(deadline)
	return connect.Card{}, context.DeadlineExceeded
}

// A side that has failed does not wait for its peer as one that goes on does: the peer may be what has failed.
func TestFailureIsNotWaitedFor(t *testing.T) {
	for failed, most := range map[string]time.Duration{"": stepTime, "a write": failedTime} {
		var peer silent
		if _, err := (talk{&peer}).round(context.Background(), "done", note{Failed: failed}); err == nil {
			t.Error("a silent peer has answered")
		}
		if peer.given <= most/2 || peer.given > most {
			t.Errorf("failed %q: the peer is given %v, want %v", failed, peer.given, most)
		}
	}
}

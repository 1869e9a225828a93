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

// A server that is interrupted in the middle of a run tells the client, which ends with what it was told.
func TestInterruptedServer(t *testing.T) {
	for _, plan := range plansOfOne() {
		ctx, interrupt := context.WithCancel(context.Background())
		err := overSession(t, plan, func(int, Run) { time.AfterFunc(20*time.Millisecond, interrupt) }, func(s *Server, session *connect.Session) error {
			err := s.Serve(ctx)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v: the server ends with %v", plan.Runs()[0], err)
			}
			return session.CloseWith(errors.New("somebody pressed a key"))
		})
		if !errors.Is(err, connect.ErrGaveUp) || !strings.HasSuffix(err.Error(), ": the peer gave up: somebody pressed a key") ||
			strings.Contains(err.Error(), "session") {
			t.Errorf("%v: the client ends with %v", plan.Runs()[0], err)
		}
	}
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

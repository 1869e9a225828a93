package perftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

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

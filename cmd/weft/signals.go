package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// endingTime is after how long an ending that was asked for is worth a word.
const endingTime = 500 * time.Millisecond

// signalError is why a context has ended: a signal came.
type signalError struct{ number syscall.Signal }

func (e signalError) Error() string { return e.number.String() }

// untilSignal is a context that ends with the first Ctrl-C or SIGTERM. The second one ends the process, as the system
// does it. If the end takes long, errs hears of that. The returned function ends the watch.
func untilSignal(errs io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	came := make(chan os.Signal, 1)
	signal.Notify(came, os.Interrupt, syscall.SIGTERM)
	finished, watching := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case number := <-came:
			signal.Stop(came)
			cancel(signalError{number.(syscall.Signal)})
			sayIfLong(errs, finished)
		case <-finished:
		}
	}()
	return ctx, func() {
		close(finished)
		<-watching
		signal.Stop(came)
		cancel(nil)
	}
}

// sayIfLong tells whoever waits for an end what can be done.
func sayIfLong(errs io.Writer, finished <-chan struct{}) {
	select {
	case <-finished:
	case <-time.After(endingTime):
		fmt.Fprintln(errs, "weft: ending; a second Ctrl-C ends at once")
	}
}

// signalOf is the signal that has ended a context. What else may have ended it counts as Ctrl-C.
func signalOf(ctx context.Context) syscall.Signal {
	var signal signalError
	if errors.As(context.Cause(ctx), &signal) {
		return signal.number
	}
	return syscall.SIGINT
}

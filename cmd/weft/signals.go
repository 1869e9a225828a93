package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// endingTime is after how long an ending that was asked for is worth a word.
const endingTime = 500 * time.Millisecond

// signalError is why a context has ended: a signal came.
type signalError struct{ number syscall.Signal }

func (e signalError) Error() string { return e.number.String() }

// untilSignal is a context that ends with the first Ctrl-C or SIGTERM. The next one ends the process at once. If the end
// takes long, errs hears of that. The returned function ends the watch.
func untilSignal(errs io.Writer) (context.Context, func()) {
	i := &interrupted{}
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), interruptKey{}, i))
	came := make(chan os.Signal, 2)
	signal.Notify(came, os.Interrupt, syscall.SIGTERM)
	finished, watching := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watching)
		for {
			select {
			case number := <-came:
				if number == os.Interrupt && i.taken() {
					continue
				}
				cancel(signalError{number.(syscall.Signal)})
				if number != os.Interrupt {
					errs = io.Discard // nobody sits there who could do something, and it may be the log of a daemon
				}
				i.awaitEnd(errs, came, finished)
			case <-finished:
			}
			return
		}
	}()
	return ctx, func() {
		close(finished)
		<-watching
		signal.Stop(came)
		cancel(nil)
	}
}

// interrupted is what commands have to do with signals.
type interrupted struct {
	mu    sync.Mutex
	take  func() bool // uses a Ctrl-C for something else than the end
	leave func()      // is called before the process ends at once
}

type interruptKey struct{}

// onInterrupt has take asked, at every Ctrl-C, whether it is done with that: then the command goes on. The returned function ends it.
func onInterrupt(ctx context.Context, take func() bool) func() {
	i, ok := ctx.Value(interruptKey{}).(*interrupted)
	if !ok {
		return func() {}
	}
	i.set(func() { i.take = take })
	return func() { i.set(func() { i.take = nil }) }
}

// onExit has something be done before a signal ends the process at once. The returned function takes that back.
func onExit(ctx context.Context, leave func()) func() {
	i, ok := ctx.Value(interruptKey{}).(*interrupted)
	if !ok {
		return func() {}
	}
	i.set(func() { i.leave = leave })
	return func() { i.set(func() { i.leave = nil }) }
}

func (i *interrupted) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

// taken reports whether somebody has used a Ctrl-C for something else than the end.
func (i *interrupted) taken() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.take != nil && i.take()
}

// left is for somebody who ends the process at once.
func (i *interrupted) left() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.leave != nil {
		i.leave()
	}
}

// awaitEnd waits for an end that was asked for. Who waits for long is told what can be done, and may do it.
func (i *interrupted) awaitEnd(errs io.Writer, came <-chan os.Signal, finished <-chan struct{}) {
	long := time.After(endingTime)
	for {
		select {
		case <-finished:
			return
		case <-long:
			fmt.Fprintln(errs, "weft: ending; another Ctrl-C ends at once")
		case number := <-came:
			i.left()
			os.Exit(exitSignal + int(number.(syscall.Signal)))
		}
	}
}

// stoppedError is what was done, and what was not, when a signal came.
type stoppedError struct{ text string }

func (e stoppedError) Error() string { return "interrupted: " + e.text }

// ownError is of work that has failed by itself, though a signal came meanwhile.
type ownError struct{ error }

// orStopped is the error of some work; if it failed because a signal came, that says how much of it is done, and which files
// are not written for that.
func orStopped(ctx context.Context, err error, done string, files ...string) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if !errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)) {
		return ownError{err}
	}
	for _, file := range files {
		if file != "" {
			done += "; " + file + " was not written"
		}
	}
	return stoppedError{done}
}

// interruption is what is said of an error if a signal came.
func interruption(err error) string {
	var stopped stoppedError
	if errors.As(err, &stopped) {
		return stopped.Error()
	}
	return "interrupted"
}

// signalOf is the signal that has ended a context. What else may have ended it counts as Ctrl-C.
func signalOf(ctx context.Context) syscall.Signal {
	var signal signalError
	if errors.As(context.Cause(ctx), &signal) {
		return signal.number
	}
	return syscall.SIGINT
}

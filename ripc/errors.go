package ripc

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// What can go wrong. Ask with errors.Is.
var (
	// ErrNoService: nobody has the service, or it was not where it was looked for, again and again.
	ErrNoService = errors.New("no such service")
	// ErrUnreachable: the process that has the service cannot be linked with. The error says why.
	ErrUnreachable = errors.New("not reachable")
	// ErrLost: the link to the service ended while the message was on its way, or its answer: it may have been delivered, or
	// not. Messages marked Idempotent are sent again instead.
	ErrLost = link.ErrLost
	// ErrTooLarge: it does not fit into a short message. Lend it instead.
	ErrTooLarge = link.ErrTooLarge
	// ErrExpired: the peer did not give back in time what it was lent, or this end wanted to use it too late.
	ErrExpired = link.ErrExpired
	// ErrRefused: the service, or the process that it is in, did not take the message. The error says why.
	ErrRefused = errors.New("refused")
	// ErrFailed: the service has answered that it failed. The error is a *FailedError.
	ErrFailed = errors.New("the service failed")
	// ErrForbidden: the peer may not have the name that it claims.
	ErrForbidden = errors.New("forbidden")
	// ErrAnswered: the message was answered before, or is no call.
	ErrAnswered = errors.New("nobody waits for an answer")
	// ErrClosed: the node or the service was closed.
	ErrClosed = errors.New("closed")
	// ErrCallerGone: the process that has called is gone, or its link. It is why a handler's context has ended: see context.Cause.
	ErrCallerGone = errors.New("the caller is gone")
	// ErrCallerGaveUp: the caller has cancelled its call. It is why a handler's context has ended: see context.Cause.
	ErrCallerGaveUp = errors.New("the caller gave up")
	// ErrArgument: something is missing, malformed or out of range.
	ErrArgument = link.ErrArgument
)

// errNodeClosed is how everything ends that waits when the node is closed.
var errNodeClosed = fmt.Errorf("the node is %w", ErrClosed)

// FailedError is what a service answers when it fails.
type FailedError struct {
	Service ID
	Text    string // what it says

	timedOut bool
}

func (e *FailedError) Error() string { return fmt.Sprintf("%v: %v: %s", e.Service, ErrFailed, e.Text) }

// Is makes it an ErrFailed, and context.DeadlineExceeded if it is the service's time that was over: most often the caller's, who may
// hear of it from either end.
func (e *FailedError) Is(target error) bool {
	return target == ErrFailed || e.timedOut && target == context.DeadlineExceeded
}

// UndeliveredError says that messages, which were sent before and whose senders did not wait to hear of them, were not delivered,
// or that nobody knows. It is told once for each, by the next Send to the same service, which is not sent then.
type UndeliveredError struct {
	Service ID
	Count   int   // how many
	Why     error // of the first
}

func (e *UndeliveredError) Error() string {
	return fmt.Sprintf("%d earlier messages to %v were not delivered: %v", e.Count, e.Service, e.Why)
}

// Unwrap is why.
func (e *UndeliveredError) Unwrap() error { return e.Why }

// refusal is the error for a code.
func refusal(code wire.Code) error {
	switch code {
	case wire.NotHere, wire.Moved:
		return fmt.Errorf("%w: it is %v", ErrNoService, code)
	case wire.Forbidden:
		return ErrForbidden
	}
	return fmt.Errorf("%w: %v", ErrRefused, code)
}

// undelivered is the error of a message that the peer has refused, or that was lost.
func undelivered(why error) error {
	var refused *link.RefusedError
	if errors.As(why, &refused) {
		return refusal(refused.Code)
	}
	return why
}

package ripc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// What can go wrong. Ask with errors.Is.
var (
	// ErrNoService: nobody has the service, or it was not where it was looked for, again and again.
	ErrNoService = errors.New("no such service")
	// ErrUnreachable: the process that has the service cannot be linked with. The error says why.
	ErrUnreachable = errors.New("not reachable")
	// ErrLost: the link to the service ended while the message was on its way, or its answer, or the service has moved away from a
	// process that is silent: it may have been delivered, or not. Messages marked Idempotent are sent again instead.
	ErrLost = link.ErrLost
	// ErrTooLarge: it does not fit into a short message. Lend it instead.
	ErrTooLarge = link.ErrTooLarge
	// ErrExpired: the peer did not give back in time what it was lent, or this end wanted to use it too late.
	ErrExpired = link.ErrExpired
	// ErrRefused: the service, or the process that it is in, did not take the message. The error says why.
	ErrRefused = errors.New("refused")
	// ErrFailed: the service has answered that it failed. The error is a *FailedError.
	ErrFailed = errors.New("the service failed")
	// ErrNoLine: the service has answered the call that asks for a line, but has not accepted one: it knows nothing of lines.
	ErrNoLine = errors.New("it answers calls, but accepts no lines")
	// ErrForbidden: the peer may not have the name that it claims, or one of the two processes does not believe the other's
	// certificate. If it is this one that does not, the error also is keys.ErrUntrusted, keys.ErrExpired or keys.ErrNoIdentity.
	ErrForbidden = errors.New("forbidden")
	// ErrAnswered: the message was answered before, or is no call.
	ErrAnswered = errors.New("nobody waits for an answer")
	// ErrClosed: the node or the service was closed.
	ErrClosed = errors.New("closed")
	// ErrCallerGone: the process that has called is gone, or its link. It is why a call cannot be answered, and why a handler's context has
	// ended: see context.Cause.
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

func (e *FailedError) Error() string { return fmt.Sprintf("%s failed: %s", title(e.Service), e.Text) }

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
	return fmt.Sprintf("%d earlier messages to %s were not delivered, and this one was not sent: %v", e.Count, title(e.Service), e.Why)
}

// Unwrap is why.
func (e *UndeliveredError) Unwrap() error { return e.Why }

// absentError is that a service was not found: with why, if the resolvers know more than that.
type absentError struct{ why error }

func (e *absentError) Error() string {
	_, more, _ := strings.Cut(e.why.Error(), find.ErrNotFound.Error())
	return ErrNoService.Error() + more
}

// Unwrap is what it is.
func (e *absentError) Unwrap() []error { return []error{ErrNoService, e.why} }

// errNoResolver is why nobody else's service is found.
var errNoResolver = fmt.Errorf("%w: Config.Resolver is nil, so that only services of this node are found", find.ErrNotFound)

// about says what an error is about, unless it does so itself.
func about(what string, to ID, err error) error {
	if itself := (*UndeliveredError)(nil); errors.As(err, &itself) {
		return err
	}
	return fmt.Errorf("%s %s: %w", what, title(to), err)
}

// ended is the error of a context that has ended, with why if somebody has said so.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}

// refusal is the error for a code.
func refusal(code wire.Code) error {
	switch code {
	case wire.NotHere, wire.Moved:
		return fmt.Errorf("%w: the process where it was found says: %v", ErrNoService, code)
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

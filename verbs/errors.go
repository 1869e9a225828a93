package verbs

import (
	"errors"
	"fmt"
)

// What can be wrong with a call. Errors of this package wrap one of these, and say which thing it was about.
var (
	ErrClosed       = errors.New("closed")
	ErrInUse        = errors.New("still in use")
	ErrQueueFull    = errors.New("queue full")
	ErrState        = errors.New("wrong state")
	ErrLimit        = errors.New("over the device's limit")
	ErrBounds       = errors.New("out of bounds")
	ErrArgument     = errors.New("bad argument")
	ErrForeign      = errors.New("belongs to another device or domain")
	ErrNotSupported = errors.New("not supported by this device")
	// ErrProvider means that the provider broke its contract: a defect, never the program's fault.
	ErrProvider = errors.New("provider broke the driver contract")
)

// fail makes the error of one call: what it was about, which kind of wrong, and the values.
func fail(what any, kind error, format string, args ...any) error {
	return fmt.Errorf("%v: %s: %w", what, fmt.Sprintf(format, args...), kind)
}

// OpError is the error of an operation that completed with a Status other than OK.
type OpError struct {
	Op     Op
	Status Status
	Queue  uint32 // number of the queue pair
}

func (e *OpError) Error() string {
	return fmt.Sprintf("%v on queue pair %d: %v", e.Op, e.Queue, e.Status)
}

// Is makes errors.Is(err, verbs.ErrRefused) and its siblings work.
func (e *OpError) Is(target error) bool {
	switch target {
	case ErrRefused:
		return e.Status.Refused()
	case ErrFlushed:
		return e.Status == Flushed
	case ErrPeerGone:
		return e.Status == RetryExceeded
	}
	return false
}

// What an OpError can be asked for.
var (
	// ErrRefused: the target's permissions stopped the operation.
	ErrRefused = errors.New("refused by the target's permissions")
	// ErrFlushed: the operation was not carried out, because the queue pair was in Error or was reset.
	ErrFlushed = errors.New("flushed")
	// ErrPeerGone: the peer did not answer.
	ErrPeerGone = errors.New("the peer did not answer")
)

// CompletionError returns nil for a completion that ended OK, and an *OpError otherwise.
func CompletionError(c *Completion) error {
	if c.Status == OK {
		return nil
	}
	return &OpError{Op: c.Op, Status: c.Status, Queue: c.Queue}
}

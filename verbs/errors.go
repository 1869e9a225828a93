package verbs

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// What can be wrong with a call. Errors of this package wrap one of these, and say which thing it was about. Where a
// provider refuses for a reason that only it knows, its own error is wrapped.
var (
	ErrClosed   = driver.ErrClosed   // the object was closed, or its device has died
	ErrArgument = driver.ErrArgument // something is missing, malformed or out of range
	ErrLimit    = driver.ErrLimit    // the device cannot do so much, or has no more to give

	ErrNotSupported = driver.ErrNotSupported // the device cannot do that at all

	ErrInUse     = errors.New("still in use")
	ErrQueueFull = errors.New("queue full")
	ErrState     = errors.New("wrong state")
	ErrBounds    = errors.New("out of bounds")
	ErrForeign   = errors.New("belongs to another device or domain")
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
	if kind := e.kind(); kind != nil {
		return fmt.Sprintf("%v on queue pair %d: %v: %v", e.Op, e.Queue, e.Status, kind)
	}
	return fmt.Sprintf("%v on queue pair %d: %v", e.Op, e.Queue, e.Status)
}

// Is makes errors.Is(err, verbs.ErrRefused) and its siblings work.
func (e *OpError) Is(target error) bool { return target != nil && target == e.kind() }

// kind is the sentinel that the status belongs to, or nil.
func (e *OpError) kind() error {
	switch e.Status {
	case RemoteAccess, RemoteInvalid:
		return ErrRefused
	case Flushed:
		return ErrFlushed
	case RetryExceeded:
		return ErrPeerGone
	case ReceiverNotReady:
		return ErrReceiverNotReady
	}
	return nil
}

// What an OpError can be asked for.
var (
	// ErrRefused: the target did not let the operation in: its permissions forbid it, or a message was longer than the
	// receive that it met.
	ErrRefused = errors.New("refused by the target")
	// ErrFlushed: the operation was not carried out, because the queue pair was in Error or was reset.
	ErrFlushed = errors.New("flushed")
	// ErrPeerGone: the peer did not answer. It is for a request that was outstanding when the peer died; what is posted later is
	// flushed.
	ErrPeerGone = errors.New("the peer did not answer")
	// ErrReceiverNotReady: the peer posted no receive within QueueConfig.ReceiverWait.
	ErrReceiverNotReady = errors.New("the peer had no receive posted")
)

// CompletionError returns nil for no completion and for one that ended OK, and an *OpError otherwise.
func CompletionError(c *Completion) error {
	if c == nil || c.Status == OK {
		return nil
	}
	return &OpError{Op: c.Op, Status: c.Status, Queue: c.Queue}
}

package link

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// How what was given to a link may end.
var (
	// ErrNotSent: the message was not sent, and will not be. It may be sent again, or elsewhere.
	ErrNotSent = errors.New("the message was not sent")
	// ErrLost: the link ended while the message was on its way, or its answer. It may have been delivered, or not.
	ErrLost = errors.New("nobody knows whether the message was delivered")
	// ErrExpired: the peer did not give back what was lent in time; it was taken back.
	ErrExpired = errors.New("what was lent was not released in time, and was taken back")
	// ErrTooLarge: the message does not fit into a receive of the peer's. It can be sent long.
	ErrTooLarge = errors.New("too large for a short message")
	// ErrFull: there is no room for one more. It is for those who do not want to wait.
	ErrFull = errors.New("full")
	// ErrPeer: the peer has said what no end of ours would say. Its link is ended.
	ErrPeer = errors.New("the peer broke the protocol")
	// errPeerGone is how a link ends whose peer has left without a word.
	errPeerGone = errors.New("the peer is gone")
	// ErrClosed: the hub or the link was closed.
	ErrClosed = errors.New("closed")
	// ErrArgument: something is missing, or out of range.
	ErrArgument = errors.New("bad argument")
)

// goneError is errPeerGone, when it is a request of this end's that has failed by it. What the device says of that is nothing to whom it was
// to carry a message for, but errors.Is finds it, and a log may want it.
type goneError struct{ detail error }

func (e *goneError) Error() string { return errPeerGone.Error() }

func (e *goneError) Unwrap() []error { return []error{errPeerGone, e.detail} }

// Detailed is an error with what the device has said of it, for a log.
func Detailed(err error) error {
	if gone := (*goneError)(nil); errors.As(err, &gone) {
		return fmt.Errorf("%w: %w", err, gone.detail)
	}
	return err
}

// completionError is the error of a request that has failed, or nil.
func completionError(c *verbs.Completion) error {
	if c.Status == verbs.OK {
		return nil
	}
	err := verbs.CompletionError(c)
	if errors.Is(err, verbs.ErrFlushed) || errors.Is(err, verbs.ErrPeerGone) {
		return &goneError{err}
	}
	return err
}

// RefusedError is how a message ends that the peer has not handed to a service.
type RefusedError struct{ Code wire.Code }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the peer has refused the message: %v", e.Code)
}

package rdmc

import (
	"errors"
	"fmt"
)

// What can be wrong with a call. Errors of this package wrap one of these.
var (
	ErrArgument = errors.New("bad argument")
	ErrNotRoot  = errors.New("only the root, the first member, can send")
	ErrNotReady = errors.New("the group is not ready yet")
	ErrFull     = errors.New("too many messages wait to be sent")
	ErrEnded    = errors.New("the group has ended")
)

// Why a group ended. Failure.Cause wraps one of these.
var (
	ErrDied     = errors.New("died, or was cut off")
	ErrSilent   = errors.New("gave no sign of life")
	ErrLeft     = errors.New("closed its end of the group")
	ErrProtocol = errors.New("broke the protocol")
	ErrRejected = errors.New("sent a block that was rejected")
	ErrMemory   = errors.New("gave memory that cannot hold the message")
	ErrDevice   = errors.New("lost its device")
)

// Unknown is the rank of nobody in particular.
const Unknown = -1

// Failure is the end of a group.
type Failure struct {
	Group  string
	Rank   int    // who failed, or Unknown
	Member string // its name
	Cause  error
}

func (f *Failure) Error() string {
	if f.Rank == Unknown {
		return fmt.Sprintf("group %s ended: %v", f.Group, f.Cause)
	}
	return fmt.Sprintf("group %s ended: member %d (%s) %v", f.Group, f.Rank, f.Member, f.Cause)
}

func (f *Failure) Unwrap() error { return f.Cause }

// Told reports whether another member has told of it, and this one has seen nothing itself.
func (f *Failure) Told() bool {
	var t *told
	return errors.As(f.Cause, &t)
}

// because joins a cause that errors.Is knows with what happened.
func because(cause, why error) error {
	if why == nil {
		return cause
	}
	return fmt.Errorf("%w: %w", cause, why)
}

// told is a failure that another member told of.
type told struct {
	rank int
	name string
}

func (t *told) Error() string { return fmt.Sprintf("says member %d (%s)", t.rank, t.name) }

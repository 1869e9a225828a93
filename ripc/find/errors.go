package find

import (
	"errors"
	"fmt"
	"strings"
)

// What can go wrong. Errors of this package and of resolvers wrap one of these, or what the system or a context says.
var (
	// ErrNotFound: nobody has the service, as far as could be learned.
	ErrNotFound = errors.New("no such service is known")
	// ErrTaken: another process has the service. The error is a *TakenError.
	ErrTaken = errors.New("the name is taken")
	// ErrSuperseded: the claim ended, because another process has the service now. The error is a *SupersededError.
	ErrSuperseded = errors.New("another process has taken the service over")
	// ErrWithdrawn: the claim ended by Withdraw.
	ErrWithdrawn = errors.New("the claim was withdrawn")
	// ErrLost: the claim ended, because the resolver can vouch for it no longer: what it is written in is gone.
	ErrLost = errors.New("the claim is lost")
	// ErrClosed: the resolver or cache is closed; claims of a closed resolver end with it.
	ErrClosed = errors.New("closed")
	// ErrRecord: something is malformed or out of range in a record.
	ErrRecord = errors.New("not a record of a service")
)

// TakenError says who has a service that was claimed.
type TakenError struct {
	By Record // who has it
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("the name %s is taken: process %s at %s has it; stop it first, or take another name", e.By.Title(),
		e.By.Process(), strings.Join(e.By.At, " "))
}

// Is makes it an ErrTaken.
func (e *TakenError) Is(target error) bool { return target == ErrTaken }

// SupersededError says who has taken a service over.
type SupersededError struct {
	By Record // who has it now
}

func (e *SupersededError) Error() string {
	return fmt.Sprintf("%v: process %s at %s, epoch %d", ErrSuperseded, e.By.Process(), strings.Join(e.By.At, " "), e.By.Epoch)
}

// Is makes it an ErrSuperseded.
func (e *SupersededError) Is(target error) bool { return target == ErrSuperseded }

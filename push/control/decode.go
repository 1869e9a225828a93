package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Limits of what is decoded.
const (
	MaxText  = 16 << 20 // bytes of a request or an answer; the longest says what every member of a large group has
	maxItems = 1 << 17  // commas: bounds the memory that decoding takes, however short the things between them are
)

// ErrMalformed: what a peer says makes no sense, whatever its state is.
var ErrMalformed = errors.New("malformed")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// checker is what everything is that peers say: its Validate refuses what makes no sense, and makes texts that are for people only
// printable.
type checker interface{ Validate() error }

// All that is said can be checked.
var _ = []checker{
	(*Hello)(nil), (*Greeting)(nil), (*Open)(nil), (*Opened)(nil), (*Form)(nil), (*Formed)(nil), (*Connect)(nil), (*Begin)(nil), (*End)(nil),
	(*StatusRequest)(nil), (*Status)(nil), (*Pages)(nil), (*HaveRequest)(nil), (*Have)(nil), (*Finish)(nil), (*Finished)(nil), (*Abort)(nil),
	(*Empty)(nil), (*Answer[Empty])(nil),
}

// Decode reads and checks a request, or an answer as Answer[T], which must be all of the text. T must be one of the types of this package. Fields
// that it does not have are ignored: a program of the same Version may say more. The error is ErrMalformed.
func Decode[T any](text []byte) (*T, error) {
	if len(text) > MaxText || bytes.Count(text, []byte(",")) > maxItems {
		return nil, malformed("%d bytes are more than anybody has to say", len(text))
	}
	q := new(T)
	if err := json.Unmarshal(text, q); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if err := any(q).(checker).Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", nameOf(q), err)
	}
	return q, nil
}

// nameOf is how people see a type.
func nameOf(q any) string {
	name := fmt.Sprintf("%T", q)
	return strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], "]")
}

// Validate has the answer checked, or the trouble.
func (a *Answer[T]) Validate() error {
	if (a.OK == nil) == (a.Error == nil) {
		return malformed("an answer is something, or what went wrong, and not both")
	}
	if a.OK != nil {
		return any(a.OK).(checker).Validate()
	}
	a.Error.clean()
	return nil
}

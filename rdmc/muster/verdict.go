package muster

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

// maxReason bounds what is said of an error, in bytes.
const maxReason = 1024

// verdict tells all members how a step went here, and hears how it went there: nil if it went well everywhere. A member
// that fails does not leave the others waiting.
func (c *creation) verdict(ctx context.Context, step string, mine error) error {
	reason := []byte{}
	if mine != nil {
		reason = []byte(mine.Error())
		reason = reason[:min(len(reason), maxReason)]
	}
	notes := make([][]byte, c.mesh.Len())
	for i := range notes {
		notes[i] = reason
	}
	theirs, err := c.mesh.Exchange(ctx, step, notes)
	return inOneLine(mine, c.said(theirs), err)
}

// maxVoices is how many members are quoted. Most say the same in other words.
const maxVoices = 3

// said is what other members say went wrong there.
func (c *creation) said(reasons [][]byte) error {
	var errs []error
	for member, reason := range reasons {
		if len(reason) > 0 {
			errs = append(errs, fmt.Errorf("member %d (%s): %w: %s", member, c.mesh.Name(member), ErrElsewhere, printable(reason)))
		}
	}
	if more := len(errs) - maxVoices; more > 0 {
		errs = append(errs[:maxVoices], fmt.Errorf("and %w at %d more", ErrElsewhere, more))
	}
	return inOneLine(errs...)
}

// inOneLine joins errors.
func inOneLine(errs ...error) error {
	var joined error
	for _, err := range errs {
		switch {
		case joined == nil:
			joined = err
		case err != nil:
			joined = fmt.Errorf("%w; %w", joined, err)
		}
	}
	return joined
}

// printable is text from elsewhere as a terminal may show it.
func printable(text []byte) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text[:min(len(text), maxReason)]), "?"))
}

package muster

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/internal/cursor"
	"github.com/weft-fabric/weft/internal/printable"
)

// maxReason bounds what is said of an error, in bytes.
const maxReason = 1024

// verdict tells all members how a step went here, and hears how it went there: nil if it went well everywhere. A member
// that fails does not leave the others waiting.
func verdict(ctx context.Context, m *mesh.Mesh, step string, mine error) error {
	_, err := agree(ctx, m, step, 0, 0, mine)
	return err
}

// agree is a verdict after which all go on with the smallest of what they want to do next, which is at most most.
func agree(ctx context.Context, m *mesh.Mesh, step string, next, most int, mine error) (int, error) {
	note := encodeVerdict(next, mine)
	notes := make([][]byte, m.Len())
	for i := range notes {
		notes[i] = note
	}
	theirs, lost := m.Exchange(ctx, step, notes)
	errs := []error{mine}
	for member, note := range theirs {
		if member == m.Self() || !m.Has(member) || note == nil && lost != nil {
			continue
		}
		wanted, err := decodeVerdict(note, most)
		if next = min(next, wanted); err != nil {
			errs = append(errs, fmt.Errorf("member %d (%s): %w", member, m.Name(member), err))
		}
	}
	return next, inOneLine(append(few(errs), lost)...)
}

// encodeVerdict makes a note: what to do next, and what went wrong.
func encodeVerdict(next int, failure error) []byte {
	note := binary.BigEndian.AppendUint32(nil, uint32(next))
	if failure == nil {
		return note
	}
	return append(note, printable.Clean(failure.Error(), maxReason)...)
}

func decodeVerdict(note []byte, most int) (next int, err error) {
	c := cursor.New(note)
	if next = int(c.Uint32("what is next")); next > most {
		c.Fail("it wants to go on with %d, and %d is not done", next, most)
	}
	reason := c.Rest()
	switch {
	case c.Err() != nil:
		return 0, malformed(c.Err())
	case len(reason) > 0:
		return next, fmt.Errorf("%w: %s", ErrElsewhere, printable.Clean(string(reason), maxReason))
	}
	return next, nil
}

// maxVoices is how many members are quoted. Most say the same in other words.
const maxVoices = 3

// few is this member's error, which may be nil, and the first of the others'.
func few(errs []error) []error {
	if more := len(errs) - 1 - maxVoices; more > 0 {
		return append(errs[:1+maxVoices], fmt.Errorf("and %w at %d more", ErrElsewhere, more))
	}
	return errs
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

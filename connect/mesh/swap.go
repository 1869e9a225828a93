package mesh

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/connect"
)

// Swap gives each member its card of cards, by index, and returns theirs, when all members have called it with the same
// step: so it is a barrier too. Cards without a step take part; what stands at the own index is ignored. With an error it
// returns the cards of those with whom nothing went wrong.
func (m *Mesh) Swap(ctx context.Context, step string, cards []connect.Card) ([]connect.Card, error) {
	if err := m.checkStep(ctx, step, len(cards)); err != nil {
		return nil, err
	}
	for i := range cards {
		if len(cards[i].Note) > MaxNote {
			return nil, fmt.Errorf("mesh: step %q: a note of %d bytes for member %d, allowed are %d; Exchange takes more: %w", step,
				len(cards[i].Note), i, MaxNote, connect.ErrArgument)
		}
	}
	return m.swapAll(ctx, step, func(i int) connect.Card { return cards[i] })
}

// Barrier returns when all members have called it with the same step.
func (m *Mesh) Barrier(ctx context.Context, step string) error {
	if err := m.checkStep(ctx, step, len(m.sessions)); err != nil {
		return err
	}
	_, err := m.swapAll(ctx, step, func(int) connect.Card { return connect.Card{} })
	return err
}

// swapAll swaps one round with all members at once. An error with one leaves the others alone, so that those stay in step.
func (m *Mesh) swapAll(ctx context.Context, step string, card func(member int) connect.Card) ([]connect.Card, error) {
	theirs, errs := make([]connect.Card, len(m.sessions)), make([]error, len(m.sessions))
	m.each(func(i int) { theirs[i], errs[i] = swap(ctx, m.sessions[i], step, card(i)) })
	return theirs, gather(fmt.Sprintf("step %q", step), m.names, errs)
}

func (m *Mesh) checkStep(ctx context.Context, step string, n int) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("mesh: step %q: the context is nil: %w", step, connect.ErrArgument)
	case n != len(m.sessions):
		return fmt.Errorf("mesh: step %q: something for %d members, but there are %d: %w", step, n, len(m.sessions),
			connect.ErrArgument)
	}
	if err := checkWord("the step", step); err != nil {
		return fmt.Errorf("mesh: %w", err)
	}
	return nil
}

// The kinds of cards that members swap. Both look the same to package connect: a peer that is about to regroup must not
// end the session of one that does not know yet.
const (
	kindStep    = 0
	kindRegroup = 1
)

// swap swaps one card with one member.
func swap(ctx context.Context, s *connect.Session, step string, mine connect.Card) (connect.Card, error) {
	mine.Step, mine.Note = "", label(kindStep, step, mine.Note)
	theirs, err := s.Swap(ctx, mine)
	if err != nil {
		return connect.Card{}, err
	}
	kind, word, note, err := parseLabel(theirs.Note)
	switch {
	case err == nil && kind == kindRegroup:
		return connect.Card{}, ErrRegroup
	case err == nil && word != step:
		err = fmt.Errorf("%w: this member is at step %q, the peer at %q", connect.ErrOutOfStep, step, word)
	}
	if err != nil {
		_ = s.CloseWith(err)
		return connect.Card{}, err
	}
	theirs.Step, theirs.Note = step, note
	return theirs, nil
}

// label puts what a note is for in front of it.
func label(kind byte, step string, note []byte) []byte {
	b := append(make([]byte, 0, 2+len(step)+len(note)), kind, byte(len(step)))
	return append(append(b, step...), note...)
}

func parseLabel(b []byte) (kind byte, step string, note []byte, err error) {
	if len(b) < 2 || b[0] > kindRegroup || int(b[1]) > min(MaxName, len(b)-2) {
		return 0, "", nil, fmt.Errorf("%w: a note of %d bytes without a step", connect.ErrMalformed, len(b))
	}
	end := 2 + int(b[1])
	step = string(b[2:end])
	if checkWord("the step", step) != nil {
		return 0, "", nil, fmt.Errorf("%w: the step is %q", connect.ErrMalformed, step)
	}
	return b[0], step, b[end:], nil
}

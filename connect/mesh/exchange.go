package mesh

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/weft-fabric/weft/connect"
)

// Exchange gives each member its note of notes, by index, and returns theirs, as Swap does. A note has up to MaxExchange
// bytes: long ones take several rounds. Nil notes are a note of no bytes for everybody.
func (m *Mesh) Exchange(ctx context.Context, step string, notes [][]byte) ([][]byte, error) {
	if notes == nil {
		notes = make([][]byte, len(m.sessions))
	}
	if err := m.checkStep(ctx, step, len(notes)); err != nil {
		return nil, err
	}
	for i, note := range notes {
		if len(note) > MaxExchange {
			return nil, fmt.Errorf("mesh: step %q: %d bytes for member %d, allowed are %d: %w", step, len(note), i, MaxExchange,
				connect.ErrArgument)
		}
	}
	theirs, errs := make([][]byte, len(m.sessions)), make([]error, len(m.sessions))
	m.each(func(i int) { theirs[i], errs[i] = exchange(ctx, m.sessions[i], step, notes[i]) })
	return theirs, gather(fmt.Sprintf("step %q", step), m.names, errs)
}

// exchange swaps as many rounds as the longer of the two notes needs.
func exchange(ctx context.Context, s *connect.Session, step string, mine []byte) ([]byte, error) {
	var theirs parcel
	head := binary.BigEndian.AppendUint32(nil, uint32(len(mine)))
	for first := true; first || len(mine) > 0 || !theirs.complete(); first = false {
		piece := mine[:min(len(mine), maxPiece)]
		mine = mine[len(piece):]
		card, err := swap(ctx, s, step, connect.Card{Note: append(head, piece...)})
		if err != nil {
			return nil, err
		}
		if err := theirs.add(card.Note); err != nil {
			_ = s.CloseWith(err)
			return nil, err
		}
		head = nil
	}
	return theirs.note, nil
}

// maxPiece is how much of a note one round carries, beside the head of the first.
const maxPiece = MaxNote - headSize

// headSize is how long the length is that stands in front of the first piece.
const headSize = 4

// parcel is a note that arrives in pieces. Memory is taken as they come, not as they are announced.
type parcel struct {
	begun bool
	size  int
	note  []byte
}

func (p *parcel) complete() bool { return len(p.note) == p.size }

// add takes the next piece, which must be as long as it can be. Once all is here, only empty ones may follow.
func (p *parcel) add(piece []byte) error {
	if !p.begun {
		if len(piece) < headSize {
			return fmt.Errorf("%w: a first piece of %d bytes", connect.ErrMalformed, len(piece))
		}
		if n := binary.BigEndian.Uint32(piece); n > MaxExchange {
			return fmt.Errorf("%w: %d bytes announced, allowed are %d", connect.ErrMalformed, n, MaxExchange)
		}
		p.begun, p.size, piece = true, int(binary.BigEndian.Uint32(piece)), piece[headSize:]
	}
	if due := min(p.size-len(p.note), maxPiece); len(piece) != due {
		return fmt.Errorf("%w: a piece of %d bytes where %d were due", connect.ErrMalformed, len(piece), due)
	}
	p.note = append(p.note, piece...)
	return nil
}

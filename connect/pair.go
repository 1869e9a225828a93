package connect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
)

// joined is the step that ends a Join.
const joined = "joined"

// Join swaps cards and connects queue pairs: mine of each index with the peer's of the same. The addresses of mine are
// put in the card for the peer. When it returns nil, all queue pairs of both ends are Ready. It ends as Swap does, and
// any error but ErrArgument and ErrBusy ends the session; the peer is told why.
func (s *Session) Join(ctx context.Context, b *loop.Blocking, mine []*verbs.QueuePair, card Card) (Card, error) {
	if ctx == nil || b == nil {
		return Card{}, s.fail("join: the context or the blocking verbs are nil: %w", ErrArgument)
	}
	ctx, cancel := bound(ctx, s.timeout)
	defer cancel()
	card.Addresses = make([]verbs.Address, len(mine))
	for i, q := range mine {
		if q == nil {
			return Card{}, s.fail("join: queue pair %d is nil: %w", i, ErrArgument)
		}
		card.Addresses[i] = q.Address()
	}
	theirs, err := s.Swap(ctx, card)
	if err != nil {
		return Card{}, err
	}
	if err := Pair(ctx, b, mine, theirs.Addresses); err != nil {
		if why := s.overhear(); why != nil {
			err = fmt.Errorf("%w; %w", err, why)
		}
		_ = s.CloseWith(err)
		return Card{}, s.fail("join: %w", err)
	}
	_, err = s.Swap(ctx, Card{Step: joined})
	return theirs, err
}

// overhear returns the reason that the peer has given up with, if it is there already. Who fails second often fails
// because of who failed first.
func (s *Session) overhear() error {
	if !s.swapping.TryLock() {
		return nil
	}
	defer s.swapping.Unlock()
	_ = s.wire.conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := readCard(s.wire.conn, s.round+1); errors.Is(err, ErrGaveUp) {
		return err
	}
	return nil
}

// Pair connects each queue pair of mine with the peer's of the same index, all at once, and waits until all are Ready.
// The peer must do the same. The error names the first queue pair that failed. Threads with a loop each call it for
// their share of the addresses that one Swap has brought.
func Pair(ctx context.Context, b *loop.Blocking, mine []*verbs.QueuePair, theirs []verbs.Address) error {
	if ctx == nil || b == nil {
		return fmt.Errorf("pair: the context or the blocking verbs are nil: %w", ErrArgument)
	}
	if len(mine) != len(theirs) {
		return fmt.Errorf("pair: this end has %d queue pairs, the peer %d: %w", len(mine), len(theirs), ErrOutOfStep)
	}
	started := make([]*loop.Pending, len(mine))
	for i, q := range mine {
		var err error
		if started[i], err = b.Start(func(tag verbs.Tag) error { return q.Connect(tag, theirs[i]) }); err != nil {
			return fmt.Errorf("connect queue pair %d of %d: %w", i+1, len(mine), err)
		}
	}
	for i, pending := range started {
		if _, err := b.Wait(ctx, pending); err != nil {
			return fmt.Errorf("connect queue pair %d of %d: %w", i+1, len(mine), err)
		}
	}
	return nil
}

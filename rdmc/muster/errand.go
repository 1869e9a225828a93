package muster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/loop"
)

// onLoop has f run on a loop, and waits for it. If the context ends first, f will not run any more.
func onLoop(ctx context.Context, l *loop.Loop, f func() error) error {
	var taken atomic.Bool // by the loop, which runs f, or by us, who no longer want it
	done := make(chan error, 1)
	err := hand(ctx, l, func() {
		if !taken.Swap(true) {
			done <- f()
		}
	})
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		if taken.Swap(true) {
			return <-done
		}
		return fmt.Errorf("%w: the loop did not get to it; was it started? %w", ErrLate, context.Cause(ctx))
	}
}

// hand puts f into the loop's mailbox, when there is room.
func hand(ctx context.Context, l *loop.Loop, f func()) error {
	for {
		err := l.Do(f)
		if !errors.Is(err, loop.ErrFull) {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w: the loop's mailbox is full: %w", ErrLate, context.Cause(ctx))
		}
	}
}

// batch is how many groups are dealt with in one turn of the loop: few enough not to hold up others on it.
const batch = 32

// inTurns does something with each of things on a loop, and waits for it. It ends with the first error.
func inTurns[T any](ctx context.Context, l *loop.Loop, things []T, do func(T) error) error {
	for few := range slices.Chunk(things, batch) {
		err := onLoop(ctx, l, func() error {
			for _, thing := range few {
				if err := do(thing); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

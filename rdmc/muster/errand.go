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

// onLoop has f run on a loop, and waits for it. If the context ends first, or the loop, f will not run any more.
func onLoop(ctx context.Context, l *loop.Loop, f func() error) (result error) {
	var taken atomic.Bool // by the loop, which runs f, or by us, who no longer want it
	done := make(chan struct{})
	err := hand(ctx, l, func() {
		if !taken.Swap(true) {
			result = f()
			close(done)
		}
	})
	if err != nil {
		return err
	}
	if err := await(ctx, l, done, nil); err != nil && !taken.Swap(true) {
		return fmt.Errorf("the loop did not get to it; was it started? %w", err)
	}
	<-done
	return result
}

// glance is how often those who wait for a loop look whether there still is one.
const glance = 20 * time.Millisecond

// await waits until one of two channels is closed on a loop. The second may be nil.
func await(ctx context.Context, l *loop.Loop, one, two <-chan struct{}) error {
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for {
		select { // what has happened counts, even if the time is up
		case <-one:
			return nil
		case <-two:
			return nil
		default:
		}
		select {
		case <-one:
		case <-two:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrLate, context.Cause(ctx))
		case <-ticker.C:
			if err := ended(l); err != nil {
				return err
			}
		}
	}
}

// ended says why a loop has ended, if it has.
func ended(l *loop.Loop) error {
	if err := l.Do(func() {}); !errors.Is(err, loop.ErrFull) {
		return err
	}
	return nil
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

// batch is how many groups are dealt with in one turn of the loop: few enough not to hold up others on it. And so many are
// connected at once.
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

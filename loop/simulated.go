package loop

import (
	"context"
	"fmt"
)

// This file is Shared in a simulator, where one goroutine does everything and virtual time passes while it waits.

func (s *Shared) doSimulated(f func()) error {
	l := s.loop
	if err := s.seizeSimulated("do"); err != nil {
		return err
	}
	defer l.queue.Wake() // for timers that f has set, the simulator must ask again
	defer l.release()
	l.isStamped = false
	s.call(f)
	return l.queue.Flush()
}

func (s *Shared) awaitSimulated(ctx context.Context, e *Event) error {
	if err := s.seizeSimulated("await"); err != nil {
		return err
	}
	defer s.loop.release()
	if !e.set && ctx.Err() != nil {
		return gaveUp(ctx, "await")
	}
	if err := s.loop.inline(ctx, e.IsSet); err != nil {
		return fmt.Errorf("await: %w", err)
	}
	if !e.set {
		return gaveUp(ctx, "await")
	}
	return nil
}

func (s *Shared) seizeSimulated(what string) error {
	if s.isClosed {
		return fmt.Errorf("%s: %w", what, ErrClosed)
	}
	return s.loop.seize(what)
}

func (s *Shared) closeSimulated() error {
	if s.isClosed {
		return nil
	}
	if err := s.seizeSimulated("close"); err != nil {
		return err
	}
	s.isClosed = true
	s.loop.shared.Store(false)
	s.loop.release()
	return nil
}

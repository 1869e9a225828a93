package loop

import (
	"context"
	"fmt"
)

// This file is the part of the goroutine that runs a shared loop while it waits.

// drive runs the loop until e is set, ctx ends, or the loop does. Whoever drives in vain because somebody else does already
// was let through by ctx or the loop's end.
func (s *Shared) drive(ctx context.Context, e *Event) error {
	alarm := alarm{ctx: ctx}
	defer alarm.stop()
	for {
		switch {
		case e.set || s.isRelieved(e):
			return nil
		case s.isOver():
			return s.trouble("await")
		case alarm.rings():
			return gaveUp(ctx, "await")
		}
		if s.driver != e {
			s.driver = e
			s.counts.stints++
		}
		s.told = 0
		n, err := s.turn()
		if err != nil {
			return fmt.Errorf("await: %w", err)
		}
		if !e.set {
			s.pause(n, &alarm)
		}
	}
}

// isRelieved reports whether e is the caretaker's and somebody else wants to drive.
func (s *Shared) isRelieved(e *Event) bool {
	return e == &s.caretaker.event && s.followers.first != nil
}

// pause lets others have the lock before the next turn. If there was nothing to do it waits for completions.
func (s *Shared) pause(done int, alarm *alarm) {
	keepsTurning := s.loop.keepsTurning()
	shouldYield := keepsTurning && s.loop.shouldYield(done)
	switch {
	case done == 0 && !keepsTurning:
		s.sleep(alarm)
	case s.told > 0 || s.wanting.Load() > 0 || shouldYield:
		// Who was told something can run here and now: to be fetched by another core would take longer.
		s.mu.Unlock()
		s.loop.yield()
		s.mu.Lock()
	}
}

// sleep waits for completions, as the loop's policy says, without the lock.
func (s *Shared) sleep(alarm *alarm) {
	l := s.loop
	until, spin := l.Next(), l.spin()
	switch {
	case alarm.isSet():
	case spin > 0:
		until = min(until, l.Now().Add(min(spin, DefaultSpin)))
	default:
		alarm.set(s)
	}
	s.asleep, s.roused, s.until = true, false, until
	err := l.queue.WaitShared(&s.mu, until, spin)
	s.asleep = false
	_ = s.keep(err)
}

// rouse ends the driver's wait, if it waits.
func (s *Shared) rouse() {
	if s.asleep && !s.roused {
		s.roused = true
		s.counts.wakes++
		s.loop.queue.Wake()
	}
}

// retire ends an Await that holds the lock: the driver gives its part to another waiter.
func (s *Shared) retire(e *Event) {
	e.shared = nil
	if s.driver == e {
		s.driver = nil
	}
	if s.driver == nil {
		s.succeed()
	}
	s.unlock()
}

// succeed finds somebody to drive: one follower, who may find that another goroutine was faster; or the caretaker, if it does
// not look round by itself.
func (s *Shared) succeed() {
	switch {
	case s.isClosed:
		s.leave()
	case s.heir != nil:
	case s.followers.first != nil:
		s.heir = s.followers.first
		s.appoint(s.heir)
	case s.caretaker.parked:
		s.counts.rouses++
		s.caretaker.rouse()
	}
}

// leave tells Close that nobody drives any more.
func (s *Shared) leave() {
	select {
	case <-s.left:
	default:
		close(s.left)
	}
}

// alarm ends the driver's sleep when its context ends. It is set before the driver sleeps for the first time; while it spins it
// looks for itself, and mostly it need not do more.
type alarm struct {
	ctx    context.Context
	cancel func() bool
}

// isSet reports whether there is no need to set it (any more). A context may allocate its channel when it is first asked for it, which
// is not done for those who need not sleep.
func (a *alarm) isSet() bool { return a.cancel != nil || a.ctx.Done() == nil }

func (a *alarm) set(s *Shared) { a.cancel = context.AfterFunc(a.ctx, s.loop.queue.Wake) }

func (a *alarm) rings() bool { return a.ctx.Err() != nil }

func (a *alarm) stop() {
	if a.cancel != nil {
		a.cancel()
	}
}

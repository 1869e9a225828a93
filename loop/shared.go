package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs"
)

// Shared lets many goroutines use the machines of one loop, without a goroutine that runs it for them: whoever waits runs
// the loop. So a request that is posted by Do and waited for by Await is never handed from one goroutine to another, unless
// several wait at a time: then one of them drives, and the others follow until it has something for them, or leaves.
//
// While nobody waits, a caretaker of Shared's own runs the loop, beginning when nobody has for about a millisecond.
//
// In a simulator all of this is one goroutine's, the one that the simulation belongs to: Await lets virtual time pass, and
// between the calls the simulator steps the loop.
type Shared struct {
	loop      *Loop
	simulated bool         // a simulator steps the loop
	wanting   atomic.Int32 // goroutines that wait for mu

	mu        sync.Mutex // guards the loop, its machines, and everything down to the next blank line
	driver    *Event     // whose waiter runs the loop; nil: nobody does
	asleep    bool       // the driver waits for completions, and has given up mu meanwhile
	until     clock.Time // what it waits for at most
	roused    bool       // its wait has been ended
	followers events     // who waits for the driver
	heir      *Event     // the follower who was told to drive, and has not come yet
	told      int        // followers whose event was set since the driver last looked
	turning   bool       // a turn is under way, or a function of Do. What still is when mu is released has panicked
	isClosed  bool
	failure   error // why the loop cannot go on; nil: it can
	counts    counts
	caretaker caretaker

	left  chan struct{}  // closed when Close was called and nobody drives any more
	ended sync.WaitGroup // the caretaker's goroutine
}

// counts is what tests judge by.
type counts struct {
	stints  uint64 // times that somebody began to drive
	own     uint64 // of these, the caretaker's
	wakes   uint64 // calls that ended the driver's sleep
	signals uint64 // followers that were told something
	rouses  uint64 // of the caretaker's, by somebody else than its timer
}

// errPanicked is why a loop cannot go on after a panic: completions may be lost, machines may be in the middle of something, and
// somebody would wait for ever.
var errPanicked = errors.New("a machine, or a function given to Do, has panicked")

// NewShared shares a loop. From now on, until Close, it is used by Do and Await only: Loop.Do, Run, Start and blocking verbs
// fail with ErrBusy. It fails with ErrBusy if the loop is being run, and with verbs.ErrNotSupported if the device cannot
// wait for goroutines that share a queue.
func NewShared(l *Loop) (*Shared, error) {
	if l == nil {
		return nil, fmt.Errorf("share a loop: it is nil: %w", ErrArgument)
	}
	if !l.driven && !l.queue.CanShare() {
		return nil, fmt.Errorf("share a loop: its device cannot wait while others post: %w", verbs.ErrNotSupported)
	}
	if err := l.acquire("share a loop"); err != nil {
		return nil, err
	}
	s := &Shared{loop: l, simulated: l.driven, left: make(chan struct{})}
	s.caretaker.init()
	l.shared.Store(true)
	if s.simulated {
		l.release()
	} else {
		s.ended.Go(s.runCaretaker)
	}
	return s, nil
}

// Do runs f on the loop, in the calling goroutine: at once if nobody is in the middle of a turn, also while others wait in
// Await. What f stages is flushed before Do returns. It must not be called from a Step or from another f, of whatever loop,
// and fails with ErrBusy if it would wait for itself there; with ErrClosed after Close, and with what the loop has failed
// with. A panic of f ends the loop, as one of a machine does: everybody's Do and Await fail from then on.
func (s *Shared) Do(f func()) error {
	if f == nil {
		return fmt.Errorf("do: the function is nil: %w", ErrArgument)
	}
	if s.simulated {
		return s.doSimulated(f)
	}
	if err := s.lock("do"); err != nil {
		return err
	}
	defer s.unlock()
	if s.isOver() {
		return s.trouble("do")
	}
	s.loop.isStamped = false
	if s.loop.isPausing {
		s.loop.paused = s.loop.Now() // an answer may be on its way: who awaits it spins
	}
	s.call(f)
	return s.settle()
}

// call is apart so that InsideTurn finds it.
func (s *Shared) call(f func()) {
	s.turning = true
	f()
	s.turning = false
}

// settle hands over what f has staged. If somebody waits for completions, it also takes those that were there at once, because
// the waiter may not learn of them, and ends the wait only if there is a reason: to wake a sleeper takes microseconds.
func (s *Shared) settle() error {
	if !s.asleep {
		return s.keep(s.loop.queue.Flush())
	}
	const most = 4
	n := 1
	for i := 0; i < most && n > 0; i++ {
		var err error
		if n, err = s.turn(); err != nil {
			return err
		}
	}
	if n > 0 || s.loop.Next() < s.until {
		s.rouse()
	}
	return nil
}

// Await runs the loop, or waits while somebody else does, until e is set or ctx ends, and returns ctx's error in that case.
// What was done on the loop before e was set can be seen when it returns nil. Waiting may be taken up again, and an event
// that has happened is no longer waited for. It fails with ErrBusy if another goroutine awaits e, or as Do does, with
// ErrClosed when Shared is closed, and with what the loop has failed with.
func (s *Shared) Await(ctx context.Context, e *Event) error {
	if ctx == nil || e == nil {
		return fmt.Errorf("await: the context or the event is nil: %w", ErrArgument)
	}
	if s.simulated {
		return s.awaitSimulated(ctx, e)
	}
	if err := s.lock("await"); err != nil {
		return err
	}
	if e.shared != nil {
		s.unlock()
		return fmt.Errorf("await: another goroutine awaits the event: %w", ErrBusy)
	}
	e.shared = s
	for s.mustFollow(e) && ctx.Err() == nil {
		if s.follow(ctx, e) {
			return nil
		}
	}
	defer s.retire(e)
	return s.drive(ctx, e)
}

// mustFollow reports whether e's waiter can do nothing but wait for the driver.
func (s *Shared) mustFollow(e *Event) bool {
	return !e.set && s.driver != nil && !s.isOver()
}

// lock takes mu. Whoever has it already, because it calls from the middle of a turn, would wait for itself; but to find that
// out takes longer than many turns, and a driver that keeps turning gives mu away between two of them if somebody wants it.
func (s *Shared) lock(what string) error {
	if s.tryLock(64) {
		return nil
	}
	s.wanting.Add(1)
	defer s.wanting.Add(-1)
	if s.tryLock(1024) {
		return nil
	}
	if InsideTurn() {
		return fmt.Errorf("%s: %w", what, ErrBusy)
	}
	s.mu.Lock()
	return nil
}

// claim takes mu, and has the driver see that somebody wants it: one who always finds something to do does not let go of it otherwise.
func (s *Shared) claim() {
	s.wanting.Add(1)
	s.mu.Lock()
	s.wanting.Add(-1)
}

func (s *Shared) tryLock(times int) bool {
	for range times {
		if s.mu.TryLock() {
			return true
		}
	}
	return false
}

// unlock releases mu, also after a panic.
func (s *Shared) unlock() {
	if s.turning {
		s.turning = false
		_ = s.keep(errPanicked)
	}
	s.mu.Unlock()
}

// turn is a turn of the loop.
func (s *Shared) turn() (int, error) {
	s.turning = true
	n, err := s.loop.turn()
	s.turning = false
	return n, s.keep(err)
}

// keep notes that the loop cannot go on, and tells everybody.
func (s *Shared) keep(err error) error {
	if err != nil && s.failure == nil {
		s.failure = err
		s.dismissAll()
	}
	return err
}

// isOver reports whether nobody can use the loop any more.
func (s *Shared) isOver() bool { return s.isClosed || s.failure != nil }

// trouble says why it is over.
func (s *Shared) trouble(what string) error {
	if s.isClosed {
		return fmt.Errorf("%s: %w", what, ErrClosed)
	}
	return fmt.Errorf("%s: the loop had ended: %w", what, s.failure)
}

// Close ends sharing: whoever waits gets ErrClosed, the caretaker ends, and the loop is as it was before NewShared. It returns
// what the loop has failed with. It fails with ErrBusy from a Step or from a Do. A second Close does nothing.
func (s *Shared) Close() error {
	if s.simulated {
		return s.closeSimulated()
	}
	if err := s.lock("close"); err != nil {
		return err
	}
	first := !s.isClosed
	s.isClosed = true
	s.dismissAll()
	if s.driver == nil {
		s.leave()
	}
	failure := s.failure
	s.mu.Unlock()
	<-s.left
	s.ended.Wait()
	if !first {
		return nil
	}
	s.loop.shared.Store(false)
	s.loop.release()
	return failure
}

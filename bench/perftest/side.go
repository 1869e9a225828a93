package perftest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/verbs"
)

// Side is what a client or a server runs on.
type Side struct {
	Device   *verbs.Device
	Exchange Exchange
	// Served says that the target's processor does the NIC's work, as on TCP: whoever polls for memory or only lends it
	// must poll its queue as well. Where it is false the target of a one-sided operation sleeps.
	Served bool
	// Cores are those that the threads are bound to, in turn. None: the system chooses.
	Cores []int
	// Together says that both sides are in this process.
	Together bool
}

// farewellTime is how long an interrupted client waits for an orderly end.
const farewellTime = 2 * time.Second

// watchContext sets stop when ctx is done, and abort after a further time. Until then the returned context goes on, so
// that an interrupted side can still say good-bye. The returned function ends everything.
func watchContext(ctx context.Context, s *signals, further time.Duration) (late context.Context, end func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-ctx.Done():
		case <-late.Done():
			return
		}
		s.stop.Store(true)
		select {
		case <-time.After(further):
			cancel() // before anybody has ended, so that who has knows why
			s.abort.Store(true)
		case <-late.Done():
		}
	}()
	return late, func() { cancel(); <-watching }
}

// each runs work for every worker at the same time, each bound to its core, and waits for all. The first that fails
// ends the others.
func (s *Side) each(e *end, sig *signals, work func(i int, w *worker) error) error {
	var wait sync.WaitGroup
	failed := make([]error, len(e.workers))
	for i, w := range e.workers {
		wait.Go(func() {
			unbind, err := s.bind(i)
			if err == nil {
				w.bound = len(s.Cores) > 0
				err = work(i, w)
				unbind()
			}
			if failed[i] = err; err != nil {
				sig.abort.Store(true)
			}
		})
	}
	wait.Wait()
	return firstCause(failed)
}

// firstCause is the first error that is not merely the echo of another worker's.
func firstCause(failed []error) error {
	for _, err := range failed {
		if err != nil && !errors.Is(err, errAborted) {
			return err
		}
	}
	return failed[0]
}

// bind binds the calling goroutine to a thread, and that to a core, if there is a choice of cores.
func (s *Side) bind(i int) (unbind func(), err error) {
	if len(s.Cores) == 0 {
		return func() {}, nil
	}
	core := s.Cores[i%len(s.Cores)]
	runtime.LockOSThread()
	var before, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("read the cores of a thread: %w", err)
	}
	only.Set(core)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("bind to core %d: %w; is there such a core, and may this process use it?", core, err)
	}
	return func() {
		_ = unix.SchedSetaffinity(0, &before) // it was so before
		runtime.UnlockOSThread()
	}, nil
}

// processTime is the processor time that this process has used.
func processTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic("perftest: clock_gettime: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// ErrConnect is what both sides end with when their queue pairs do not reach each other. The exchange can still be used: for
// another try, on other devices.
var ErrConnect = errors.New("the queue pairs cannot be connected")

// join opens this side, and connects it with the other.
func (s *Side) join(ctx context.Context, plan *Plan, sig *signals) (*end, error) {
	e, failed := openEnd(s.Device, plan, sig)
	if failed != nil {
		_, _, err := talk{s.Exchange}.cards(ctx, connect.Card{Step: "connect"}, note{Failed: text(failed)})
		return nil, both(failed, err)
	}
	theirs, _, err := talk{s.Exchange}.cards(ctx, e.card(), note{})
	if err != nil {
		return nil, both(err, e.close())
	}
	failed = s.connect(e, theirs, sig)
	mine := note{Failed: text(failed), CutOff: failed != nil && !errors.Is(failed, errAborted)}
	heard, err := talk{s.Exchange}.round(ctx, "connected", mine)
	if failed != nil || err != nil {
		return nil, both(cutOff(mine, heard, both(failed, err)), e.close())
	}
	return e, nil
}

// cutOff makes ErrConnect of what both sides know, so that both end with it, or neither: if whoever failed was cut off.
func cutOff(mine, theirs note, err error) error {
	for _, n := range []note{mine, theirs} {
		if n.Failed != "" && !n.CutOff {
			return err
		}
	}
	if !mine.CutOff && !theirs.CutOff {
		return err // the exchange itself has failed
	}
	return fmt.Errorf("%w: %w", ErrConnect, err)
}

// connect connects the queue pairs, and has each carry a message in either direction: some NICs take themselves for
// connected before they have heard of each other.
func (s *Side) connect(e *end, theirs connect.Card, sig *signals) error {
	if err := e.connect(theirs, sig); err != nil {
		return err
	}
	return s.each(e, sig, func(_ int, w *worker) error {
		w.prepare(Run{Size: 1}, Hybrid, s.Served, sig)
		if err := w.connect(); err != nil {
			return err
		}
		return w.greet()
	})
}

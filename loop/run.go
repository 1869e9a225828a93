package loop

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/internal/yield"
)

// Waiting is how a loop waits when there is nothing to do. The zero value is Hybrid(DefaultSpin).
type Waiting struct {
	chosen bool
	spin   time.Duration
}

// DefaultSpin is about what it costs to wake a sleeping core. Spinning that long before sleeping is never more than
// twice as slow as the better choice of the two would have been.
const DefaultSpin = 50 * time.Microsecond

// Polling never sleeps: the lowest latency, for one core.
func Polling() Waiting { return Waiting{true, math.MaxInt64} }

// Sleeping sleeps at once when there is nothing to do.
func Sleeping() Waiting { return Waiting{true, 0} }

// Hybrid spins for a while after the last activity, then sleeps. RDMC (section 4.2) takes 50 ms. A loop that finds such
// spinning to be in vain, because many pauses are longer, sleeps at once until they get shorter.
func Hybrid(spin time.Duration) Waiting { return Waiting{true, spin} }

// Polls reports whether the loop never sleeps. One in virtual time always does.
func (l *Loop) Polls() bool { return l.config.Waiting.spin == math.MaxInt64 && !l.isVirtual }

func (w Waiting) duration() time.Duration {
	if !w.chosen {
		return DefaultSpin
	}
	return w.spin
}

// Run runs the loop in the calling goroutine until ctx is done, and returns nil then. It fails with ErrBusy if the loop
// is being run already, and with what the provider reports.
func (l *Loop) Run(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("run: the context is nil: %w", ErrArgument)
	}
	if err := l.acquire("run"); err != nil {
		return err
	}
	defer l.release()
	return l.inline(ctx, func() bool { return false })
}

// inline turns and waits until finished says so or ctx is done, which is no error here. The simulator does not call
// Turn meanwhile: waiting lets virtual time pass.
func (l *Loop) inline(ctx context.Context, finished func() bool) error {
	if l.driven {
		l.queue.Drive(nil)
		l.driven = false
		defer func() { l.driven = l.queue.Drive(l) }()
	}
	var stopped atomic.Bool
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() {
			stopped.Store(true)
			l.queue.Wake()
		})()
	}
	for {
		n, err := l.turn()
		if err != nil || finished() || stopped.Load() {
			return err
		}
		switch {
		case l.keepsTurning():
			if l.shouldYield(n) {
				l.yield()
			}
		case n == 0:
			if err := l.wait(); err != nil {
				return err
			}
		}
	}
}

func (l *Loop) wait() error {
	if !l.queue.CanWait() {
		runtime.Gosched()
		return nil
	}
	return l.queue.WaitUntil(l.Next(), l.spin())
}

// keepsTurning reports whether the loop turns again and again: it polls, and its completion queue, which would do that for it, does not
// look at what its Scanners look at.
func (l *Loop) keepsTurning() bool { return l.Polls() && l.Scans() }

// How many blank turns there are between two offers of the processor to other goroutines, and before a loop that keeps turning takes it
// that what it waits for may be waiting for its core.
const (
	blanksToYield = 64
	blanksToStay  = 512
)

// shouldYield counts a turn of a loop that keeps turning, and reports whether others should have the processor before the next one.
func (l *Loop) shouldYield(done int) bool {
	if l.blanks++; done > 0 {
		l.blanks = 0
	}
	return l.blanks%blanksToYield == blanksToYield-1
}

// yield lets others have the processor.
func (l *Loop) yield() {
	runtime.Gosched()
	if l.blanks > blanksToStay {
		yield.Core()
	}
}

// spin is how long to spin now before sleeping: the pause begins when it is first asked.
func (l *Loop) spin() time.Duration {
	spin := l.config.Waiting.duration()
	if spin == 0 || spin == math.MaxInt64 {
		return spin
	}
	if !l.isPausing {
		l.isPausing, l.paused = true, l.Now()
	}
	return max(0, l.hope.limit(spin)-l.Now().Sub(l.paused))
}

// learn ends the pause: there is something to do. Between two turns that both had something there was none.
func (l *Loop) learn() {
	var pause time.Duration
	if spin := l.config.Waiting.duration(); spin > DefaultSpin {
		if l.isPausing {
			pause = l.Now().Sub(l.paused)
		}
		l.hope.learn(pause, spin)
	}
	l.isPausing = false
}

// Start runs the loop in a goroutine of its own until Close. It fails with ErrBusy if the loop is being run already, and
// with Err if its goroutine has failed. In a simulator there is nothing to start: virtual time steps the loop.
func (l *Loop) Start() error {
	if err := l.Err(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if err := l.acquire("start"); err != nil {
		return err
	}
	if l.driven {
		l.release()
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.done.Add(1)
	go l.runOwn(ctx)
	return nil
}

// runOwn is the goroutine made by Start. Close stops it and waits for it.
func (l *Loop) runOwn(ctx context.Context) {
	defer l.done.Done()
	defer l.release()
	if err := l.inline(ctx, func() bool { return false }); err != nil {
		l.failure.Store(&err)
	}
}

// Close ends the loop: it stops the goroutine that Start made, waits for it, runs what Do has accepted by then, and
// returns what the goroutine failed with. While it runs that, Do fails with ErrFull: whoever hears ErrClosed knows that
// nothing runs any more. The completion queue stays open. It fails with ErrBusy while somebody else runs the loop, and from
// inside a turn: from a Step, a Scan or a function given to Do, of this loop or another. A second Close does nothing.
func (l *Loop) Close() error {
	if l.isClosed.Load() {
		return nil
	}
	if l.stop != nil {
		if InsideTurn() {
			return fmt.Errorf("close: %w", ErrBusy) // it would wait for itself
		}
		l.stop()
		l.done.Wait()
	}
	if err := l.acquire("close"); err != nil {
		return err
	}
	defer l.release()
	l.mailbox.close() // what Do has accepted is not lost
	l.isClosed.Store(true)
	l.queue.Detach()
	return l.Err()
}

// turnName and callName are the names of the functions that InsideTurn looks for.
var (
	turnName = runtime.FuncForPC(reflect.ValueOf((*Loop).turn).Pointer()).Name()
	callName = runtime.FuncForPC(reflect.ValueOf((*Shared).call).Pointer()).Name()
)

// InsideTurn reports whether the calling goroutine is in the middle of a loop's turn, or of a function that Shared.Do runs. Whoever
// recovers from a panic learns from it, in the deferred function that does, whether the panic came from there: then a machine is
// broken, and not the caller of Do or Await that happened to run the loop. It takes microseconds.
func InsideTurn() bool {
	callers := make([]uintptr, 256)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		frame, more := frames.Next()
		if frame.Function == turnName || frame.Function == callName {
			return true
		}
		if !more {
			return false
		}
	}
}

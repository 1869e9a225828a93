package perftest

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
)

// worker is one thread of a side: a completion queue and the pairs that report there. One goroutine at a time uses it.
type worker struct {
	end   *end
	queue *verbs.CompletionQueue
	pairs []*pair
	got   [64]verbs.Completion
	spin  time.Duration // how long waiting spins before it sleeps; math.MaxInt64: it never sleeps
	looks uint          // at memory or at an empty queue, since something was found
	bound bool          // to a core, by a thread of its own

	// Of the present run.
	run       Run
	signals   *signals
	pollEvery uint // how many looks at memory there are for one at the completion queue
	connected int
	farewells int // pairs whose peer has ended the run
}

// signals end a run early. Any goroutine may set them.
type signals struct {
	stop  atomic.Bool // end in good order: post nothing more
	abort atomic.Bool // end now
}

// errAborted is what a run ends with when it was told to end now.
var errAborted = errors.New("interrupted")

// patience is how many looks go by until a worker looks whether it should end, and offers its core to others.
const patience = 1024

// prepare sets the worker up for a run. Served says that the NIC's work is done by whoever polls, so that a look at
// memory must be a look at the queue as well.
func (w *worker) prepare(r Run, wait Wait, served bool, s *signals) {
	w.run, w.signals, w.farewells = r, s, 0
	w.pollEvery = patience
	if served {
		w.pollEvery = 1
	}
	w.spin = map[Wait]time.Duration{Polling: math.MaxInt64, Sleeping: 0, Hybrid: loop.DefaultSpin}[wait]
	for _, p := range w.pairs {
		p.prepare(r)
	}
}

// take polls completions, books them, and says how many there were; they stand in got.
func (w *worker) take() (int, error) {
	n, err := w.queue.Poll(w.got[:])
	if n > 0 {
		w.looks = 0
	}
	for i := range w.got[:n] {
		// Whatever was flushed was flushed because of something else, which says more.
		if failed := w.book(&w.got[i]); failed != nil && (err == nil || errors.Is(err, verbs.ErrFlushed)) {
			err = failed
		}
	}
	return n, err
}

func (w *worker) book(c *verbs.Completion) error {
	if c.Status != verbs.OK {
		return w.explain(c)
	}
	p := w.pairs[c.Tag]
	switch c.Op {
	case verbs.OpConnect:
		w.connected++
	case verbs.OpReceiveImm:
		w.farewells++
		return p.receiveAgain()
	case verbs.OpReceive, verbs.OpReceiveWriteImm:
		p.received++
		return p.receiveAgain()
	}
	return nil
}

// explain makes an error of a completion. A receive is flushed when the peer has closed its end, or has died.
func (w *worker) explain(c *verbs.Completion) error {
	if c.Status == verbs.Flushed {
		return fmt.Errorf("the peer has ended: the %v was %w", c.Op, verbs.ErrFlushed)
	}
	return verbs.CompletionError(c)
}

// idle waits for completions as the plan says. It may return early.
func (w *worker) idle() error {
	w.looks++
	if w.spin == math.MaxInt64 {
		return w.rest()
	}
	if w.signals.abort.Load() {
		return errAborted
	}
	const nap = 100 * time.Millisecond // until it looks whether it should end
	return w.queue.WaitUntil(clock.Real.Now().Add(nap), w.spin)
}

// watch waits between two looks at memory.
func (w *worker) watch() error {
	w.looks++
	if w.looks%w.pollEvery == 0 {
		if _, err := w.take(); err != nil {
			return err
		}
	}
	return w.rest()
}

// rest lets others run after many looks, and sees whether the run should end. A goroutine that is bound to a thread
// leaves that to the system: it would come back only after two threads have been woken.
func (w *worker) rest() error {
	if w.looks%patience != 0 {
		return nil
	}
	if w.signals.abort.Load() {
		return errAborted
	}
	if !w.bound {
		runtime.Gosched()
	}
	_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // the peer may wait for this core
	return nil
}

// takeOrIdle takes completions, or waits if there are none.
func (w *worker) takeOrIdle() (int, error) {
	n, err := w.take()
	if n == 0 && err == nil {
		err = w.idle()
	}
	return n, err
}

// makeRoom waits until p takes another request.
func (w *worker) makeRoom(p *pair) error {
	for p.queue.Room() == 0 {
		if _, err := w.takeOrIdle(); err != nil {
			return err
		}
	}
	return nil
}

// connect waits until all queue pairs are connected.
func (w *worker) connect() error {
	for w.connected < len(w.pairs) {
		if w.signals.stop.Load() {
			return errAborted
		}
		if _, err := w.takeOrIdle(); err != nil {
			return err
		}
	}
	return nil
}

// greet sends a first message by every pair, and waits for the peer's.
func (w *worker) greet() error {
	if err := w.farewell(); err != nil {
		return err
	}
	for w.farewells < len(w.pairs) {
		if w.signals.stop.Load() {
			return errAborted
		}
		if _, err := w.takeOrIdle(); err != nil {
			return err
		}
	}
	return nil
}

// post stages one message of the run.
func (w *worker) post(p *pair, flags verbs.Flags) error {
	p.posted++
	switch w.run.Operation {
	case Write:
		return p.queue.Write(p.tag, p.source, p.target, flags)
	case Read:
		return p.queue.Read(p.tag, p.source, p.target, flags)
	case Send:
		return p.queue.Send(p.tag, p.source, flags)
	case WriteImm:
		return p.queue.WriteImm(p.tag, p.source, p.target, 0, flags)
	case FetchAdd:
		return p.queue.FetchAdd(p.tag, p.source, p.target, 1, flags)
	}
	return p.queue.CompareSwap(p.tag, p.source, p.target, p.posted-1, p.posted, flags)
}

// drain waits until nothing is outstanding. The last request of every pair was not Quiet.
func (w *worker) drain() error {
	for _, p := range w.pairs {
		for p.queue.Room() < w.end.plan.Depth {
			if _, err := w.takeOrIdle(); err != nil {
				return err
			}
		}
	}
	return nil
}

// farewell tells the peer's worker that the run has ended: the one message of a run that has a number with it. A greeting
// is the same.
func (w *worker) farewell() error {
	for _, p := range w.pairs {
		if err := w.makeRoom(p); err != nil {
			return err
		}
		if err := p.queue.SendImm(p.tag, verbs.Span{}, 0, 0); err != nil {
			return err
		}
	}
	return w.drain()
}

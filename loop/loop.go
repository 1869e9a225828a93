package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs"
)

// Machine is a protocol, or a part of one: something of its own has ended, and it decides what to do next.
type Machine interface {
	// Step is called with a completion whose Tag came from the machine's Port. The completion is only valid during the
	// call.
	Step(c *verbs.Completion)
}

// Scanner is a Machine that also looks at words that peers write without notice.
type Scanner interface {
	// Scan is called every turn, and at least once every Config.ScanEvery; in a simulator when a peer has written. It reports whether
	// it has found something.
	Scan() (found bool)
}

// What can be wrong with a call.
var (
	// ErrBusy: somebody runs the loop already: another goroutine, or the very Step that made the call.
	ErrBusy = errors.New("the loop is being run, by another goroutine or by the caller of this Step")
	// ErrFull: the mailbox, or the table of machines, is full.
	ErrFull = errors.New("full")
	// ErrClosed: the loop was closed.
	ErrClosed = errors.New("the loop is closed")
	// ErrNoMachine: a completion carries a tag that no Port made, or whose machine was removed.
	ErrNoMachine = errors.New("a completion belongs to no machine")
	// ErrArgument: something is missing or out of range.
	ErrArgument = errors.New("bad argument")
)

// Config describes a loop. Only Completions is required.
type Config struct {
	Completions *verbs.CompletionQueue
	Waiting     Waiting       // how to wait when there is nothing to do; zero: hybrid with DefaultSpin
	ScanEvery   time.Duration // how long a loop with a Scanner sleeps at most; 0: 100 µs
	Batch       int           // completions taken at a time; 0: 64
	Mailbox     int           // functions handed over by Do and not yet run, at most; 0: 1024
}

func (c *Config) validate() error {
	if c.Completions == nil {
		return fmt.Errorf("new loop: Config.Completions is nil: %w", ErrArgument)
	}
	if c.ScanEvery < 0 || c.Batch < 0 || c.Mailbox < 0 || c.Waiting.spin < 0 {
		return fmt.Errorf("new loop: negative number in %+v: %w", *c, ErrArgument)
	}
	if c.ScanEvery == 0 {
		c.ScanEvery = 100 * time.Microsecond
	}
	if c.Batch == 0 {
		c.Batch = 64
	}
	if c.Mailbox == 0 {
		c.Mailbox = 1024
	}
	return nil
}

// Loop runs machines on one completion queue. Do and Err may be called from any goroutine at any time; the rest from
// machines and from whoever runs the loop.
type Loop struct {
	config Config
	queue  *verbs.CompletionQueue
	clock  clock.Clock
	now    clock.Time // of the present turn, if isStamped
	set    clock.Time // when a timer was last set
	paused clock.Time // since when there is nothing to do, if isPausing
	hope   hope       // whether it pays to spin

	isStamped bool // somebody has asked for the time in this turn
	isPausing bool // it has waited, or is about to
	isVirtual bool // the clock is not the machine's: to read it costs nothing
	unlooked  int  // turns since timers were looked for
	blanks    int  // turns of a loop that keeps turning, since there was something to do

	busy     atomic.Bool // somebody runs the loop
	isClosed atomic.Bool
	shared   atomic.Bool // there is a Shared
	driven   bool        // a simulator calls Turn

	broken   error              // what the present turn will fail with
	batch    []verbs.Completion // taken from the queue; grows to Config.Batch
	fired    verbs.Completion   // the timer that is being stepped with
	machines machines
	timers   timers
	mailbox  mailbox

	stop    context.CancelFunc // of the goroutine made by Start
	done    sync.WaitGroup
	failure atomic.Pointer[error] // of that goroutine; nil while it runs, and if it ended well

	// Where batch, machines and timers begin: a small loop needs no more, and finds it beside it.
	machineRoom [2]place
	timerRoom   [2]timer
	batchRoom   [8]verbs.Completion
}

// New makes a loop on a completion queue. It fails with ErrArgument if the queue is missing or a number negative, and with
// verbs.ErrInUse if the queue has a loop. In a simulator the loop is stepped by virtual time from now on.
func New(config Config) (*Loop, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	l := &Loop{config: config, queue: config.Completions, clock: config.Completions.Device().Clock()}
	l.isVirtual = l.clock != clock.Real
	l.mailbox.limit = config.Mailbox
	l.batch = l.batchRoom[:min(config.Batch, len(l.batchRoom))]
	l.machines.byOwner, l.timers.heap = l.machineRoom[:1], l.timerRoom[:0]
	var err error
	if l.driven, err = l.queue.Attach(l); err != nil {
		return nil, fmt.Errorf("new loop: %w", err)
	}
	return l, nil
}

// Now is the time of the present turn, in the device's clock: that of the first call in it. To read a clock takes as long as
// a message, so a turn in which nobody asks does without.
func (l *Loop) Now() clock.Time {
	if !l.isStamped {
		l.stamp()
	}
	return l.now
}

func (l *Loop) stamp() { l.now, l.isStamped = l.clock.Now(), true }

// Queue is the completion queue that the loop owns.
func (l *Loop) Queue() *verbs.CompletionQueue { return l.queue }

// Add gives a machine a Port on the loop. If it is also a Scanner it will scan. It is called before Start, from a Step, or
// by Do. It fails with ErrFull after MaxMachines.
func (l *Loop) Add(m Machine) (Port, error) {
	if m == nil {
		return Port{}, fmt.Errorf("add machine: it is nil: %w", ErrArgument)
	}
	owner, serial, err := l.machines.add(m)
	if err != nil {
		return Port{}, err
	}
	return Port{loop: l, owner: owner, serial: serial}, nil
}

// Turn does what there is to do, without waiting, and says how many completions, timers, handed-over functions and findings that
// were. It fails with ErrBusy if the loop is being run already.
func (l *Loop) Turn() (int, error) {
	if l.isClosed.Load() || !l.busy.CompareAndSwap(false, true) {
		return 0, l.refuse("turn")
	}
	defer l.release()
	return l.turn()
}

// acquire takes the loop, unless goroutines share it.
func (l *Loop) acquire(what string) error {
	if l.shared.Load() {
		return fmt.Errorf("%s: goroutines share the loop: %w", what, ErrBusy)
	}
	return l.seize(what)
}

func (l *Loop) seize(what string) error {
	if l.isClosed.Load() || !l.busy.CompareAndSwap(false, true) {
		return l.refuse(what)
	}
	return nil
}

// refuse says why the loop cannot be seized.
func (l *Loop) refuse(what string) error {
	if l.isClosed.Load() {
		return fmt.Errorf("%s: %w", what, ErrClosed)
	}
	return fmt.Errorf("%s: %w", what, ErrBusy)
}

func (l *Loop) release() { l.busy.Store(false) }

// turn hands over what completions have led to before it looks at anything else: what is to be sent waits for nobody.
func (l *Loop) turn() (int, error) {
	l.isStamped = false
	done := 0
	if l.mailbox.waiting.Load() > 0 {
		done = l.mailbox.run()
	}
	done += l.stepCompletions()
	if len(l.timers.heap)+len(l.machines.scanners) > 0 {
		l.flush()
		done += l.stepTimers(done > 0)
		if len(l.machines.scanners) > 0 {
			done += l.machines.scan()
		}
	}
	if err := l.queue.Flush(); err != nil {
		l.breaks(err)
	}
	if done > 0 && (l.isPausing || l.hope.pause > 0) {
		l.learn()
	}
	if l.broken != nil {
		return done, l.takeBroken()
	}
	return done, nil
}

func (l *Loop) flush() {
	if err := l.queue.Flush(); err != nil {
		l.breaks(err)
	}
}

// breaks keeps the first of the errors of a turn.
func (l *Loop) breaks(err error) {
	if l.broken == nil {
		l.broken = err
	}
}

func (l *Loop) takeBroken() error {
	err := l.broken
	l.broken = nil
	return err
}

// stepCompletions takes one batch: a busy queue must not keep timers and the mailbox waiting.
func (l *Loop) stepCompletions() int {
	n, err := l.queue.Poll(l.batch)
	if err != nil {
		l.breaks(err)
	}
	if n == 0 {
		return 0
	}
	batch := l.batch[:n]
	for i := range batch {
		c := &batch[i]
		m := l.machines.find(ownerOf(c.Tag))
		if m == nil {
			l.strand(c)
			continue
		}
		c.Tag &= valueMask
		m.Step(c)
	}
	if n == len(l.batch) && n < l.config.Batch {
		l.batch = make([]verbs.Completion, min(l.config.Batch, 4*n)) // an idle loop stays small
	}
	return n
}

// strand notes that a completion belongs to nobody.
func (l *Loop) strand(c *verbs.Completion) {
	l.breaks(fmt.Errorf("%v with tag %#x: %w", c.Op, uint64(c.Tag), ErrNoMachine))
}

// lookEvery is how many busy turns in which nobody asks for the time make one that looks for timers.
const lookEvery = 4

// stepTimers steps machines with the timers that have come. A loop that is busy, or polls, does not read the machine's clock for that
// in every turn: it takes as long as the rest of one. It does for timers that were set for at once, and before it sleeps.
func (l *Loop) stepTimers(isBusy bool) int {
	l.unlooked++
	if (isBusy || l.Polls()) && l.unlooked < lookEvery && l.timers.next() > l.set && !l.isStamped && !l.isVirtual {
		return 0
	}
	l.unlooked = 0
	if l.timers.next() > l.Now() {
		return 0
	}
	return l.fire()
}

func (l *Loop) fire() int {
	fired := 0
	for limit := l.timers.len(); fired < limit && l.timers.next() <= l.Now(); fired++ {
		tag := l.timers.pop()
		l.fired = verbs.Completion{Tag: tag & valueMask, Op: verbs.OpTimer}
		l.machines.find(ownerOf(tag)).Step(&l.fired) // it is there: a machine leaves with its timers
	}
	return fired
}

// Err says why the goroutine made by Start has ended by itself, or nil if it has not. Any goroutine may call it.
func (l *Loop) Err() error {
	if failure := l.failure.Load(); failure != nil {
		return fmt.Errorf("the loop had ended: %w", *failure)
	}
	return nil
}

// Next is when the loop wants a turn even if nothing happens.
func (l *Loop) Next() clock.Time {
	next := l.timers.next()
	if l.Scans() && !l.driven {
		next = min(next, l.Now().Add(l.config.ScanEvery))
	}
	return next
}

// Scans reports whether one of the machines is a Scanner.
func (l *Loop) Scans() bool { return l.machines.scanning > 0 }

// Do has f run on the loop, during its next turn. It may be called from any goroutine, and does not wait for f. It fails
// with ErrFull if the mailbox is full, or Close is just emptying it, ErrClosed after that, with Err if the loop's goroutine
// has failed, and with ErrBusy on a loop that goroutines share: Shared has a Do of its own.
func (l *Loop) Do(f func()) error {
	if f == nil {
		return fmt.Errorf("do: the function is nil: %w", ErrArgument)
	}
	if l.isClosed.Load() {
		return fmt.Errorf("do: %w", ErrClosed)
	}
	if l.shared.Load() {
		return fmt.Errorf("do: goroutines share the loop: %w", ErrBusy)
	}
	if err := l.Err(); err != nil {
		return fmt.Errorf("do: %w", err)
	}
	if err := l.mailbox.put(f); err != nil {
		return err
	}
	l.queue.Wake()
	return nil
}

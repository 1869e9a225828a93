package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

var (
	// ErrCrashed is what objects of a crashed node answer.
	ErrCrashed = fmt.Errorf("node has crashed: %w", driver.ErrClosed)
	// ErrDeadlock means that somebody waits for ever and nothing is left that could happen.
	ErrDeadlock = errors.New("nothing can ever happen: deadlock")
	// ErrInside means that time was to be advanced from inside an event, such as a loop's turn.
	ErrInside = errors.New("virtual time cannot be advanced from inside an event")
	// ErrLimit means that RunUntil's moment has come before its condition was true.
	ErrLimit = errors.New("the condition did not come true in time")
)

// Fabric is a simulated network with its nodes. It belongs to one goroutine; only Wake of its completion queues may be
// called by others.
type Fabric struct {
	config Config
	delay  delays
	random *rand.Rand // all of chance; whoever draws must do so in the order of events

	now    clock.Time // never goes back
	number uint64     // of the latest event that was planned
	count  uint64     // events that did something
	hash   uint64
	err    error // the first error of a turn; nothing happens after it
	inside bool  // an event is being carried out
	ahead  bool  // it is large: see ahead.go

	// Two queues make one order: number runs through both. The ends of flows' messages stand in network.finish, because
	// they move when shares change; everything else stands in events, where nothing moves.
	events  queue
	network network

	nodes    []*node
	names    map[string]*node     // for look-up only, never iterated
	cut      bool                 // there is a partition
	uplink   []uint32             // resource of each rack towards the spine; nil: full bisection
	downlink []uint32             // and back
	links    map[[2]uint32]uint32 // resource of each slow link, by the two nodes; for look-up only

	// What events and requests name by number; 0 names nothing. See slots.go.
	pairs      []*queuePair
	freePairs  []uint32 // slots of pairs that nothing names, the latest last
	queues     []*completionQueue
	freeQueues []uint32 // slots of queues that are closed, the latest last
	requests   slab[request]
	spans      slab[spanList]
	payloads   slab[payload]
	controls   slab[control]
	calls      slab[func()]

	wakes wakeList // the only thing that other goroutines touch
}

// wakeList collects the completion queues that were woken, by whatever goroutine, until the fabric looks.
type wakeList struct {
	some   atomic.Bool
	mu     sync.Mutex
	queues []*completionQueue // each once
}

// New makes a fabric without nodes, at time 0. It fails with driver.ErrArgument if a field of the configuration makes no
// sense, and says which.
func New(config Config) (*Fabric, error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, driver.ErrArgument)
	}
	config.setDefaults()
	f := &Fabric{
		config: config,
		delay:  config.Costs.delays(),
		random: rand.New(rand.NewPCG(config.Seed, 0x57656674)),
		names:  make(map[string]*node),
		links:  make(map[[2]uint32]uint32),
		pairs:  []*queuePair{nil},
		queues: []*completionQueue{nil},
	}
	f.network.order = func() uint64 { return f.order(evPump) }
	if config.Uplink > 0 && config.Racks > 1 {
		rate := bytesPerNanosecond(config.Uplink)
		for range config.Racks {
			f.uplink = append(f.uplink, f.network.addResource(rate))
			f.downlink = append(f.downlink, f.network.addResource(rate))
		}
	}
	return f, nil
}

// Now is the virtual time.
func (f *Fabric) Now() clock.Time { return f.now }

// Events is how many events did something so far.
func (f *Fabric) Events() uint64 { return f.count }

// Err is the first error that a driven loop's turn returned. Nothing happens after it: Step, Run, RunUntil and Wait
// return it at once, for every node. A loop that fails is a failed test, and to go on would only bury the cause.
func (f *Fabric) Err() error { return f.err }

// ClearErr lets the others go on after a turn has failed, from where the fabric stands. The loop that failed gets turns
// again, too, and will most likely fail again: Crash its node or close its loop first. Without an error it does nothing.
func (f *Fabric) ClearErr() { f.err = nil }

// At calls do at t, or now if t has passed. At clock.Never, or if do is nil, it does nothing. It is how fault plans are
// written.
func (f *Fabric) At(t clock.Time, do func()) {
	if t == clock.Never || do == nil {
		return
	}
	i := f.calls.take()
	*f.calls.at(i) = do
	f.plan(max(t, f.now), evCall, i, 0)
}

// Step lets the next event happen. It reports false if there was none. It fails with Err if a turn has failed, now or
// before, and with ErrInside from inside an event.
func (f *Fabric) Step() (bool, error) {
	if f.inside {
		return false, fmt.Errorf("sim: Step: %w", ErrInside)
	}
	defer f.leave()
	more := f.step(clock.Never)
	return more, f.err
}

// Run lets everything happen up to, and including, the moment until. Until clock.Never it ends when nothing is left; a
// moment that has passed changes nothing. It fails with Err if a turn has failed, now or before, and with ErrInside from
// inside an event.
func (f *Fabric) Run(until clock.Time) error {
	if f.inside {
		return fmt.Errorf("sim: Run: %w", ErrInside)
	}
	defer f.leave()
	for f.step(until) {
	}
	if f.err == nil && until != clock.Never {
		f.now = max(f.now, until)
	}
	return f.err
}

// RunUntil lets events happen until done says true; it asks before the first and after each. It fails with ErrLimit if
// that is not by limit; with ErrDeadlock if limit is clock.Never and nothing is left that could happen; with Err if a turn
// has failed, now or before; with ErrInside from inside an event; and with driver.ErrArgument if done is nil.
func (f *Fabric) RunUntil(done func() bool, limit clock.Time) error {
	switch {
	case f.inside:
		return fmt.Errorf("sim: RunUntil: %w", ErrInside)
	case done == nil:
		return fmt.Errorf("sim: RunUntil: the condition is nil: %w", driver.ErrArgument)
	}
	defer f.leave()
	for !done() {
		if f.step(limit) {
			continue
		}
		switch {
		case f.err != nil:
			return f.err
		case limit == clock.Never:
			return fmt.Errorf("sim: at %v: %w", f.now, ErrDeadlock)
		}
		f.now = max(f.now, limit)
		return fmt.Errorf("sim: at %v: %w", f.now, ErrLimit)
	}
	return f.err
}

// order numbers the next event.
func (f *Fabric) order(k kind) uint64 {
	f.number++
	return f.number<<kindBits | uint64(k)
}

// after is the moment d from now. What would be after the end of time is at Never, and so does not happen.
func (f *Fabric) after(d clock.Time) clock.Time { return f.now.Add(time.Duration(d)) }

// plan makes an event happen at a moment; at Never it does not.
func (f *Fabric) plan(at clock.Time, k kind, index, gen uint32) {
	if at == clock.Never {
		return
	}
	if at < f.now {
		panic(fmt.Sprintf("sim: event of kind %d planned for %v, and it is %v", k, at, f.now))
	}
	f.events.push(event{at: at, order: f.order(k), index: index, gen: gen})
}

// step lets the next event that does something happen, if it comes by until.
func (f *Fabric) step(until clock.Time) bool {
	for f.err == nil {
		f.takeWakes()
		e, isFinish, ok := f.peek(until)
		// Shares are computed once an instant, when all its joins and leaves are known.
		if len(f.network.dirty) > 0 && (!ok || e.at > f.now) {
			f.network.reshare(f.now)
			continue
		}
		if !ok || e.at > until || e.at == clock.Never {
			return false
		}
		f.now = e.at
		f.inside = true
		did := true
		if isFinish {
			f.finished(e.index)
		} else {
			f.events.pop()
			if f.ahead {
				f.lookAhead()
			}
			did = f.handle(&e)
		}
		f.inside = false
		if did {
			f.count++
			return f.err == nil
		}
	}
	return false
}

// leave is deferred by whatever lets time pass: a program that recovers from a panic of its own is not inside an event
// any more. It is not deferred for each event, where it would cost time.
func (f *Fabric) leave() { f.inside = false }

// peek returns the next event, if there is one by until, and whether it is the end of a flow's message.
func (f *Fabric) peek(until clock.Time) (e event, isFinish, ok bool) {
	finish := f.network.finish
	if len(finish) > 0 {
		until = min(until, finish[0].at)
	}
	if len(f.network.dirty) > 0 {
		until = min(until, f.now) // more flows will finish
	}
	first := f.events.peek(until)
	switch {
	case first == nil && len(finish) == 0:
		return e, false, false
	case first == nil, len(finish) > 0 && finish[0].before(first):
		return finish[0], true, true
	}
	return *first, false, true
}

// handle carries an event out. It reports false if the event was void.
func (f *Fabric) handle(e *event) bool {
	switch e.kind() {
	case evArrive:
		return f.stepArrive(e.index)
	case evTurn:
		return f.queues[e.index].stepTurn(e.gen)
	case evControl:
		return f.stepControl(e.index)
	case evCall:
		return f.stepCall(e.index)
	}
	q := f.pairs[e.index]
	did := q.step(e.kind(), e.gen)
	q.unpin()
	return did
}

// step carries out an event of the queue pair.
func (q *queuePair) step(k kind, gen uint32) bool {
	switch k {
	case evPump:
		return q.stepPump(gen)
	case evDrain:
		return q.stepDrain()
	case evNotReady:
		return q.stepNotReady(gen)
	case evSilence:
		return q.stepSilence(gen)
	case evGone:
		return q.stepGone(gen)
	case evHello:
		return q.stepHello(gen)
	case evGiveUp:
		return q.stepGiveUp(gen)
	}
	panic(fmt.Sprintf("sim: event of unknown kind %d for queue pair slot %d", k, q.index))
}

// stepCall lets the program do something, such as a fault of its plan. The number is free again before: do may call At.
func (f *Fabric) stepCall(i uint32) bool {
	do := *f.calls.at(i)
	*f.calls.at(i) = nil
	f.calls.give(i)
	do()
	return true
}

// jitter is how much longer a message travels than its latency.
func (f *Fabric) jitter(latency clock.Time) clock.Time {
	if f.config.Jitter == 0 {
		return 0
	}
	return clock.Time(float64(latency) * f.config.Jitter * f.random.Float64())
}

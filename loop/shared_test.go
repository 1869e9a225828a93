package loop

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs"
)

// office is a shared loop on the fake, with a machine that sets the event whose number is the tag.
type office struct {
	*Shared
	t      *testing.T
	rig    *rig
	port   Port
	events []Event
	done   []chan error // of the goroutines that await them
}

func newOffice(t *testing.T, config Config) *office {
	t.Helper()
	o := &office{t: t, rig: newRig(t, config), events: make([]Event, 8), done: make([]chan error, 8)}
	var err error
	o.port, err = o.rig.Add(o)
	check(t, err)
	o.Shared, err = NewShared(o.rig.Loop)
	check(t, err)
	t.Cleanup(func() { check(t, o.Close()) })
	return o
}

func (o *office) Step(c *verbs.Completion) { o.events[c.Tag].Set() }

// complete makes a completion that sets event i. It is called on the loop.
func (o *office) complete(i int) { o.rig.complete(o.t, o.port.Tag(uint64(i))) }

// arrive makes a completion as a peer would: whoever waits for completions is woken.
func (o *office) arrive(i int) {
	o.mu.Lock()
	o.complete(i)
	o.mu.Unlock()
	o.rig.fake.Wake()
}

// await begins to await event i in a goroutine of its own, and returns when that waits.
func (o *office) await(ctx context.Context, i int) {
	o.t.Helper()
	o.done[i] = make(chan error, 1)
	go func() { o.done[i] <- o.Await(ctx, &o.events[i]) }()
	o.eventually(func() bool { return o.drives(i) || o.events[i].role == following })
}

// drives reports whether the waiter of event i sleeps as the driver.
func (o *office) drives(i int) bool { return o.driver == &o.events[i] && o.asleep }

// eventually waits until the condition holds, which is looked at under the lock.
func (o *office) eventually(holds func() bool) {
	o.t.Helper()
	for range 10_000 {
		o.mu.Lock()
		good := holds()
		o.mu.Unlock()
		if good {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
	o.t.Fatal("it does not happen")
}

// counted returns how often others were called during f.
func (o *office) counted(f func()) counts {
	o.mu.Lock()
	before := o.counts
	o.mu.Unlock()
	f()
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.counts
	return counts{c.stints - before.stints, c.own - before.own, c.wakes - before.wakes, c.signals - before.signals, c.rouses - before.rouses}
}

// ended says how the goroutine that awaits event i has ended.
func (o *office) ended(i int, want error) {
	o.t.Helper()
	if err := <-o.done[i]; !errors.Is(err, want) {
		o.t.Errorf("await %d: %v, want %v", i, err, want)
	}
}

func TestASharedLoopIsBusyForOthers(t *testing.T) {
	o := newOffice(t, Config{})
	l := o.rig.Loop
	_, blocking := NewBlocking(l)
	_, again := NewShared(l)
	_, turn := l.Turn()
	for what, err := range map[string]error{"Do": l.Do(func() {}), "Run": l.Run(t.Context()), "Start": l.Start(),
		"NewBlocking": blocking, "NewShared": again, "Turn": turn, "Close": l.Close()} {
		if !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v, want ErrBusy", what, err)
		}
	}
	check(t, o.Close())
	check(t, l.Do(func() {}))
	if _, err := l.Turn(); err != nil {
		t.Errorf("turn when it is no longer shared: %v", err)
	}
}

func TestSharedNamesWhatIsMissing(t *testing.T) {
	o := newOffice(t, Config{})
	_, none := NewShared(nil)
	var noContext context.Context
	for what, err := range map[string]error{"no loop": none, "no function": o.Do(nil), "no context": o.Await(noContext, &o.events[0]),
		"no event": o.Await(t.Context(), nil)} {
		if !errors.Is(err, ErrArgument) {
			t.Errorf("%s: %v, want ErrArgument", what, err)
		}
	}
}

func TestWhoAwaitsRunsTheLoop(t *testing.T) {
	o := newOffice(t, Config{})
	check(t, o.Do(func() { o.complete(1) }))
	check(t, o.Await(context.Background(), &o.events[1]))
	o.events[1].Reset()
	o.await(context.Background(), 1)
	o.arrive(1)
	o.ended(1, nil)
}

// ask is the first half of a round of a ping-pong: the answer comes while who awaits it sleeps.
func (o *office) ask() {
	o.events[0].Reset()
	o.rig.fake.waits = o.rig.fake.waits[:0]
	o.port.After(time.Microsecond, 0)
}

// A ping-pong wakes nobody: neither another goroutine, nor who waits for the answer, by a detour. Only the caretaker, should
// it drive because this goroutine was kept from that for a while, is sent away each time.
func TestAPingPongWakesNobody(t *testing.T) {
	const rounds = 1000
	o := newOffice(t, Config{})
	ask := o.ask
	c := o.counted(func() {
		for range rounds {
			check(t, o.Do(ask))
			check(t, o.Await(context.Background(), &o.events[0]))
		}
	})
	if c.wakes > c.own || c.signals > c.own || c.rouses > 0 {
		t.Errorf("somebody was called: %+v", c)
	}
}

func TestDoRunsWhileTheDriverSleeps(t *testing.T) {
	o := newOffice(t, Config{})
	o.await(context.Background(), 0)
	ran := false
	c := o.counted(func() { check(t, o.Do(func() { ran = true; o.complete(1) })) })
	if !ran || c != (counts{}) {
		t.Errorf("the function ran: %v; somebody was called: %+v", ran, c)
	}
	o.mu.Lock()
	if !o.events[1].set || !o.drives(0) {
		t.Error("Do took no completion, or the driver woke")
	}
	o.mu.Unlock()
	o.arrive(0)
	o.ended(0, nil)
}

// What ends inside Do reaches the driver that sleeps, though nobody rings for it.
func TestDoWakesTheDriverWhoseEventItSets(t *testing.T) {
	o := newOffice(t, Config{})
	o.await(context.Background(), 0)
	if c := o.counted(func() { check(t, o.Do(func() { o.complete(0) })) }); c.wakes != 1 {
		t.Errorf("calls: %+v", c)
	}
	o.ended(0, nil)
}

func TestDoWakesTheDriverForAnEarlierTimerOnly(t *testing.T) {
	o := newOffice(t, Config{})
	o.await(context.Background(), 0)
	o.mu.Lock()
	o.until = 5000 // what it was told
	o.mu.Unlock()
	if c := o.counted(func() { check(t, o.Do(func() { o.port.After(time.Second, 1) })) }); c.wakes != 0 {
		t.Errorf("a later timer: %+v", c)
	}
	if c := o.counted(func() { check(t, o.Do(func() { o.port.After(1, 0) })) }); c.wakes != 1 {
		t.Errorf("an earlier timer: %+v", c)
	}
	o.ended(0, nil)
}

// A machine that always has something to do does not keep the goroutine that calls Do for ever.
func TestDoLeavesTheRestToTheDriver(t *testing.T) {
	o := newOffice(t, Config{})
	o.await(context.Background(), 0)
	left, port := 100, Port{}
	m := recorder{then: func() {
		if left--; left > 0 {
			o.rig.complete(t, port.Tag(0))
		} else {
			o.events[0].Set()
		}
	}}
	check(t, o.Do(func() {
		var err error
		port, err = o.rig.Add(&m)
		check(t, err)
		o.rig.complete(t, port.Tag(0))
	}))
	o.ended(0, nil)
}

func TestADriverHandsOverToOneFollower(t *testing.T) {
	o := newOffice(t, Config{})
	for i := range 4 {
		o.await(context.Background(), i)
	}
	for i := range 2 {
		if c := o.counted(func() { o.arrive(i); o.ended(i, nil); o.eventually(func() bool { return o.drives(i + 1) }) }); c.signals != 1 {
			t.Errorf("driver %d left, and there were %+v", i, c)
		}
	}
	if c := o.counted(func() { o.arrive(3); o.ended(3, nil) }); c.signals != 1 || c.stints != 0 {
		t.Errorf("a follower's event was set, and there were %+v", c)
	}
	o.arrive(2)
	o.ended(2, nil)
}

func TestADriverWhoseContextEndsHandsOver(t *testing.T) {
	o := newOffice(t, Config{Waiting: Sleeping()})
	ctx, cancel := context.WithCancel(context.Background())
	o.await(ctx, 0)
	o.await(context.Background(), 1)
	cancel()
	o.ended(0, context.Canceled)
	o.eventually(func() bool { return o.drives(1) })
	o.arrive(1)
	o.ended(1, nil)
}

func TestAFollowerWhoseContextEndsLeaves(t *testing.T) {
	o := newOffice(t, Config{})
	o.await(context.Background(), 0)
	ctx, cancel := context.WithCancel(context.Background())
	o.await(ctx, 1)
	o.await(context.Background(), 2)
	cancel()
	o.ended(1, context.Canceled)
	check(t, o.Do(func() { o.complete(1) })) // nobody waits for it
	o.arrive(2)
	o.ended(2, nil)
	o.arrive(0)
	o.ended(0, nil)
	if err := o.Await(ctx, &o.events[1]); err != nil {
		t.Errorf("await what has happened, when the context has ended: %v", err)
	}
	if err := o.Await(ctx, &o.events[3]); !errors.Is(err, context.Canceled) {
		t.Errorf("await with a context that has ended: %v", err)
	}
}

func TestCloseEndsEveryWait(t *testing.T) {
	o := newOffice(t, Config{})
	for i := range 4 {
		o.await(context.Background(), i)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { check(t, o.Close()) })
	}
	both.Wait()
	for i := range 4 {
		o.ended(i, ErrClosed)
	}
	if err := o.Do(func() {}); !errors.Is(err, ErrClosed) {
		t.Errorf("do: %v", err)
	}
	if err := o.Await(context.Background(), &o.events[0]); !errors.Is(err, ErrClosed) {
		t.Errorf("await: %v", err)
	}
	check(t, o.Close())
}

func TestAFailureEndsEveryWait(t *testing.T) {
	o := newOffice(t, Config{})
	for i := range 3 {
		o.await(context.Background(), i)
	}
	o.mu.Lock()
	o.rig.complete(t, 12345) // nobody's tag
	o.mu.Unlock()
	o.rig.fake.Wake()
	for i := range 3 {
		o.ended(i, ErrNoMachine)
	}
	if err := o.Do(func() {}); !errors.Is(err, ErrNoMachine) {
		t.Errorf("do: %v", err)
	}
	if err := o.Close(); !errors.Is(err, ErrNoMachine) {
		t.Errorf("close: %v", err)
	}
}

func TestADeviceThatCannotWaitEndsEveryWait(t *testing.T) {
	o := newOffice(t, Config{})
	broken := errors.New("broken")
	o.await(context.Background(), 0)
	o.await(context.Background(), 1)
	o.mu.Lock()
	o.rig.fake.broken = broken
	o.mu.Unlock()
	o.rig.fake.Wake()
	o.ended(0, broken)
	o.ended(1, broken)
	if err := o.Close(); !errors.Is(err, broken) {
		t.Errorf("close: %v", err)
	}
}

// recovered calls f, which panics.
func recovered(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("it did not panic")
		}
	}()
	f()
}

// A function of Do's may have been in the middle of changing a machine.
func TestAPanicInDoEndsEveryWait(t *testing.T) {
	panicEndsEveryWait(t, func(*office) { panic("mine") })
}

// panicEndsEveryWait checks that nobody waits any more, or begins to, when a function of Do has panicked.
func panicEndsEveryWait(t *testing.T, f func(o *office)) {
	t.Helper()
	o := newOffice(t, Config{})
	o.await(context.Background(), 0)
	o.await(context.Background(), 1)
	recovered(t, func() { _ = o.Do(func() { f(o) }) })
	o.ended(0, errPanicked)
	o.ended(1, errPanicked)
	if err := o.Do(func() {}); !errors.Is(err, errPanicked) {
		t.Errorf("do: %v", err)
	}
	if err := o.Close(); !errors.Is(err, errPanicked) {
		t.Errorf("close: %v", err)
	}
}

// Who recovers from a panic can tell whether it came from the loop, whoever runs that, or from elsewhere.
func TestAPanicIsKnownToComeFromTheLoop(t *testing.T) {
	for name, c := range map[string]struct {
		f        func(o *office)
		fromLoop bool
	}{
		"of the caller":       {func(*office) { panic("mine") }, false},
		"behind a Do":         {func(o *office) { check(t, o.Do(func() {})); panic("mine") }, false},
		"in a function of Do": {func(o *office) { _ = o.Do(func() { panic("mine") }) }, true},
		"of a machine":        {func(o *office) { _ = o.Do(func() { o.complete(100) }) }, true},
		"while that unwinds": {func(o *office) {
			defer func() { panic("mine, too") }()
			_ = o.Do(func() { panic("mine") })
		}, true},
	} {
		o := newOffice(t, Config{})
		o.await(context.Background(), 0)
		func() {
			defer func() {
				if what := recover(); what == nil || InsideTurn() != c.fromLoop {
					t.Errorf("%s: %v; it comes from the loop: %v", name, what, !c.fromLoop)
				}
			}()
			c.f(o)
		}()
		if err := o.Close(); errors.Is(err, errPanicked) != c.fromLoop {
			t.Errorf("%s: close: %v", name, err)
		}
		<-o.done[0]
	}
}

// After a machine's panic completions may be lost. Nobody may wait for them.
func TestAPanicOfAMachineEndsEveryWait(t *testing.T) {
	panicEndsEveryWait(t, func(o *office) { o.complete(100) })
}

// The same if the machine was stepped by the goroutine that waits.
func TestAPanicInAwaitEndsEveryWait(t *testing.T) {
	o := newOffice(t, Config{})
	panicked := make(chan any, 1)
	go func() {
		defer func() { panicked <- recover() }()
		_ = o.Await(context.Background(), &o.events[0])
	}()
	o.eventually(func() bool { return o.drives(0) })
	o.await(context.Background(), 1)
	o.arrive(100)
	if <-panicked == nil {
		t.Error("it did not panic")
	}
	o.ended(1, errPanicked)
	if err := o.Close(); !errors.Is(err, errPanicked) {
		t.Errorf("close: %v", err)
	}
}

func TestCallsFromTheLoopItselfAreRefused(t *testing.T) {
	o := newOffice(t, Config{})
	calls := func() {
		for what, err := range map[string]error{"Do": o.Do(func() {}), "Await": o.Await(context.Background(), &o.events[0]),
			"Close": o.Close()} {
			if !errors.Is(err, ErrBusy) {
				t.Errorf("%s: %v, want ErrBusy", what, err)
			}
		}
	}
	check(t, o.Do(calls))
	m := recorder{then: func() { calls(); o.events[1].Set() }}
	check(t, o.Do(func() {
		port, err := o.rig.Add(&m)
		check(t, err)
		o.rig.complete(t, port.Tag(0))
	}))
	check(t, o.Await(context.Background(), &o.events[1]))
}

func TestAnEventHasOneWaiter(t *testing.T) {
	o := newOffice(t, Config{})
	o.await(context.Background(), 0)
	if err := o.Await(context.Background(), &o.events[0]); !errors.Is(err, ErrBusy) {
		t.Errorf("a second waiter: %v", err)
	}
	o.arrive(0)
	o.ended(0, nil)
}

func TestTheCaretakerServesALoopThatNobodyAwaits(t *testing.T) {
	o := newOffice(t, Config{})
	o.eventually(func() bool { return o.driver == &o.caretaker.event && o.asleep })
	o.arrive(0)
	o.eventually(func() bool { return o.events[0].set })
	check(t, o.Do(func() { o.port.After(time.Hour, 1) })) // the fake's clock needs no hour
	o.eventually(func() bool { return o.events[1].set })
}

func TestTheCaretakerMakesWay(t *testing.T) {
	o := newOffice(t, Config{})
	o.eventually(func() bool { return o.driver == &o.caretaker.event && o.asleep })
	o.await(context.Background(), 0)
	o.eventually(func() bool { return o.drives(0) })
	o.arrive(0)
	o.ended(0, nil)
}

// While one goroutine drives for long the caretaker does not even look round; when that leaves, the caretaker is called.
func TestTheCaretakerRestsWhileOneDrives(t *testing.T) {
	o := newOffice(t, Config{})
	o.await(context.Background(), 0)
	o.eventually(func() bool { return o.caretaker.parked })
	if c := o.counted(func() { o.arrive(0); o.ended(0, nil) }); c.rouses != 1 {
		t.Errorf("calls: %+v", c)
	}
	o.eventually(func() bool { return o.driver == &o.caretaker.event && o.asleep })
}

// A context that can end costs nothing until the driver sleeps: while it spins it looks itself.
func TestAContextIsLookedAtWhileTheDriverSpins(t *testing.T) {
	o := newOffice(t, Config{Waiting: Polling()})
	ctx, cancel := context.WithCancel(context.Background())
	o.rig.fake.onWait = cancel
	if err := o.Await(ctx, &o.events[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("await: %v", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rig.fake.onWait = nil
	if w := o.rig.fake.waits; len(w) == 0 || w[len(w)-1].until == clock.Never {
		t.Errorf("it waited without looking: %+v", w)
	}
}

// Who has just asked spins for the answer, however long the loop had nothing to do before.
func TestWhoHasAskedSpins(t *testing.T) {
	o := newOffice(t, Config{})
	o.eventually(func() bool { return o.driver == &o.caretaker.event && o.asleep })
	o.mu.Lock()
	o.rig.fake.device.now = o.rig.fake.device.now.Add(time.Second)
	o.mu.Unlock()
	check(t, o.Do(func() {}))
	o.await(context.Background(), 0)
	o.eventually(func() bool { return o.drives(0) })
	o.mu.Lock()
	if w := o.rig.fake.waits; w[len(w)-1].spin != DefaultSpin {
		t.Errorf("it waits as %+v", w[len(w)-1])
	}
	o.mu.Unlock()
	o.arrive(0)
	o.ended(0, nil)
}

func TestAwaitAllocatesNothing(t *testing.T) {
	o := newOffice(t, Config{})
	ask := o.ask
	allocs := testing.AllocsPerRun(1000, func() {
		check(t, o.Do(ask))
		check(t, o.Await(context.Background(), &o.events[0]))
	})
	if allocs != 0 {
		t.Errorf("%v allocations a round", allocs)
	}
}

// A context that was not used before has its channel made by whoever asks for it: who need not wait does not.
func TestAwaitAsksForNoChannelThatItDoesNotNeed(t *testing.T) {
	o := newOffice(t, Config{})
	happen := func() {
		o.events[0].Reset()
		o.complete(0)
	}
	round := func(within func(ctx context.Context) context.Context) float64 {
		return testing.AllocsPerRun(1000, func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			check(t, o.Do(happen))
			check(t, o.Await(within(ctx), &o.events[0]))
		})
	}
	never := round(func(context.Context) context.Context { return context.Background() })
	if fresh := round(func(ctx context.Context) context.Context { return ctx }); fresh > never {
		t.Errorf("%v allocations a round, and %v with a context that does not end", fresh, never)
	}
}

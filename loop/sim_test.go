package loop_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/verbs"
)

// ticker is a machine that counts its timers.
type ticker struct{ ticks int }

func (t *ticker) Step(*verbs.Completion) { t.ticks++ }

func newSimulated(t *testing.T) (*sim.Fabric, *player) {
	t.Helper()
	fabric, err := sim.New(sim.Config{Seed: 1})
	check(err)
	nic, err := fabric.NewDevice(sim.NodeConfig{Name: "a"})
	check(err)
	p := newPlayer(nic, 1, true)
	t.Cleanup(p.close)
	return fabric, p
}

// A timer that is set between turns wakes the loop of a simulation, which otherwise would not look.
func TestTimersWakeADrivenLoop(t *testing.T) {
	fabric, p := newSimulated(t)
	check(fabric.Run(fabric.Now().Add(time.Millisecond)))
	var m ticker
	port, err := p.loop.Add(&m)
	check(err)
	port.After(time.Second, 1)
	check(fabric.RunUntil(func() bool { return m.ticks == 1 }, fabric.Now().Add(time.Minute)))
	if got := fabric.Now(); got != clock.Time(time.Second+time.Millisecond) {
		t.Errorf("the timer came at %v", got)
	}
}

// After a blocking call the simulator steps the loop again.
func TestABlockingCallGivesTheLoopBack(t *testing.T) {
	fabric, p := newSimulated(t)
	b, err := loop.NewBlocking(p.loop)
	check(err)
	check(b.SetAccess(context.Background(), p.pair, verbs.RemoteRead))
	var m ticker
	port, err := p.loop.Add(&m)
	check(err)
	port.After(time.Millisecond, 1)
	check(fabric.RunUntil(func() bool { return m.ticks == 1 }, fabric.Now().Add(time.Minute)))
}

// In a simulation Await lets virtual time pass, and between the calls the simulator steps the loop.
func TestASharedLoopInASimulation(t *testing.T) {
	fabric, p := newSimulated(t)
	shared, err := loop.NewShared(p.loop)
	check(err)
	var port loop.Port
	m := &bell{}
	check(shared.Do(func() {
		port, err = p.loop.Add(m)
		port.After(time.Second, 1)
	}))
	check(err)
	check(shared.Await(context.Background(), &m.event))
	if got := fabric.Now(); got != clock.Time(time.Second) {
		t.Errorf("the timer came at %v", got)
	}
	check(shared.Do(func() { m.event.Reset(); port.After(time.Second, 1) }))
	check(fabric.RunUntil(m.event.IsSet, fabric.Now().Add(time.Minute)))
	if got := fabric.Now(); got != clock.Time(2*time.Second) {
		t.Errorf("the second timer came at %v", got)
	}
	check(shared.Close())
}

// What is refused elsewhere is refused in a simulation, and so is what would need a second goroutine.
func TestASharedLoopInASimulationRefuses(t *testing.T) {
	_, p := newSimulated(t)
	shared, err := loop.NewShared(p.loop)
	check(err)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var e loop.Event
	if err := shared.Await(ended, &e); !errors.Is(err, context.Canceled) {
		t.Errorf("await with a context that has ended: %v", err)
	}
	refused := map[string]error{"Run": p.loop.Run(context.Background()), "Loop.Do": p.loop.Do(func() {})}
	check(shared.Do(func() {
		refused["Do"], refused["Await"] = shared.Do(func() {}), shared.Await(context.Background(), &e)
		refused["Close"] = shared.Close()
	}))
	for what, err := range refused {
		if !errors.Is(err, loop.ErrBusy) {
			t.Errorf("%s: %v, want ErrBusy", what, err)
		}
	}
	check(shared.Close())
	check(shared.Close())
	if err := shared.Do(func() {}); !errors.Is(err, loop.ErrClosed) {
		t.Errorf("do after close: %v", err)
	}
	check(p.loop.Do(func() {}))
}

// bell is a machine that sets an event.
type bell struct{ event loop.Event }

func (b *bell) Step(*verbs.Completion) { b.event.Set() }

// A loop that always hands itself more to do does not stop virtual time.
func TestTimePassesForABusyLoop(t *testing.T) {
	fabric, p := newSimulated(t)
	calls := 0
	var again func()
	again = func() {
		if calls++; calls < 100_000 {
			check(p.loop.Do(again))
		}
	}
	check(p.loop.Do(again))
	until := fabric.Now().Add(time.Microsecond)
	check(fabric.Run(until))
	if calls == 100_000 {
		t.Errorf("%d calls within a microsecond", calls)
	}
	calls = 100_000 // enough
	if fabric.Now() != until {
		t.Errorf("Run ended at %v, want %v", fabric.Now(), until)
	}
}

// panics is a machine that panics once.
type panics struct {
	port  loop.Port
	steps int
}

func (p *panics) Step(*verbs.Completion) {
	if p.steps++; p.steps == 1 {
		p.port.After(time.Microsecond, 1)
		panic("once")
	}
}

// A program that recovers from a panic of its own machine may go on: the loop gets its next turn.
func TestARecoveredPanicLosesNoTurn(t *testing.T) {
	fabric, p := newSimulated(t)
	m := &panics{}
	var err error
	m.port, err = p.loop.Add(m)
	check(err)
	m.port.After(time.Microsecond, 1)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the machine did not panic")
			}
		}()
		check(fabric.Run(fabric.Now().Add(time.Millisecond)))
	}()
	check(fabric.Run(fabric.Now().Add(time.Millisecond)))
	if m.steps != 2 {
		t.Errorf("%d steps, want 2", m.steps)
	}
}

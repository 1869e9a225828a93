package loop_test

import (
	"context"
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

package muster

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc"
)

// whimsical is a program that does whatever comes to its mind when it is called: sends, closes, lets others wait, dies.
type whimsical struct {
	*member
	mortal bool
	mu     sync.Mutex
	random *rand.Rand // guarded by mu
	quits  bool       // it closes its loop by itself

	// These belong to the loop.
	group *rdmc.Group
	heard map[string]int // calls
	wrong []string       // calls that must not be
	quiet []byte         // the memory when Failed was called
}

// roll rolls a die with so many sides.
func (w *whimsical) roll(sides int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(sides)
}

// hear notes a call, and does something while it lasts.
func (w *whimsical) hear(call string) {
	if w.heard["Closed"] > 0 || w.heard["Failed"] > 0 && call != "Closed" || w.heard["Ready"]+w.heard["Failed"] == 0 && call != "Ready" && call != "Failed" {
		w.wrong = append(w.wrong, fmt.Sprintf("%s after %v", call, w.heard))
	}
	w.heard[call]++
	switch w.roll(50) {
	case 0:
		_ = w.group.Close()
	case 1:
		if w.mortal {
			w.kill()
		}
	}
	if w.roll(2) == 0 || call == "Ready" {
		_, _ = w.group.Send(w.place(), uint64(w.roll(largest)))
	}
	w.group.Holdings()
	w.group.Continue()
}

const largest = 20_000 // bytes of a message

// place is somewhere in memory, where other bytes stand at every member.
func (w *whimsical) place() rdmc.Place {
	return rdmc.Place{Memory: w.memory, Offset: uint64(w.roll(memorySize - largest))}
}

func (w *whimsical) plan() Plan {
	config := w.smallConfig("whims")
	config.Ready = func() { w.hear("Ready") }
	config.Incoming = func(m rdmc.Message) rdmc.Place {
		w.hear("Incoming")
		place := w.place()
		if w.roll(4) > 0 {
			return place
		}
		_ = w.loop.Do(func() { _ = w.group.Provide(m.Number, place) })
		return rdmc.Place{}
	}
	config.Completed = func(d rdmc.Delivery) {
		w.group.Keep(d.Number)
		_ = w.loop.Do(func() { w.group.Release(d.Number) })
		w.hear("Completed")
	}
	config.Failed = func(*rdmc.Failure) { w.quiet = bytes.Clone(w.memory.Bytes()); w.hear("Failed") }
	config.Closed = func() { w.hear("Closed") }
	return Plan{Config: config, Made: func(g *rdmc.Group) { w.group = g }}
}

// live makes the group, lets it run for a while, and ends it in several ways at once.
func (w *whimsical) live(ctx context.Context) error {
	copy(w.memory.Bytes(), bytes.Repeat(fmt.Appendf(nil, "of member %d, ", w.mesh.Self()), memorySize/10))
	groups, _ := Create(ctx, w.mesh, w.loop, w.domain, []Plan{w.plan()})
	if groups == nil {
		w.quits = true // the group did not come about, and Closed need not be heard
		return nil
	}
	time.Sleep(time.Duration(w.roll(int(5 * time.Millisecond))))
	var all sync.WaitGroup
	if w.quits = w.roll(3) == 0; w.quits {
		all.Go(func() { _ = w.loop.Close() })
	}
	if w.roll(3) == 0 {
		all.Go(func() { _ = groups[0].Do(ctx, func(g *rdmc.Group) error { return g.Close() }) })
	}
	if w.roll(3) == 0 {
		all.Go(func() { _ = Close(ctx, groups) })
	}
	err := Close(ctx, groups)
	all.Wait()
	return err
}

// check looks at what was heard, when the loop has ended.
func (w *whimsical) check(t *testing.T) {
	t.Helper()
	_ = w.loop.Close()
	if len(w.wrong) > 0 || w.heard["Ready"] > 1 || !w.quits && !w.killed && w.heard["Closed"] != 1 {
		t.Errorf("it has heard %v, and wrongly %v", w.heard, w.wrong)
	}
	if w.quiet != nil && !bytes.Equal(w.quiet, w.memory.Bytes()) {
		t.Error("its memory has changed after the failure")
	}
}

// Whatever a program does in its callbacks, and however it ends: nothing hangs, everything is freed, calls come in their
// order, Closed comes, and nothing touches memory after Failed.
func TestWhims(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		for name, lanes := range laneNames {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				ctx, members := testContext(t), newMembers(t, 3, room, lanes)
				all := make([]*whimsical, len(members))
				for i, m := range members {
					all[i] = &whimsical{member: m, mortal: uint64(i) == seed%4, random: rand.New(rand.NewPCG(seed, uint64(i))), heard: map[string]int{}}
				}
				mustAll(t, concurrently(members, func(i int, _ *member) error { return all[i].live(ctx) }))
				for _, w := range all {
					w.check(t)
				}
			})
		}
	}
}

package muster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// survivor is a program that multicasts one message, and finishes it without those who die.
type survivor struct {
	*member
	completed chan rdmc.Delivery
	failed    chan *rdmc.Failure
	lost      int
}

func newSurvivor(m *member) *survivor {
	return &survivor{member: m, completed: make(chan rdmc.Delivery, 8), failed: make(chan *rdmc.Failure, 8)}
}

func (s *survivor) plan() Plan {
	config := s.smallConfig("images")
	config.Completed = func(d rdmc.Delivery) { s.completed <- d }
	config.Failed = func(f *rdmc.Failure) { s.failed <- f }
	return Plan{Config: config}
}

// finish waits for the message, and mends the group as often as it fails. Nobody leaves before all have it.
func (s *survivor) finish(ctx context.Context, groups []*Group) error {
	var held []rdmc.Holding
	for {
		select {
		case d := <-s.completed:
			held = append(held[:0], rdmc.Holding{Message: d.Message, Place: d.Place, Have: schedule.FullSet(d.Blocks())})
		case f := <-s.failed:
			var err error
			if groups, err = s.mend(ctx, groups, held, f.Rank); err != nil || s.lost > 0 {
				return errors.Join(err, Close(ctx, groups))
			}
			continue
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := s.mesh.Barrier(ctx, "done"); err == nil {
			return Close(ctx, groups)
		}
	}
}

// mend forms a group of the survivors that finishes what was under way.
func (s *survivor) mend(ctx context.Context, old []*Group, held []rdmc.Holding, dead int) ([]*Group, error) {
	check := old[0].Do(ctx, func(g *rdmc.Group) error {
		if held == nil {
			held = g.Holdings()
		}
		return nil
	})
	next, err := s.mesh.Without(ctx, old[0].Ranks[dead])
	if err = errors.Join(err, check); err != nil {
		return nil, err
	}
	s.mesh = next
	remains, err := Gather(ctx, s.mesh, s.mesh.Members(), held)
	if err != nil {
		return nil, err
	}
	s.lost = len(remains.Lost)
	plan := s.plan()
	plan.Unfinished = remains.Unfinished
	groups, err := Create(ctx, s.mesh, s.loop, s.domain, []Plan{plan})
	return append(old, groups...), err
}

// TestSurvivorsFinish: a member dies when it hears of the message; the others finish it, from whatever they hold.
func TestSurvivorsFinish(t *testing.T) {
	for name, lanes := range laneNames {
		for _, dead := range []int{1, 2, 3} {
			t.Run(fmt.Sprint(name, " without ", dead), func(t *testing.T) { surviveAll(t, lanes, dead) })
		}
	}
}

func surviveAll(t *testing.T, lanes soft.Lanes, dead int) {
	t.Helper()
	const size = 300_000
	members, ctx := newMembers(t, 4, room, lanes), testContext(t)
	source := members[0].memory.Bytes()[:size]
	for i := range source {
		source[i] = byte(i * i)
	}
	mustAll(t, concurrently(members, func(i int, m *member) error {
		s := newSurvivor(m)
		plan := s.plan()
		if i == dead {
			plan.Incoming = func(rdmc.Message) rdmc.Place { m.kill(); return rdmc.Place{} }
		}
		groups, err := Create(ctx, m.mesh, m.loop, m.domain, []Plan{plan})
		if err != nil && i == dead {
			return m.mesh.Close() // the message came before Create had returned
		}
		if err != nil {
			return err
		}
		if i == 0 {
			err = groups[0].Do(ctx, func(g *rdmc.Group) error {
				_, err := g.Send(rdmc.Place{Memory: m.memory}, size)
				return err
			})
		}
		if i == dead {
			return errors.Join(err, s.die(ctx, groups))
		}
		return errors.Join(err, s.finish(ctx, groups))
	}))
	for i, m := range members {
		if i != dead && !bytes.Equal(m.memory.Bytes()[:size], source) {
			t.Errorf("member %d has something else", i)
		}
	}
}

// die waits until the device is dead, and with it the loop, and closes the sessions as the system would.
func (s *survivor) die(ctx context.Context, groups []*Group) error {
	for ctx.Err() == nil && s.loop.Err() == nil {
		_ = groups[0].Do(ctx, func(*rdmc.Group) error { return nil })
	}
	return errors.Join(s.mesh.Close(), Close(ctx, groups))
}

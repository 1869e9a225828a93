package muster

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// One member dies when it hears of the message, and another while the rest mend the group: when it hears of the failure, or
// when it is given the next group.
func TestMendAgain(t *testing.T) {
	const size, first, second = 300_000, 4, 3
	for when, prepare := range map[string]func(*member, *Plan){
		"failed": func(m *member, p *Plan) { after(&p.Failed, m.kill) },
		"made":   func(m *member, p *Plan) { p.Made = onSecond(m.kill) },
	} {
		t.Run(when, func(t *testing.T) {
			members, ctx := newMembers(t, 5, 2*room, soft.TCP), testContext(t)
			source := members[0].memory.Bytes()[:size]
			copy(source, bytes.Repeat([]byte("warp and weft "), size))
			mustAll(t, concurrently(members, func(i int, m *member) error {
				s := newSurvivor(m)
				plan := s.plan()
				if i == second {
					prepare(m, &plan)
				}
				mine, cancel := context.WithCancel(ctx)
				defer cancel()
				if i == first {
					plan.Incoming = func(rdmc.Message) rdmc.Place { m.kill(); cancel(); return rdmc.Place{} }
				}
				if err := s.live(mine, plan, size); i < second {
					return err
				}
				return nil // however it died
			}))
			for i, m := range members[:second] {
				if !bytes.Equal(m.memory.Bytes()[:size], source) {
					t.Errorf("member %d has something else", i)
				}
			}
		})
	}
}

// live makes the group, sends if it is the root, and finishes what was sent. Whatever happens, nothing is left.
func (s *survivor) live(ctx context.Context, plan Plan, size uint64) error {
	groups, err := Create(ctx, s.mesh, s.loop, s.domain, []Plan{plan})
	if err == nil && s.mesh.Self() == 0 {
		err = groups[0].Do(ctx, func(g *rdmc.Group) error {
			_, err := g.Send(rdmc.Place{Memory: s.memory}, size)
			return err
		})
	}
	if err == nil {
		err = s.finish(ctx, groups)
	}
	return errors.Join(err, s.mesh.Close(), Close(context.WithoutCancel(ctx), groups))
}

// after has a callback do something more.
func after(callback *func(*rdmc.Failure), more func()) {
	first := *callback
	*callback = func(f *rdmc.Failure) { first(f); more() }
}

// onSecond is a Made that does something the second time.
func onSecond(do func()) func(*rdmc.Group) {
	times := 0
	return func(*rdmc.Group) {
		if times++; times == 2 {
			do()
		}
	}
}

// Of a plan those who are left keep their order, names and racks.
func TestPlanWithout(t *testing.T) {
	plan := Plan{Config: rdmc.Config{Members: []string{"a", "b", "c"}, Racks: []int{7, 8, 7}, Algorithm: schedule.RackChain}, Ranks: []int{5, 3, 4}}
	left := plan.without(func(member int) bool { return member == 3 })
	if !slices.Equal(left.Ranks, []int{5, 4}) || !slices.Equal(left.Members, []string{"a", "c"}) || !slices.Equal(left.Racks, []int{7, 7}) {
		t.Errorf("%+v", left)
	}
}

func TestMendWhatHasNotFailed(t *testing.T) {
	members, ctx := newMembers(t, 2, room, soft.TCP), testContext(t)
	mustAll(t, concurrently(members, func(_ int, m *member) error {
		groups, err := Create(ctx, m.mesh, m.loop, m.domain, []Plan{newSurvivor(m).plan()})
		if err != nil {
			return err
		}
		if _, err := Mend(ctx, m.mesh, groups[0]); !errors.Is(err, ErrArgument) || !strings.Contains(err.Error(), "has not failed") {
			t.Error(err)
		}
		if _, err := Mend(ctx, nil, nil); !errors.Is(err, ErrArgument) {
			t.Error(err)
		}
		return Close(ctx, groups)
	}))
}

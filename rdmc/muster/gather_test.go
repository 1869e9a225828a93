package muster

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// holding is a message of so many blocks of 10 bytes, and which of them a member has.
func holding(number uint64, blocks int, have ...int) rdmc.Holding {
	h := rdmc.Holding{Message: rdmc.Message{Number: number, Size: uint64(10 * blocks), BlockSize: 10}, Have: schedule.NewSet(blocks)}
	for _, block := range have {
		h.Have.Add(block)
	}
	return h
}

// gatherAll has all members gather, as ranks of a new group.
func gatherAll(t *testing.T, ranks []int, held map[int][]rdmc.Holding) ([]Remains, []error) {
	t.Helper()
	members, ctx := newMembers(t, 4, room, soft.InProcess), testContext(t)
	remains := make([]Remains, len(members))
	errs := concurrently(members, func(i int, m *member) (err error) {
		if !slices.Contains(ranks, i) {
			return nil
		}
		remains[i], err = Gather(ctx, m.mesh, ranks, held[i])
		return err
	})
	return remains, errs
}

func TestGather(t *testing.T) {
	ranks := []int{3, 1, 0} // member 2 is not of the group, and not asked
	remains, errs := gatherAll(t, ranks, map[int][]rdmc.Holding{
		0: {holding(5, 3, 0, 1), holding(4, 2, 0, 1)},
		1: {holding(5, 3, 1, 2), holding(7, 1)},
		3: {holding(6, 4, 0, 1, 3)},
	})
	mustAll(t, errs)
	for _, i := range ranks {
		r := remains[i]
		if got := describe(r); got != "4: [] [] [0 1]; 5: [] [1 2] [0 1]; lost [6 7]" {
			t.Errorf("member %d: %s", i, got)
		}
	}
}

// describe writes who holds what.
func describe(r Remains) (text string) {
	for _, u := range r.Unfinished {
		text += fmt.Sprint(u.Number, ":")
		for _, have := range u.Have {
			text += fmt.Sprint(" ", slices.AppendSeq([]int{}, have.All()))
		}
		text += "; "
	}
	var lost []uint64
	for _, m := range r.Lost {
		lost = append(lost, m.Number)
	}
	return text + fmt.Sprint("lost ", lost)
}

// A member that names a large message does not cost the others a set for each member.
func TestLargeMessagesCostLittle(t *testing.T) {
	all := tally{members: 1000, messages: make(map[uint64]*rdmc.Unfinished)}
	allocations := testing.AllocsPerRun(10, func() { all.begin(rdmc.Message{Size: 1 << 20, BlockSize: 1}) })
	if allocations > 10 {
		t.Errorf("%v allocations for a message that one of 1000 members named", allocations)
	}
}

func TestGatherKeepsPlaces(t *testing.T) {
	members, ctx := newMembers(t, 2, room, soft.InProcess), testContext(t)
	mustAll(t, concurrently(members, func(i int, m *member) error {
		mine := holding(1, 2, 0, 1)
		mine.Place = rdmc.Place{Memory: m.memory, Offset: uint64(i)}
		r, err := Gather(ctx, m.mesh, m.mesh.Members(), []rdmc.Holding{mine})
		if err == nil && r.Unfinished[0].Place != mine.Place {
			err = fmt.Errorf("it lies at %v, want %v", r.Unfinished[0].Place, mine.Place)
		}
		return err
	}))
}

func TestHoldingsThatDisagree(t *testing.T) {
	_, errs := gatherAll(t, []int{0, 1, 2, 3}, map[int][]rdmc.Holding{
		0: {holding(5, 3, 0)},
		2: {holding(5, 4, 0)},
	})
	for _, err := range errs {
		mustContain(t, err, "member 2 (m2)", "message 5 of 40 bytes", "others have 30")
		if !errors.Is(err, ErrDisagree) {
			t.Errorf("%v is not ErrDisagree", err)
		}
	}
}

func TestBadHoldings(t *testing.T) {
	m := newMembers(t, 1, room, soft.InProcess)[0]
	small := holding(1, 3)
	small.Size = 1000
	for want, held := range map[string][]rdmc.Holding{
		"there twice":   {holding(1, 3), holding(1, 3)},
		"its set is fo": {small},
		"in blocks of ": {{}},
		"allowed are":   make1000s(t, 5),
	} {
		_, err := Gather(testContext(t), m.mesh, []int{0}, held)
		mustContain(t, err, want)
		if !errors.Is(err, ErrArgument) {
			t.Errorf("%v is not ErrArgument", err)
		}
	}
	if _, err := Gather(testContext(t), m.mesh, []int{1}, nil); err == nil {
		t.Error("a member that is not there was asked")
	}
}

// TestBadHoldingsAreToldAtOnce: what one member gives wrong ends Gather at all, and names it. Those who were not asked notice
// nothing.
func TestBadHoldingsAreToldAtOnce(t *testing.T) {
	for want, wrong := range map[string]struct {
		ranks []int
		held  []rdmc.Holding
	}{
		"message 7 is there twice":                     {[]int{0, 2, 3}, []rdmc.Holding{holding(7, 3), holding(7, 3)}},
		"rank 3 is member 9, which is not in the mesh": {[]int{0, 2, 3, 9}, nil},
		"member 2 (m2) is there twice":                 {[]int{0, 2, 3, 2}, nil},
	} {
		members, ctx := newMembers(t, 4, room, soft.InProcess), testContext(t)
		errs := concurrently(members, func(i int, m *member) error {
			switch i {
			case 1:
				return nil
			case 2:
				_, err := Gather(ctx, m.mesh, wrong.ranks, wrong.held)
				return err
			}
			_, err := Gather(ctx, m.mesh, []int{0, 2, 3}, nil)
			return err
		})
		mustContain(t, errs[2], want)
		if !errors.Is(errs[2], ErrArgument) {
			t.Errorf("%v is not ErrArgument", errs[2])
		}
		for _, i := range []int{0, 3} {
			mustContain(t, errs[i], "member 2 (m2)", want)
			if !errors.Is(errs[i], ErrElsewhere) {
				t.Errorf("%v is not ErrElsewhere", errs[i])
			}
		}
		createAndSend(t, members) // nothing is broken
	}
}

func make1000s(t *testing.T, n int) (held []rdmc.Holding) {
	t.Helper()
	for i := range n * 1000 {
		held = append(held, holding(uint64(i), 1))
	}
	return held
}

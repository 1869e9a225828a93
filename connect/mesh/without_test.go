package mesh

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-fabric/weft/connect"
)

// withoutAll has the survivors regroup, each with its own idea of who is dead.
func withoutAll(t *testing.T, meshes []*Mesh, survivors []int, dead func(i int) []int) {
	t.Helper()
	ctx := testContext(t)
	mustAll(t, concurrently(len(survivors), func(i int) error {
		rest, err := meshes[survivors[i]].Without(ctx, dead(survivors[i])...)
		return errors.Join(err, goOn(t, rest, survivors))
	}))
}

// goOn checks that a mesh has these members and works.
func goOn(t *testing.T, m *Mesh, members []int) error {
	if m == nil {
		return nil
	}
	if !slices.Equal(m.Members(), members) {
		return fmt.Errorf("it has members %v, want %v", m.Members(), members)
	}
	_, err := m.Exchange(testContext(t), "on", nil)
	return err
}

func nobody(int) []int { return nil }

func TestWithoutTheDead(t *testing.T) {
	meshes := joinAll(t, 5, nil)
	meshes[3].Close()
	withoutAll(t, meshes, []int{0, 1, 2, 4}, func(int) []int { return []int{3} })
	meshes[0].Close()
}

func TestWithoutFindsTheDead(t *testing.T) {
	meshes := joinAll(t, 5, nil)
	meshes[1].Close()
	meshes[3].Close()
	withoutAll(t, meshes, []int{0, 2, 4}, nobody)
}

// TestWithoutBelievesOthers: member 3 is stopped, and only member 0 has been told.
func TestWithoutBelievesOthers(t *testing.T) {
	meshes := joinAll(t, 4, nil)
	withoutAll(t, meshes, []int{0, 1, 2}, func(i int) []int {
		if i == 0 {
			return []int{3}
		}
		return nil
	})
	_, err := meshes[3].Without(testContext(t), 1, 2)
	if err != nil {
		t.Fatal(err) // it finds itself alone
	}
}

// TestWithoutWhileOthersAreBusy: member 0 knows that 4 is dead. The others are in the middle of something, learn of it there,
// and lose no session.
func TestWithoutWhileOthersAreBusy(t *testing.T) {
	meshes, ctx := joinAll(t, 5, nil), testContext(t)
	survivors := []int{0, 1, 2, 3}
	meshes[4].Close()
	mustAll(t, concurrently(4, func(i int) error {
		dead := []int{4}
		if i > 0 {
			_, err := meshes[i].Exchange(ctx, "results", slices.Repeat([][]byte{make([]byte, 3*maxPiece)}, 5))
			if dead = Failed(err); !errors.Is(err, ErrRegroup) || !slices.Equal(dead, []int{4}) {
				return fmt.Errorf("want ErrRegroup, and member 4 to have failed: %w", err)
			}
		}
		rest, err := meshes[i].Without(ctx, dead...)
		return errors.Join(err, goOn(t, rest, survivors))
	}))
}

// TestDeathAtAnyMoment: two of six members die somewhere in a row of steps; the others come to its end together.
func TestDeathAtAnyMoment(t *testing.T) {
	const steps = 12
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 7))
		lives := []int{steps, steps, steps, steps, random.IntN(steps - 2), random.IntN(steps - 2)}
		meshes := joinAll(t, len(lives), nil)
		errs := concurrently(len(lives), func(i int) error { return walk(t, meshes[i], lives[i]) })
		for i, err := range errs {
			if err != nil {
				t.Fatalf("seed %d: member %d: %v", seed, i, err)
			}
		}
	}
}

// walk takes a member through its steps. After a death the members find out how far they are, and go on there.
func walk(t *testing.T, m *Mesh, steps int) error {
	ctx := testContext(t)
	for step := 0; step < steps; step++ {
		_, err := m.Exchange(ctx, fmt.Sprint("step ", step), nil)
		for err != nil {
			if m, err = m.Without(ctx, Failed(err)...); err != nil {
				return err
			}
			step, err = furthest(ctx, m, step)
		}
	}
	concurrently(2, func(i int) error { // some hear of the next step, and some do not
		if i == 0 {
			return m.Close()
		}
		return m.Barrier(ctx, fmt.Sprint("step ", steps))
	})
	return nil
}

func furthest(ctx context.Context, m *Mesh, step int) (int, error) {
	notes, err := m.Exchange(ctx, "how far", slices.Repeat([][]byte{{byte(step)}}, m.Len()))
	if err != nil {
		return step, err
	}
	for _, i := range m.Members() {
		if i != m.Self() {
			step = max(step, int(notes[i][0]))
		}
	}
	return step, nil
}

func TestLeftOut(t *testing.T) {
	meshes, ctx := joinAll(t, 3, nil), testContext(t)
	errs := concurrently(3, func(i int) error {
		var dead []int
		if i == 0 {
			dead = []int{2}
		}
		rest, err := meshes[i].Without(ctx, dead...)
		if i == 2 {
			return err
		}
		return errors.Join(err, goOn(t, rest, []int{0, 1}))
	})
	mustAll(t, errs[:2])
	if errs[2] != nil && !errors.Is(errs[2], ErrLeftOut) {
		t.Errorf("member 2: %v", errs[2])
	}
}

func TestWithoutTimeNobodyAgrees(t *testing.T) {
	meshes := joinAll(t, 2, nil)
	ctx := brief(t)
	<-ctx.Done()
	_, err := meshes[0].Without(ctx)
	mustContain(t, err, "no time to agree")
	mustContain(t, meshes[1].Barrier(testContext(t), "x"), "member 0 (")
}

func TestWithoutBadArguments(t *testing.T) {
	for _, dead := range []int{-1, 0, 2} {
		meshes := joinAll(t, 2, nil)
		if _, err := meshes[0].Without(testContext(t), dead); !errors.Is(err, connect.ErrArgument) {
			t.Errorf("without %d: %v", dead, err)
		}
	}
}

package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/verbs"
)

func TestSwapCarriesCards(t *testing.T) {
	meshes, ctx := joinAll(t, 3, nil), testContext(t)
	mustAll(t, concurrently(3, func(i int) error {
		cards := make([]connect.Card, 3)
		for j := range cards {
			cards[j] = connect.Card{Addresses: []verbs.Address{verbs.Address(fmt.Sprint(i))}, Note: []byte{byte(j)},
				Spans: []verbs.RemoteSpan{{Address: uint64(i), Length: 1}}}
		}
		theirs, err := meshes[i].Swap(ctx, "cards", cards)
		for j, card := range theirs {
			if err == nil && j != i && (string(card.Addresses[0]) != fmt.Sprint(j) || card.Spans[0].Address != uint64(j) ||
				card.Note[0] != byte(i) || card.Step != "cards") {
				err = fmt.Errorf("from %d: %v", j, card)
			}
		}
		return errors.Join(err, meshes[i].Barrier(ctx, "done"))
	}))
}

func TestLongNotes(t *testing.T) {
	meshes, ctx := joinAll(t, 3, nil), testContext(t)
	for _, size := range []int{0, maxPiece - 1, maxPiece, maxPiece + 1, 5*maxPiece + 7} {
		note := func(from, to int) []byte { // of very different lengths
			random := rand.New(rand.NewPCG(uint64(from), uint64(to)))
			b := make([]byte, size/(1+from*to))
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			return b
		}
		mustAll(t, concurrently(3, func(i int) error {
			theirs, err := meshes[i].Exchange(ctx, "long", [][]byte{note(i, 0), note(i, 1), note(i, 2)})
			for j := range theirs {
				if err == nil && i != j && !bytes.Equal(theirs[j], note(j, i)) {
					err = fmt.Errorf("%d bytes from %d are wrong", len(theirs[j]), j)
				}
			}
			return err
		}))
	}
}

func TestOutOfStep(t *testing.T) {
	meshes, ctx := joinAll(t, 2, nil), testContext(t)
	for i, err := range concurrently(2, func(i int) error { return meshes[i].Barrier(ctx, fmt.Sprintf("step %d", i)) }) {
		if !errors.Is(err, connect.ErrOutOfStep) && !errors.Is(err, connect.ErrGaveUp) {
			t.Errorf("member %d: %v", i, err)
		}
		mustContain(t, err, fmt.Sprintf("member %d (", 1-i))
	}
}

func TestBadArgumentsCostNothing(t *testing.T) {
	meshes, ctx := joinAll(t, 2, nil), testContext(t)
	m := meshes[0]
	for want, try := range map[string]func() error{
		"for 1 members":   func() error { _, err := m.Swap(ctx, "x", make([]connect.Card, 1)); return err },
		"but there are 2": func() error { _, err := m.Exchange(ctx, "x", make([][]byte, 3)); return err },
		"not printable":   func() error { return m.Barrier(ctx, "a\x00") },
		"allowed are 128": func() error { return m.Barrier(ctx, string(make([]byte, 129))) },
		"Exchange takes mor": func() error {
			_, err := m.Swap(ctx, "x", []connect.Card{1: {Note: make([]byte, MaxNote+1)}})
			return err
		},
		"allowed are 671088": func() error { _, err := m.Exchange(ctx, "x", [][]byte{1: make([]byte, MaxExchange+1)}); return err },
		"this is member 0":   func() error { _, err := m.Among(1); return err },
		"no member 7":        func() error { _, err := m.Among(0, 7); return err },
	} {
		if err := try(); !errors.Is(err, connect.ErrArgument) || Failed(err) != nil {
			t.Errorf("%s: %v", want, err)
		} else {
			mustContain(t, err, want)
		}
	}
	exchangeAll(t, meshes)
}

func TestCloseTellsWhy(t *testing.T) {
	meshes, ctx := joinAll(t, 4, nil), testContext(t)
	errs := concurrently(4, func(i int) error {
		if i == 2 {
			return meshes[i].CloseWith(errors.New("the disk is full"))
		}
		return meshes[i].Barrier(ctx, "done")
	})
	for _, i := range []int{0, 1, 3} {
		mustContain(t, errs[i], "member 2 (", "the disk is full")
		if !slices.Equal(Failed(errs[i]), []int{2}) {
			t.Errorf("member %d: %v", i, errs[i])
		}
	}
}

// TestCloseAtAnyMoment: whatever a member is doing, Close ends it, at all members.
func TestCloseAtAnyMoment(t *testing.T) {
	for seed := range uint64(20) {
		meshes, random := joinAll(t, 3, nil), rand.New(rand.NewPCG(seed, 0))
		turns := random.IntN(50)
		concurrently(4, func(i int) error {
			if i == 3 {
				for range turns {
					_ = meshes[0].Has(1)
				}
				return meshes[0].Close()
			}
			for {
				if err := meshes[i].Barrier(testContext(t), "again"); err != nil {
					return meshes[i].Close()
				}
			}
		})
	}
}

func TestASwapAtATime(t *testing.T) {
	meshes := joinAll(t, 2, nil)
	ctx, cancel := context.WithCancel(testContext(t))
	errs := concurrently(2, func(int) error {
		err := meshes[0].Barrier(ctx, "x")
		cancel()
		return err
	})
	if errors.Is(errs[0], connect.ErrBusy) == errors.Is(errs[1], connect.ErrBusy) {
		t.Errorf("want one that is busy: %v, %v", errs[0], errs[1])
	}
}

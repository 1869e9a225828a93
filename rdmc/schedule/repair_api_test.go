package schedule

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestRepairOfNothing(t *testing.T) {
	for _, have := range [][]Set{{FullSet(9)}, {FullSet(3), FullSet(3)}, {NewSet(0), {}}} {
		r, err := Repair(have)
		if err != nil || r.Steps() != 0 || len(r.Peers(0)) != 0 || r.Plan(0).Steps() != 0 {
			t.Errorf("%d members: %v, %+v", len(have), err, r)
		}
	}
}

func TestRepairRefuses(t *testing.T) {
	some := FullSet(100)
	some.words[0] = 0b1011
	for want, have := range map[string][]Set{
		"among 0 members":      nil,
		"among 32769 members":  make([]Set, 1<<15+1),
		"member 1 knows 5":     {FullSet(4), FullSet(5)},
		"at most 33554432":     {NewSet(1<<25 + 1), NewSet(1<<25 + 1)},
		"61 of 100 blocks (2,": {some},
	} {
		if _, err := Repair(have); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q expected, not %v", want, err)
		}
	}
}

func TestRepairNamesLostBlocks(t *testing.T) {
	have := setsOf(3, 70, func(rank, block int) bool { return block%7 != 0 && (block < 3 || block > 5 || rank == 3) })
	_, err := Repair(have)
	var lost *LostError
	if !errors.As(err, &lost) {
		t.Fatal(err)
	}
	if got := slices.Collect(lost.Blocks.All()); len(got) != 13 || got[1] != 3 || got[12] != 63 {
		t.Error("lost:", got)
	}
	want := "no member holds 13 of 70 blocks (0, 3-5, 7, 14, 21, 28, 35, 42, …): the message has to be sent again"
	if err.Error() != want {
		t.Error(err)
	}
}

// TestRepairIsTheSameEverywhere: members that have the same sets, in other memory, plan the same.
func TestRepairIsTheSameEverywhere(t *testing.T) {
	have := each(rand.New(rand.NewPCG(1, 2)), 30, 200)
	have[3] = FullSet(200)
	first, err := Repair(have)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		var copies []Set
		for _, set := range have {
			data, _ := set.AppendBinary(nil)
			decoded, err := ParseSet(data, 200)
			if err != nil {
				t.Fatal(err)
			}
			copies = append(copies, decoded)
		}
		again, err := Repair(copies)
		if err != nil || !slices.Equal(again.transfers, first.transfers) || !slices.Equal(again.starts, first.starts) {
			t.Fatal("another plan from the same sets", err)
		}
	}
	for rank := range have {
		if data, _ := have[rank].AppendBinary(nil); len(data) == 0 || have[3].Count() != 200 {
			t.Fatal("Repair changed a set")
		}
	}
}

func TestRepairPeers(t *testing.T) {
	have := each(rand.New(rand.NewPCG(5, 2)), 40, 300)
	have[0] = FullSet(300)
	r, err := Repair(have)
	if err != nil {
		t.Fatal(err)
	}
	for rank := range have {
		peers := r.Peers(rank)
		if !slices.IsSorted(peers) || slices.Contains(peers, rank) {
			t.Errorf("peers of %d: %v", rank, peers)
		}
		for _, peer := range peers {
			if !slices.Contains(r.Peers(peer), rank) {
				t.Errorf("%d is a peer of %d, but not the other way round", peer, rank)
			}
		}
		plan := r.Plan(rank)
		for step := range r.Steps() {
			in, received := plan.Receive(step)
			out, sent := plan.Send(step)
			if received && !slices.Contains(peers, in.Peer) || sent && !slices.Contains(peers, out.Peer) {
				t.Fatalf("member %d meets a stranger in step %d", rank, step)
			}
		}
	}
}

func TestRepairLookupDoesNotAllocate(t *testing.T) {
	r, err := Repair([]Set{FullSet(100), NewSet(100), NewSet(100)})
	if err != nil {
		t.Fatal(err)
	}
	plan, step := r.Plan(1), 0
	if n := testing.AllocsPerRun(100, func() {
		plan.Send(step)
		plan.Receive(step)
		step++
	}); n != 0 {
		t.Errorf("%v allocations for a lookup", n)
	}
	for _, step := range []int{-1, r.Steps(), 1 << 40} {
		if _, ok := plan.Receive(step); ok {
			t.Errorf("there is no step %d", step)
		}
	}
}

func BenchmarkRepair(b *testing.B) {
	for _, size := range [][2]int{{8, 10_000}, {200, 10_000}, {1000, 1000}} {
		for _, held := range []float64{0, 0.5, 0.9} {
			rnd := rand.New(rand.NewPCG(1, 1))
			have := setsOf(size[0], size[1], func(rank, _ int) bool { return rank == 0 || rnd.Float64() < held })
			b.Run(fmt.Sprintf("members=%d/blocks=%d/held=%v", size[0], size[1], held), func(b *testing.B) { benchRepair(b, have) })
		}
	}
}

func benchRepair(b *testing.B, have []Set) {
	var r *Repaired
	for b.Loop() {
		var err error
		if r, err = Repair(have); err != nil {
			b.Fatal(err)
		}
	}
	peers := 0
	for _, t := range []int{0, 1, len(have) / 2} {
		peers = max(peers, len(r.Peers(t)))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(r.transfers)), "ns/transfer")
	b.ReportMetric(float64(r.Steps()), "steps")
	b.ReportMetric(float64(least(have)), "least-steps")
	b.ReportMetric(float64(peers), "peers")
}

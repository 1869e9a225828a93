package schedule

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// someSets are sets of all lengths near a word's, empty, full, alternating, in runs and by chance.
func someSets() []Set {
	rnd := rand.New(rand.NewPCG(3, 3))
	var sets []Set
	for _, blocks := range []int{0, 1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 200, 1000} {
		chance := rnd.Float64()
		for _, has := range []func(block int) bool{
			func(int) bool { return false },
			func(int) bool { return true },
			func(block int) bool { return block%2 == 0 },
			func(block int) bool { return block%2 == 1 },
			func(block int) bool { return block < blocks/2 },
			func(block int) bool { return block >= blocks/2 },
			func(block int) bool { return block/70%2 == 1 },
			func(int) bool { return rnd.Float64() < chance },
		} {
			sets = append(sets, setsOf(1, blocks, func(_, block int) bool { return has(block) })...)
		}
	}
	return sets
}

func TestSet(t *testing.T) {
	for _, s := range someSets() {
		var want []int
		for block := -70; block < s.Len()+70; block++ {
			if s.Has(block) {
				want = append(want, block)
			}
		}
		if got := slices.Collect(s.All()); !slices.Equal(got, want) || s.Count() != len(want) || s.Full() != (len(want) == s.Len()) {
			t.Errorf("set of %d blocks has %v, Count %d, All %v", s.Len(), want, s.Count(), got)
		}
		if len(want) > 0 && (want[0] < 0 || want[len(want)-1] >= s.Len()) {
			t.Errorf("set of %d blocks has %v", s.Len(), want)
		}
	}
}

func TestSetRuns(t *testing.T) {
	for _, s := range someSets() {
		for block := range s.Len() {
			end := block
			for end < s.Len() && s.Has(end) == s.Has(block) {
				end++
			}
			if got := s.runEnd(block); got != end {
				t.Fatalf("the run of block %d of %d ends at %d, not %d", block, s.Len(), got, end)
			}
		}
		runs := NewSet(s.Len())
		for at := 0; at < s.Len(); at = s.runEnd(at) {
			if s.Has(at) {
				runs.addRun(at, s.runEnd(at))
			}
		}
		if !runs.Equal(s) {
			t.Fatalf("%v are not the runs of %v", runs, s)
		}
	}
}

func TestSetCopies(t *testing.T) {
	for _, s := range someSets() {
		if !s.Full() {
			shared, own := s, s.Clone()
			block := slices.Collect(missing(s).All())[0]
			shared.Add(block)
			if !s.Has(block) || own.Has(block) || own.Equal(s) {
				t.Errorf("block %d was added: it is in the set %v, in a clone %v", block, s.Has(block), own.Has(block))
			}
		}
		all := s.Clone()
		all.Union(missing(s))
		if !all.Equal(FullSet(s.Len())) || !all.Full() {
			t.Errorf("set and rest of %d blocks are %d", s.Len(), all.Count())
		}
		if s.Equal(NewSet(s.Len() + 1)) {
			t.Error("sets of different messages are equal")
		}
	}
}

func TestSetEndsIterationOnDemand(t *testing.T) {
	for block := range FullSet(200).All() {
		if block == 99 {
			return
		}
	}
	t.Error("block 99 was not seen")
}

func TestSetPanicsOnStrangers(t *testing.T) {
	for name, call := range map[string]func(){
		"negative": func() { NewSet(10).Add(-1) },
		"beyond":   func() { NewSet(10).Add(10) },
		"far":      func() { NewSet(10).Add(1000) },
		"union":    func() { NewSet(10).Union(NewSet(11)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		})
	}
}

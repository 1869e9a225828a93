package schedule

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// replay walks through a repair, by the members' own plans, and returns the first rule that was broken.
func replay(have []Set, r *Repaired) error {
	now := make([]Set, len(have))
	plans := make([]Plan, len(have))
	for rank := range have {
		now[rank], plans[rank] = have[rank].Clone(), r.Plan(rank)
	}
	for step := range r.Steps() {
		if err := replayStep(now, plans, step); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	for rank, set := range now {
		if !set.Full() || plans[rank].Steps() != r.Steps() {
			return fmt.Errorf("member %d has %d of %d blocks after %d steps of %d", rank, set.Count(), set.Len(), plans[rank].Steps(), r.Steps())
		}
	}
	return nil
}

func replayStep(now []Set, plans []Plan, step int) error {
	sends, receives := 0, 0
	arrived := make([]Transfer, 0, len(now))
	for rank, plan := range plans {
		if _, ok := plan.Send(step); ok {
			sends++
		}
		in, ok := plan.Receive(step)
		if !ok {
			continue
		}
		receives++
		if out, ok := plans[in.Peer].Send(step); !ok || out != (Transfer{Peer: rank, Block: in.Block}) {
			return fmt.Errorf("member %d receives %+v, but its peer sends %+v", rank, in, out)
		}
		if !now[in.Peer].Has(in.Block) || now[rank].Has(in.Block) {
			return fmt.Errorf("member %d receives %+v: the sender has it %v, it has it %v", rank, in, now[in.Peer].Has(in.Block), now[rank].Has(in.Block))
		}
		arrived = append(arrived, Transfer{Peer: rank, Block: in.Block})
	}
	if sends != receives || receives == 0 {
		return fmt.Errorf("%d sends, %d receives", sends, receives)
	}
	for _, t := range arrived {
		now[t.Peer].Add(t.Block)
	}
	return nil
}

// least is what the steps of a repair are compared with: the most blocks that a member lacks, and the blocks with one
// holder plus ⌈log₂ n⌉ - 1.
func least(have []Set) int {
	lacks, single := 0, 0
	for _, set := range have {
		lacks = max(lacks, set.Len()-set.Count())
	}
	for block := range have[0].Len() {
		holders := 0
		for _, set := range have {
			if set.Has(block) {
				holders++
			}
		}
		if holders == 1 {
			single++
		}
	}
	return max(lacks, single+ceilLog2(len(have))-1)
}

// judge tries repairs, holds them to the rules and the bound, and remembers the worst.
type judge struct {
	testing.TB
	cases, more int
	ratio       float64
	worst       string
}

func (j *judge) try(have []Set, what string, args ...any) *Repaired {
	j.Helper()
	r, err := Repair(have)
	if err != nil {
		var lost *LostError
		if !errors.As(err, &lost) {
			j.Fatalf("%s: %v", fmt.Sprintf(what, args...), err)
		}
		return nil
	}
	if err := replay(have, r); err != nil {
		j.Fatalf("%s: %v", fmt.Sprintf(what, args...), err)
	}
	m, logs := least(have), ceilLog2(len(have))
	if r.Steps() > m+logs { // less than the 1.1 m + logs that are promised
		j.Errorf("%s: %d steps, but %d + %d are enough", fmt.Sprintf(what, args...), r.Steps(), m, logs)
	}
	j.cases++
	j.more = max(j.more, r.Steps()-m)
	if ratio := float64(r.Steps()) / float64(max(m, 1)); ratio > j.ratio {
		j.ratio, j.worst = ratio, fmt.Sprintf("%d for %d: %s", r.Steps(), m, fmt.Sprintf(what, args...))
	}
	return r
}

func (j *judge) report() {
	j.Logf("%d repairs, at most %d steps more than the least, worst ratio %.3f (%s)", j.cases, j.more, j.ratio, j.worst)
}

func long() bool { return os.Getenv("WEFT_LONG") != "" }

// after is what the members have after some steps of a schedule.
func after(c *cluster, blocks, steps int) []Set {
	have := []Set{FullSet(blocks)}
	for _, part := range c.parts[1:] {
		set, plan := NewSet(blocks), part.Plan(blocks)
		for step := range steps {
			if in, ok := plan.Receive(step); ok {
				set.Add(in.Block)
			}
		}
		have = append(have, set)
	}
	return have
}

// without leaves one out.
func without(have []Set, rank int) []Set { return slices.Delete(slices.Clone(have), rank, rank+1) }

func TestRepairAfterEveryFailure(t *testing.T) {
	j := &judge{TB: t}
	members, blocks := []int{3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 20}, []int{1, 2, 3, 7, 16, 40}
	if long() {
		members, blocks = append(members, 10, 11, 14, 15, 18, 19, 31, 32, 33, 64, 65, 100), append(blocks, 24, 33, 80)
	}
	for _, algorithm := range []Algorithm{Pipeline, Circulant, Chain} {
		for _, n := range members {
			c := newCluster(t, Config{Algorithm: algorithm, Members: n})
			for _, k := range blocks {
				failEverywhere(j, c, k)
			}
		}
	}
	j.report()
}

// failEverywhere lets each member fail in each step. Of more than 20 members it lets only some fail.
func failEverywhere(j *judge, c *cluster, blocks int) {
	n := len(c.parts)
	for step := range c.parts[0].Plan(blocks).Steps() + 1 {
		have := after(c, blocks, step)
		for rank := 0; rank < n; rank += 1 + (rank+1)/20*6 {
			j.try(without(have, rank), "%v of %d blocks to %d members, member %d failed after %d steps", c.config.Algorithm, blocks, n, rank, step)
		}
	}
}

// TestRepairOfRepairs lets members fail in repairs, and others join with nothing.
func TestRepairOfRepairs(t *testing.T) {
	j := &judge{TB: t}
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		n, k := 3+rnd.IntN(20), 1+rnd.IntN(60)
		c := newCluster(t, Config{Algorithm: Algorithm(rnd.IntN(3)), Members: n})
		have := after(c, k, rnd.IntN(c.parts[0].Plan(k).Steps()+1))
		for round := range 4 {
			have = without(have, 1+rnd.IntN(len(have)-1))
			for range rnd.IntN(3) + 1 {
				have = append(have, NewSet(k))
			}
			r := j.try(have, "seed %d, round %d", seed, round)
			have = cut(have, r, rnd.IntN(r.Steps()+1))
		}
	}
	j.report()
}

// cut is what the members have after some steps of a repair.
func cut(have []Set, r *Repaired, steps int) []Set {
	var now []Set
	for rank := range have {
		set, plan := have[rank].Clone(), r.Plan(rank)
		for step := range steps {
			if in, ok := plan.Receive(step); ok {
				set.Add(in.Block)
			}
		}
		now = append(now, set)
	}
	return now
}

func TestRepairOfAllSmallSets(t *testing.T) {
	j := &judge{TB: t}
	bits := 12
	if long() {
		bits = 16
	}
	for n := 1; n <= bits; n++ {
		for k := 1; n*k <= bits; k++ {
			for pattern := range 1 << (n * k) {
				have := setsOf(n, k, func(rank, block int) bool { return pattern>>(rank*k+block)&1 == 1 })
				j.try(have, "%d members, %d blocks, held as in %b", n, k, pattern)
			}
		}
	}
	j.report()
}

// TestRepairStepsIn: sets for which it is not enough that no sender and receiver are left who could serve each other.
func TestRepairStepsIn(t *testing.T) {
	for _, kinds := range []map[string]int{
		{"--234": 20, "01--4": 21, "0123-": 19}, // member 4 has to serve others so that one of them can serve it
		{"-1--4": 241, "0-23-": 239},
		{"-1-34": 29, "0-2--": 31},
	} {
		var of []string
		for _, holders := range slices.Sorted(maps.Keys(kinds)) {
			of = append(of, slices.Repeat([]string{holders}, kinds[holders])...)
		}
		have := setsOf(5, len(of), func(rank, block int) bool { return of[block][rank] != '-' })
		j := &judge{TB: t}
		if r := j.try(have, "%v", kinds); r.Steps() > least(have)+1 {
			t.Errorf("%v: %d steps for %d", kinds, r.Steps(), least(have))
		}
	}
}

func setsOf(members, blocks int, has func(rank, block int) bool) []Set {
	have := make([]Set, members)
	for rank := range have {
		have[rank] = NewSet(blocks)
		for block := range blocks {
			if has(rank, block) {
				have[rank].Add(block)
			}
		}
	}
	return have
}

func TestRepairOfRandomSets(t *testing.T) {
	for name, shape := range map[string]func(rnd *rand.Rand, n, k int) []Set{"each": each, "members": byMember, "classes": byClass} {
		t.Run(name, func(t *testing.T) {
			j := &judge{TB: t}
			seeds := uint64(1500)
			if long() {
				seeds = 60_000
			}
			for seed := range seeds {
				rnd := rand.New(rand.NewPCG(seed, 1))
				n, k := 2+rnd.IntN(12), 1+rnd.IntN(60)
				if seed%50 == 0 {
					n, k = 2+rnd.IntN(120), 1+rnd.IntN(250)
				}
				have := shape(rnd, n, k)
				for block := range k {
					have[rnd.IntN(n)].Add(block)
				}
				j.try(have, "seed %d: %d members, %d blocks", seed, n, k)
			}
			j.report()
		})
	}
}

// each: every member has every block with the same chance.
func each(rnd *rand.Rand, n, k int) []Set {
	chance := rnd.Float64()
	return setsOf(n, k, func(int, int) bool { return rnd.Float64() < chance })
}

// byMember: some have much, some little, some nothing or all.
func byMember(rnd *rand.Rand, n, k int) []Set {
	chances := make([]float64, n)
	for i := range chances {
		chances[i] = min(1, max(0, rnd.Float64()*2-0.5))
	}
	return setsOf(n, k, func(rank, _ int) bool { return rnd.Float64() < chances[rank] })
}

// byClass: there are a few kinds of blocks, and all of a kind have the same holders.
func byClass(rnd *rand.Rand, n, k int) []Set {
	kinds := make([][]bool, 1+rnd.IntN(6))
	for i := range kinds {
		kinds[i] = make([]bool, n)
		chance := []float64{0, 2 / float64(n), 0.5, rnd.Float64(), 1 - 2/float64(n)}[rnd.IntN(5)]
		for rank := range kinds[i] {
			kinds[i][rank] = rnd.Float64() < chance
		}
		kinds[i][rnd.IntN(n)] = true
	}
	of := make([]int, k)
	for block := range of {
		of[block] = rnd.IntN(len(kinds))
	}
	return setsOf(n, k, func(rank, block int) bool { return kinds[of[block]][rank] })
}

// FuzzRepair: whatever the sets, the plan is right and within the bound.
func FuzzRepair(f *testing.F) {
	f.Add([]byte{0b1011, 0b0110, 0b0000}, uint8(3))
	f.Fuzz(func(t *testing.T, bits []byte, members uint8) {
		n := int(members)%24 + 1
		blocks := min(len(bits)*8/n, 200)
		have := setsOf(n, blocks, func(rank, block int) bool {
			bit := rank*blocks + block
			return bits[bit/8]>>(bit%8)&1 == 1
		})
		for block := range blocks {
			have[int(bits[block%len(bits)])%n].Add(block)
		}
		(&judge{TB: t}).try(have, "%d members, %d blocks", n, blocks)
	})
}

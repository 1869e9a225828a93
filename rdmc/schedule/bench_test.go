package schedule

import (
	"testing"
)

// ofSize is a group of each algorithm, in racks of 32.
func ofSize(tb testing.TB, algorithm Algorithm, members int) *Part {
	tb.Helper()
	config := Config{Algorithm: algorithm, Members: members}
	if algorithm.Racks() {
		config.Racks = racks(members, func(rank int) int { return rank / 32 })
	}
	part, err := New(config, members*2/3)
	if err != nil {
		tb.Fatal(err)
	}
	return part
}

// BenchmarkLookup is one step of one member: what it sends, and what it receives.
func BenchmarkLookup(b *testing.B) {
	for _, algorithm := range Algorithms() {
		b.Run(algorithm.String(), func(b *testing.B) {
			plan := ofSize(b, algorithm, 1025).Plan(1000)
			steps := plan.Steps()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				plan.Send(i % steps)
				plan.Receive(i % steps)
			}
		})
	}
}

// BenchmarkNew is what a member computes when its group is made.
func BenchmarkNew(b *testing.B) {
	for _, algorithm := range Algorithms() {
		b.Run(algorithm.String(), func(b *testing.B) {
			for b.Loop() {
				ofSize(b, algorithm, 1025)
			}
		})
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	for _, algorithm := range Algorithms() {
		plan, step := ofSize(t, algorithm, 1025).Plan(1000), 0
		allocs := testing.AllocsPerRun(500, func() {
			plan.Send(step)
			plan.Receive(step)
			step += plan.Steps() / 500
		})
		if allocs != 0 {
			t.Errorf("%v: %v allocations a step", algorithm, allocs)
		}
	}
}

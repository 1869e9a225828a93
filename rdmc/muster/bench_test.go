package muster

import (
	"fmt"
	"testing"
)

// BenchmarkCreate makes and closes many groups of four members, on every lane.
func BenchmarkCreate(b *testing.B) {
	for name, lanes := range laneNames {
		for _, many := range []int{300, 1000} {
			b.Run(fmt.Sprintf("%s/%d", name, many), func(b *testing.B) {
				members := newMembers(b, 4, 1<<18, lanes)
				for b.Loop() {
					groups := createAll(b, members, manyPlans(many))
					lap := b.Elapsed()
					closeAll(b, members, groups)
					b.ReportMetric((b.Elapsed() - lap).Seconds(), "s/close")
				}
			})
		}
	}
}

// manyPlans are so many groups of four, with each of them as the root in turn.
func manyPlans(many int) func(int, *member) []Plan {
	return func(_ int, m *member) (plans []Plan) {
		for k := range many {
			plans = append(plans, Plan{Config: m.smallConfig(fmt.Sprint("group ", k)), Ranks: []int{k % 4, (k + 1) % 4, (k + 2) % 4, (k + 3) % 4}})
		}
		return plans
	}
}

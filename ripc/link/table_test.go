package link

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// A table does what a map does, also where numbers meet.
func TestATableIsAMap(t *testing.T) {
	var got table[int]
	want := map[uint64]*int{}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		number := random.Uint64N(64)
		if want[number] == nil {
			want[number] = new(int)
			got.put(number, want[number])
		} else if random.IntN(3) > 0 {
			delete(want, number)
			got.remove(number)
		}
		other := random.Uint64N(64)
		if got.get(other) != want[other] || got.len() != len(want) {
			t.Fatalf("%d is %p, not %p; %d entries, not %d", other, got.get(other), want[other], got.len(), len(want))
		}
	}
	got.remove(1 << 40) // which is not there
	all := map[*int]bool{}
	for one := range got.all() {
		all[one] = true
	}
	if len(all) != len(want) {
		t.Errorf("all are %d, of %d", len(all), len(want))
	}
	for one := range maps.Values(want) {
		if !all[one] {
			t.Error("one is missing")
		}
	}
}

package sim

import (
	"slices"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// auditPins counts everything anew that names a queue pair.
func auditPins(t testing.TB, f *Fabric) {
	t.Helper()
	pins, abroad := make([]int32, len(f.pairs)), make([]int32, len(f.pairs))
	for i := uint32(1); i <= f.requests.used; i++ {
		if !slices.Contains(f.requests.free, i) {
			countPins(f, f.requests.at(i), pins, abroad)
		}
	}
	countEvents(f, pins)
	for _, q := range f.pairs {
		if q != nil && q.state != driver.Closed {
			pins[q.index]++ // the program's
		}
		if q != nil && q.state == driver.Ready {
			pins[q.peer.index]++
		}
	}
	for i, q := range f.pairs {
		switch free := slices.Contains(f.freePairs, uint32(i)); {
		case q == nil && i > 0 && !free, q != nil && free:
			t.Fatalf("slot %d is free: %v, and has %v", i, free, q)
		case q == nil && pins[i] > 0:
			t.Fatalf("slot %d is empty, and named %d times", i, pins[i])
		case q != nil && (q.pins != pins[i] || q.abroad != abroad[i]):
			t.Fatalf("slot %d, %v: %d pins and %d abroad, want %d and %d", i, q.state, q.pins, q.abroad, pins[i], abroad[i])
		}
	}
}

// countPins counts what a request names.
func countPins(f *Fabric, r *request, pins, abroad []int32) {
	q := f.pairs[r.pair]
	pins[r.pair]++
	switch {
	case r.to == 0:
	case q.state == driver.Ready && q.epoch == r.epoch:
		abroad[r.pair]++
	default:
		pins[r.to]++
	}
}

// countEvents counts what events name.
func countEvents(f *Fabric, pins []int32) {
	lists := append([][]event{f.events.due[f.events.next:], f.events.fresh, f.events.far}, f.events.slots[:]...)
	for _, list := range lists {
		for i := range list {
			switch list[i].kind() {
			case evArrive, evTurn, evControl, evCall:
			default:
				pins[list[i].index]++
			}
		}
	}
}

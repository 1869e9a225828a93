package soft

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// addRegion registers nothing in particular.
func addRegion(t *testing.T, table *keyTable) *region {
	t.Helper()
	r := new(region)
	ok(t, table.add(r))
	return r
}

// TestLocalKeysComeBackLate closes and registers one memory over and over, beside others that stay and leave little of
// the table vacant. Its first key must not be given again before its time.
func TestLocalKeysComeBackLate(t *testing.T) {
	table := newKeyTable(new(atomic.Uint64))
	for range 2*minResting - 1 {
		addRegion(t, table)
	}
	r := addRegion(t, table)
	stale := r.localKey
	for n := range minResting * maxGeneration {
		table.remove(r)
		if r = addRegion(t, table); r.localKey == stale {
			t.Fatalf("key %#x is back after %d registrations", stale, 1+n)
		}
	}
}

// TestKeyTableIsFull: the last index is given too, and then none. One that becomes vacant is given again, without a rest.
func TestKeyTableIsFull(t *testing.T) {
	table := newKeyTable(new(atomic.Uint64))
	var last *region
	for range maxRegions {
		last = addRegion(t, table)
	}
	if err := table.add(new(region)); !errors.Is(err, driver.ErrLimit) {
		t.Fatalf("one more than %d: %v, want %v", maxRegions, err, driver.ErrLimit)
	}
	table.remove(last)
	if r := addRegion(t, table); r.localKey%maxRegions != last.localKey%maxRegions || table.local(r.localKey) != r {
		t.Errorf("key %#x was given, %#x was vacant", r.localKey, last.localKey)
	}
}

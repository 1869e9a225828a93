package soft

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// together runs both functions for every round from 0, at the same time as nearly as two goroutines can. What a test
// builds for a round must be there before it is called.
func together(rounds int, one, other func(round int)) {
	var at [2]atomic.Int64
	meet := func(me, round int) {
		at[me].Store(int64(round))
		for looks := 1; at[1-me].Load() < int64(round); looks++ {
			if looks%1024 == 0 { // the other may need this processor
				runtime.Gosched()
			}
		}
	}
	var both sync.WaitGroup
	for me, act := range []func(int){one, other} {
		both.Go(func() {
			for round := range rounds {
				meet(me, round+1)
				act(round)
			}
		})
	}
	both.Wait()
}

// TestBreakIsNotLost: the peer breaks a life while its owner finds it connected. Whoever comes first, it ends broken.
func TestBreakIsNotLost(t *testing.T) {
	const rounds = 100_000
	ends := make([]end, rounds)
	for i := range ends {
		ends[i].phaseWord.Store(uint32(phaseConnecting))
	}
	together(rounds,
		func(i int) { ends[i].moveTo(phaseConnecting, phaseReady) },
		func(i int) { ends[i].breakTo(phaseOrphaned) })
	for i := range ends {
		if got := ends[i].phase(); got != phaseOrphaned {
			t.Fatalf("round %d: the phase is %d, want %d", i, got, phaseOrphaned)
		}
	}
}

// TestArrivalBeforeABreakCounts: a message arrives, then the life is broken, while a request that waits for the message
// is looked at. It was received.
func TestArrivalBeforeABreakCounts(t *testing.T) {
	const rounds = 20_000
	lives := make([]life, rounds)
	for i := range lives {
		lives[i].end = new(end)
	}
	for i := range lives {
		lives[i].order = make([]arrival, 1)
		lives[i].phaseWord.Store(uint32(phaseReady))
	}
	together(rounds,
		func(i int) {
			lives[i].arrive(driver.OpSend, 0, 0, 0, driver.OK)
			lives[i].breakTo(phaseOrphaned)
		},
		func(i int) {
			w := waiting{after: &lives[i], request: driver.Request{After: driver.Arrival{Count: 1}}}
			v := w.chainState()
			for v == chained {
				v = w.chainState()
			}
			if v != arrived {
				t.Errorf("round %d: the request ends as %v", i, driver.Status(v))
			}
		})
}

// TestReceivedIsExact: a message that fails takes nothing away from those before it, at whatever moment one looks.
func TestReceivedIsExact(t *testing.T) {
	var e end
	expect := func(when string, want uint64) {
		if got := e.received(); got != want {
			t.Errorf("%s: %d messages received, want %d", when, got, want)
		}
	}
	e.arrived.Store(3)
	expect("all good", 3)
	e.spoiled.Store(4)
	expect("one about to fail", 3)
	e.arrived.Store(4)
	expect("one failed", 3)
}

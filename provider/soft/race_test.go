package soft

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
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

package delivery

import (
	"context"
	"runtime"
	"time"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/internal/pause"
)

// How the cores are looked at before a delivery: until they are idle, or for as long as it seems worth.
const (
	idleLook  = 200 * time.Millisecond
	idleLimit = 5 * time.Second
	idleCores = 0.2 // that may be busy
)

// awaitIdle waits until the cores have nothing to do, and says how many had if that does not come to be.
func awaitIdle(ctx context.Context, limit time.Duration) (busy float64, err error) {
	for began := time.Now(); time.Since(began) < limit; {
		if busy, err = busyCores(ctx); err != nil || busy <= idleCores {
			return 0, err
		}
	}
	return min(busy, float64(runtime.NumCPU())), nil
}

// busyCores looks for a moment.
func busyCores(ctx context.Context) (float64, error) {
	before, err := contest.BusyTime()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := pause.For(ctx, idleLook); err != nil {
		return 0, err
	}
	after, err := contest.BusyTime()
	return (after - before).Seconds() / time.Since(began).Seconds(), err
}

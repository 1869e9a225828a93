package loop

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// What Do has accepted is run, however close behind it Close comes; and whoever hears that the loop is closed hears it when
// all of that has been run.
func TestCloseLosesNothing(t *testing.T) {
	for range 20 {
		r := newRig(t, Config{})
		check(t, r.Start())
		const callers = 4
		var accepted, ran atomic.Int64
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for {
					switch err := r.Do(func() { runtime.Gosched(); ran.Add(1) }); {
					case err == nil:
						accepted.Add(1)
					case errors.Is(err, ErrClosed):
						return
					}
				}
			})
		}
		check(t, r.Close())
		all.Wait()
		if accepted.Load() != ran.Load() {
			t.Fatalf("Do accepted %d functions, and %d were run", accepted.Load(), ran.Load())
		}
	}
}

package tsc

import (
	"runtime"
	"testing"
	"time"
)

func TestReadGoesOn(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	first := Read()
	time.Sleep(time.Millisecond)
	// The slowest counters tick every 40 ns.
	if ticks := Read() - first; ticks < 25_000 || ticks > 1<<40 {
		t.Errorf("%d ticks in a millisecond or a little more", ticks)
	}
}

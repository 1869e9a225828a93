package soft

import (
	"runtime/debug"
	"testing"
)

// A Wake that comes after everything was closed does nothing: a context may end, or a goroutine come to its call, that
// late. What it would look at lies in memory that is not there any more.
func TestLateWake(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, lanes := range []Lanes{InProcess, SharedMemory, TCP, AllLanes} {
		device, err := New(Config{Lanes: lanes})
		ok(t, err)
		queue, err := device.NewCompletionQueue(8)
		ok(t, err)
		ok(t, queue.Close())
		queue.(*CompletionQueue).Wake()
		ok(t, device.Close())
		queue.(*CompletionQueue).Wake()
	}
}

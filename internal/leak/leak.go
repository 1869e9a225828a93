// Package leak finds objects that were opened and never closed. It is for the tests of packages whose objects must be
// closed by hand: devices, domains, queue pairs.
//
// An object keeps the [Handle] that [Opened] gave it and says [Handle.Closed] when it is closed:
//
//	dev := &Device{leak: leak.Opened("verbs.Device")}
//	…
//	dev.leak.Closed()
//
// Nothing is recorded until [Enable], which package leaktest calls: a program pays one atomic load for each object.
// Once enabled, the stack of every opening is kept, and [Check] says what is still open and who opened it. All calls
// are safe for concurrent use, and opening allocates only when more objects are open than ever before.
package leak

import (
	"fmt"
	"sync/atomic"
)

var (
	enabled atomic.Bool
	process tracker
)

// Handle stands for one open object. The zero Handle stands for an object that was opened before Enable: closing it
// does nothing.
type Handle struct {
	slot       uint32 // index into the tracker's slots, plus one
	generation uint32 // the slot's generation when the object was opened
}

// Enable starts recording. It cannot be undone, so only a test binary should call it.
func Enable() { enabled.Store(true) }

// Opened records that an object was opened by the caller's caller. Kind is what Check calls it, as "verbs.Device".
func Opened(kind string) Handle {
	if !enabled.Load() {
		return Handle{}
	}
	return process.open(kind)
}

// Closed records that the object was closed. It panics if that was said before: an object is closed once.
func (h Handle) Closed() {
	if h == (Handle{}) {
		return
	}
	if kind, ok := process.close(h); !ok {
		panic(fmt.Sprintf("leak: a %s was closed twice (slot %d, generation %d)", kind, h.slot, h.generation))
	}
}

// Check returns nil if everything that was opened since Enable is closed, and else an error that names what is open,
// with the stacks that opened it.
func Check() error { return process.check() }

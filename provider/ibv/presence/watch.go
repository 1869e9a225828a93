package presence

import (
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Watch waits for one peer to be gone.
type Watch struct {
	line *line // nil if the office was closed
	peer Name
	gone func()

	calling sync.Mutex   // held while gone runs
	over    bool         // gone was called or must not be; guarded by calling
	thread  atomic.Int32 // that runs gone, or 0
}

// call calls gone, unless the watch was stopped. While it does, its goroutine has a thread for itself: that is how Stop
// knows whether it is called from gone.
func (w *Watch) call() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w.calling.Lock()
	defer w.calling.Unlock()
	if w.over {
		return
	}
	w.over = true
	w.thread.Store(int32(unix.Gettid()))
	defer w.thread.Store(0)
	w.gone()
}

// Stop ends the watch. When it returns, gone is not running and will not be called. Gone may call it too.
func (w *Watch) Stop() {
	if w.line == nil {
		return
	}
	w.line.drop(w)
	if w.thread.Load() == int32(unix.Gettid()) {
		return
	}
	w.calling.Lock()
	defer w.calling.Unlock()
	w.over = true
}

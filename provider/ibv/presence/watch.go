package presence

import (
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Word is what a watch is told about its peer.
type Word uint8

// The words. A watch hears Unknown and Here at most once each, and Gone last.
const (
	Unknown Word = iota // its office cannot be reached, so nobody can say; it is tried again
	Here                // its office knows it
	Gone
	words
)

// Watch waits for word of one peer.
type Watch struct {
	line *line // nil if the office was closed
	peer Name
	tell func(Word)

	calling sync.Mutex   // held while tell runs
	told    [words]bool  // guarded by calling
	over    bool         // nothing must be told any more; guarded by calling
	thread  atomic.Int32 // that runs tell, or 0
}

// call tells a word, unless it was told before or the watch was stopped. While it does, its goroutine has a thread for
// itself: that is how Stop knows whether it is called from tell.
func (w *Watch) call(word Word) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w.calling.Lock()
	defer w.calling.Unlock()
	if w.over || w.told[word] {
		return
	}
	w.told[word], w.over = true, word == Gone
	w.thread.Store(int32(unix.Gettid()))
	defer w.thread.Store(0)
	w.tell(word)
}

// Stop ends the watch. When it returns, tell is not running and will not be called. Tell may call it too.
func (w *Watch) Stop() {
	if w.line == nil {
		return
	}
	w.line.drop(w)
	if w.thread.Load() == int32(unix.Gettid()) {
		w.over = true // tell's caller holds calling
		return
	}
	w.calling.Lock()
	defer w.calling.Unlock()
	w.over = true
}

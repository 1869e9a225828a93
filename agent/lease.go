package agent

import (
	"sync"
	"time"

	"github.com/weft-fabric/weft/push/control"
)

// maxSessionCalls is how many calls of one push are answered at a time.
const maxSessionCalls = 16

// lease is how long a push goes on without a word of its pusher. While one of its calls is answered, somebody waits there.
type lease struct {
	lasts time.Duration

	mu    sync.Mutex
	until time.Time
	calls int
}

func newLease(lasts time.Duration) *lease { return &lease{lasts: lasts, until: time.Now().Add(lasts)} }

// enter counts a call that is answered.
func (l *lease) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == maxSessionCalls {
		return &control.Trouble{Class: control.Other, Text: "too many calls of this push at a time"}
	}
	l.calls++
	return nil
}

func (l *lease) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls--
	l.until = time.Now().Add(l.lasts)
}

// left is how much of it is left; nothing, when it has ended.
func (l *lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls > 0 {
		return l.lasts
	}
	return max(0, time.Until(l.until))
}

// pending is how many calls are being answered.
func (l *lease) pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

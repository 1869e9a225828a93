package agent

import (
	"context"
	"sync"
	"time"

	"github.com/weft-fabric/weft/push/control"
)

// board is what a pusher can read of a push.
type board struct {
	mu      sync.Mutex
	now     control.Status
	isTold  bool          // somebody has read of the failure
	changed chan struct{} // closed with the next change
}

func newBoard(blocks int) *board {
	return &board{now: control.Status{Change: 1, Phase: control.PhaseOpen, Blocks: blocks}, changed: make(chan struct{})}
}

// tell changes something that a pusher should know at once. What has failed, stays so.
func (b *board) tell(change func(*control.Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now.Phase == control.PhaseFailed {
		return
	}
	change(&b.now)
	b.now.Change++
	close(b.changed)
	b.changed = make(chan struct{})
}

// note changes something that can wait for the next look.
func (b *board) note(change func(*control.Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.now)
}

// read is how things stand.
func (b *board) read() control.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// readNext is read when something has changed since, or time is over.
func (b *board) readNext(ctx context.Context, seen uint64, wait time.Duration) control.Status {
	b.mu.Lock()
	changed, isNew := b.changed, b.now.Change != seen
	b.mu.Unlock()
	if !isNew && wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return b.read()
}

// told notes that a pusher has got what was read last.
func (b *board) told(s *control.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isTold = b.isTold || s.Error != nil
}

// isQuiet reports whether there is no failure that a pusher has not heard of.
func (b *board) isQuiet() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.isTold || b.now.Error == nil
}

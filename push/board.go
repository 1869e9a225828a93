package push

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/member"
)

// board is what was heard last of every host, and of this end of the group. Watchers write it, one for each host; the push reads it.
type board struct {
	watching sync.WaitGroup
	stopAll  context.CancelFunc
	ctx      context.Context //nolint:containedctx // of the watchers, which live as long as the board
	changed  chan struct{}   // has an element when something is new

	mu    sync.Mutex
	notes map[*host]*note
	own   map[int]*control.GroupFailed // how groups ended at this end, by epoch
}

// note is what is known of one host.
type note struct {
	status control.Status
	heard  time.Time
	start  int   // blocks that it held when the present group began
	asked  bool  // it is asked to compare what it has, and has not answered yet
	lost   error // it does not answer, or knows nothing of the push any more
	stop   context.CancelFunc
	lose   context.CancelCauseFunc // ends host.answers
}

func newBoard(ctx context.Context) *board {
	b := &board{changed: make(chan struct{}, 1), notes: make(map[*host]*note), own: make(map[int]*control.GroupFailed)}
	b.ctx, b.stopAll = context.WithCancel(context.WithoutCancel(ctx))
	return b
}

// close stops all watchers and waits for them.
func (b *board) close() {
	b.stopAll()
	b.watching.Wait()
}

// wake has whoever waits look again.
func (b *board) wake() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// set changes what is known of a host.
func (b *board) set(h *host, change func(*note)) {
	b.mu.Lock()
	if n := b.notes[h]; n != nil {
		change(n)
	}
	b.mu.Unlock()
	b.wake()
}

// of is what is known of a host.
func (b *board) of(h *host) note {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.notes[h]; n != nil {
		return *n
	}
	return note{}
}

// lostAny reports whether one of some hosts is lost that still takes part. Goroutines beside the push's own may ask.
func (b *board) lostAny(some []*host) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(some, func(h *host) bool { return h.alive() && b.notes[h] != nil && b.notes[h].lost != nil })
}

// giveUp notes that nobody should wait for a host any longer, whose agent may answer all the same.
func (b *board) giveUp(h *host, why *control.Trouble) {
	b.set(h, func(n *note) {
		n.lost = why
		n.lose(why)
	})
}

// heard takes what the member at this end tells.
func (b *board) heard(e member.Event) {
	if e.Kind == member.Failed && e.Failed != nil {
		b.mu.Lock()
		b.own[e.Epoch] = e.Failed
		b.mu.Unlock()
	}
	b.wake()
}

// failedHere is how the group of an epoch ended at this end; nil: it has not.
func (b *board) failedHere(epoch int) *control.GroupFailed {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.own[epoch]
}

// await waits until something is so. It looks whenever something is new, and now and then.
func (b *board) await(ctx context.Context, isSo func() bool) error {
	again := time.NewTicker(pollWait)
	defer again.Stop()
	for !isSo() {
		select {
		case <-b.changed:
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

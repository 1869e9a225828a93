package soft

import (
	"sync"
	"time"

	"github.com/weft-fabric/weft/clock"
)

// patience is how long the owner of a completion queue may stay away before the device's goroutine works in its place.
const patience = 200 * time.Microsecond

// neighbourly is how long what a neighbour has done may go unnoticed while the owner is away and owes requests.
const neighbourly = time.Millisecond

// nic is the device's own goroutine, for what owners leave behind. It is started when first needed. It watches the
// completion queues that owe requests, and works for those whose owner has not called for a while. What else may be
// unfinished only ends in completions, which nobody sees before the owner calls.
type nic struct {
	mu      sync.Mutex
	inbox   []*CompletionQueue // to look at, each once; not a channel, because look must not block
	stopped bool
	started bool
	call    chan struct{} // holds one: the inbox is not empty, or stopped
	ended   sync.WaitGroup

	watching []watch // the goroutine's own
}

// watch is one completion queue under observation.
type watch struct {
	queue *CompletionQueue
	turns uint64     // of the owner, when last looked at; 0: not looked at yet
	at    clock.Time // when to look again
}

// look asks for the goroutine's attention. Any goroutine may call it.
func (n *nic) look(c *CompletionQueue) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped || c.listed {
		return
	}
	c.listed = true
	n.inbox = append(n.inbox, c)
	if !n.started {
		n.started = true
		n.ended.Go(n.run)
	}
	n.signal()
}

func (n *nic) signal() {
	select {
	case n.call <- struct{}{}:
	default:
	}
}

// stop ends the goroutine; close also waits for it.
func (n *nic) stop() {
	n.mu.Lock()
	n.stopped = true
	n.signal()
	n.mu.Unlock()
}

func (n *nic) close() {
	n.stop()
	n.ended.Wait()
}

// run works until stop, which Device.Close and Device.Kill call.
func (n *nic) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n.takeInbox(clock.Real.Now()) {
		next := n.workThrough(clock.Real.Now())
		var due <-chan time.Time
		if next != clock.Never {
			timer.Reset(max(next.Sub(clock.Real.Now()), 0))
			due = timer.C
		}
		select {
		case <-n.call:
		case <-due:
		}
	}
}

// takeInbox begins to watch the queues in the inbox, and reports whether to go on.
func (n *nic) takeInbox(now clock.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.inbox {
		c.listed = false
		n.find(c).at = now
	}
	clear(n.inbox)
	n.inbox = n.inbox[:0]
	return !n.stopped
}

func (n *nic) find(c *CompletionQueue) *watch {
	for i := range n.watching {
		if n.watching[i].queue == c {
			return &n.watching[i]
		}
	}
	n.watching = append(n.watching, watch{queue: c, at: clock.Never})
	return &n.watching[len(n.watching)-1]
}

// workThrough looks at the queues that are due, and returns when the next one is.
func (n *nic) workThrough(now clock.Time) clock.Time {
	still, next := n.watching[:0], clock.Never
	for _, w := range n.watching {
		if w.at <= now && !w.work(now) {
			continue
		}
		still = append(still, w)
		next = min(next, w.at)
	}
	clear(n.watching[len(still):])
	n.watching = still
	return next
}

// work takes one turn for the queue if its owner has not called since the last look, and reports whether the queue
// still needs watching.
//
// The first look at a queue only notes how often its owner has called. Once the owner is known to be away, a bell is
// answered at once: a relay whose host does nothing pays patience for its first message, not for each.
func (w *watch) work(now clock.Time) bool {
	c := w.queue
	if !c.mu.TryLock() { // somebody is at work
		w.at = now.Add(patience)
		return true
	}
	defer c.mu.Unlock()
	if c.gone != nil {
		return false
	}
	absent := c.turns == w.turns
	if absent {
		c.turn()
		c.wakeForDone()
	}
	w.turns = c.turns
	if c.owing == 0 {
		c.watched.Store(false)
		return false
	}
	// Nothing to do before the next deadline, unless a bell rings: that leads to look. What the owner has left undone
	// it may still come back for.
	w.at = c.next
	if !absent && (c.next == soon || c.ready.summary.Load() != 0) {
		w.at = now.Add(patience)
	}
	if c.device.arena != nil { // neighbours ring, but know nobody here to call
		w.at = min(w.at, now.Add(neighbourly))
	}
	return true
}

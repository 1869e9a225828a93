package soft

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
)

// attendant is the device's goroutine for the TCP lane. It serves the sockets of completion queues whose owner is away,
// neither polling nor waiting, and listens for peers that have fallen silent. It is started with the first connection.
//
// It looks round every attendEvery. A queue whose owner has not called since the last time, and does not sleep in Wait, is
// served, and from then on whenever its sockets have something, until the owner comes back. While all owners sleep it
// does too, except to listen.
type attendant struct {
	once    sync.Once
	ended   sync.WaitGroup
	stopped atomic.Bool
	resting atomic.Bool // it sleeps until it is time to listen, unless somebody calls
	set     *poller     // of the poller's sets of absent owners; nil if it could not be made
	failed  error

	// The goroutine's own.
	device  *Device
	queues  []*attended
	listens clock.Time // when to listen next
}

// attended is a completion queue as the attendant knows it.
type attended struct {
	queue   *CompletionQueue
	turns   uint64 // of the owner, when last looked at
	absent  bool   // the owner has not called since the look before
	watched bool   // stands in the attendant's set
}

const attendEvery = 10 * time.Millisecond

// begin starts the goroutine, or has it look at a new connection.
func (a *attendant) begin(d *Device) {
	a.once.Do(func() {
		a.device = d
		if a.set, a.failed = newPoller(); a.failed == nil {
			a.ended.Go(a.run)
		} else {
			d.config.Log.Warn("nobody attends to absent owners", "device", d.config.Name, "error", a.failed)
		}
	})
	a.call()
}

// call ends a rest. Any goroutine may call it.
func (a *attendant) call() {
	if a.resting.Load() && a.resting.CompareAndSwap(true, false) {
		a.set.rouse()
	}
}

// stop ends the goroutine; close waits for it too.
func (a *attendant) stop() {
	a.stopped.Store(true)
	a.once.Do(func() {})
	if a.set != nil {
		a.set.rouse()
	}
}

func (a *attendant) close() {
	a.stop()
	a.ended.Wait()
	if a.set != nil {
		a.set.close()
	}
}

// run attends until stop, which Device.Close and Device.Kill call.
func (a *attendant) run() {
	tick := clock.Real.Now()
	for !a.stopped.Load() {
		now := clock.Real.Now()
		if now >= a.listens {
			a.device.network.parties.listen(now, a.device.config.PeerTimeout)
			a.listens = now.Add(a.device.config.PeerTimeout / 8)
		}
		if now >= tick {
			a.resting.Store(true) // before it looks: who comes back meanwhile ends the rest
			if tick = now.Add(attendEvery); a.lookRound() {
				a.resting.Store(false)
			}
		} else {
			a.serveCalling()
		}
		until := min(tick, a.listens)
		if a.resting.Load() {
			until = a.listens
			tick = soon
		}
		a.set.rest(until)
	}
}

// lookRound looks at every queue with sockets, serves those whose owner is away, and reports whether it must look again
// soon: unless all owners sleep.
func (a *attendant) lookRound() (busy bool) {
	a.refresh()
	for i := len(a.queues) - 1; i >= 0; i-- {
		q := a.queues[i]
		if !q.queue.mu.TryLock() {
			a.ownerIsThere(q)
			busy = true
			continue
		}
		busy = a.lookAt(q) || busy
		q.queue.mu.Unlock()
	}
	return busy
}

// refresh makes the list that of the device's queues with sockets.
func (a *attendant) refresh() {
	d := a.device
	d.mu.RLock()
	defer d.mu.RUnlock()
	a.queues = slices.DeleteFunc(a.queues, func(q *attended) bool {
		_, open := d.queues[q.queue]
		return !open
	})
	for c := range d.queues {
		if c.sleep.poller.Load() != nil && !slices.ContainsFunc(a.queues, func(q *attended) bool { return q.queue == c }) {
			a.queues = append(a.queues, &attended{queue: c})
		}
	}
}

// lookAt is lookRound for one queue, whose lock is held.
func (a *attendant) lookAt(q *attended) (busy bool) {
	c := q.queue
	p := c.sleep.poller.Load()
	if c.gone != nil || p.open == 0 {
		return false
	}
	p.sweep()
	asleep, still := c.sleep.armed.Load() != 0, c.turns == q.turns
	q.absent = still && !asleep
	q.turns = c.turns
	if q.absent {
		c.serve()
	}
	a.watch(q, p, q.absent)
	return !asleep || !still // who sleeps now and then would call all the time
}

// ownerIsThere leaves a queue to its owner, who has just been seen at work. An owner that polls has the lock nearly all the
// time, and if the attendant were still called, every message would wake a thread.
func (a *attendant) ownerIsThere(q *attended) {
	q.absent = false
	a.watch(q, q.queue.sleep.poller.Load(), false)
}

// watch has the attendant called, or not, when the queue's sockets have something.
func (a *attendant) watch(q *attended, p *poller, want bool) {
	if q.watched == want {
		return
	}
	op := unix.EPOLL_CTL_DEL
	if want {
		op = unix.EPOLL_CTL_ADD
	}
	slot := int32(slices.Index(a.queues, q))
	p.waking.Lock()
	defer p.waking.Unlock()
	if p.shut {
		return
	}
	if watchFD(a.set.set, op, p.set, unix.EPOLLIN, slot) == nil {
		q.watched = want
	}
}

// serveCalling serves the absent owners' queues whose sockets have something. If that was nothing after all, or the owner
// is back, the queue is not listened to before the next look round.
func (a *attendant) serveCalling() {
	for _, q := range a.queues {
		if !q.watched {
			continue
		}
		if !q.queue.mu.TryLock() {
			a.ownerIsThere(q)
			continue
		}
		if c := q.queue; c.gone == nil {
			p := c.sleep.poller.Load()
			moved := p.moved
			if c.turns == q.turns {
				c.serve()
			}
			a.watch(q, p, p.moved != moved)
		}
		q.queue.mu.Unlock()
	}
}

// serve takes turns in place of the owner, as long as there is something to do at once. The lock is held.
func (c *CompletionQueue) serve() {
	const most = 16
	for range most {
		c.turn()
		if c.next != soon && c.ready.summary.Load() == 0 {
			break
		}
	}
	c.wakeForDone()
}

// sweep closes connections whose peer has had its time to hear the last word.
func (p *poller) sweep() {
	if p.leaving == 0 {
		return
	}
	for _, w := range p.wires {
		if w != nil && w.leaving {
			w.linger()
		}
	}
}

package soft

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/yield"
)

// sleeper is how the owner of a completion queue sleeps and is woken.
//
// It raises armed, then looks for a reason to stay awake; who has a reason leaves it first, then looks at armed. One of
// the two notices, so no call is lost.
type sleeper struct {
	armed  *atomic.Uint32         // 1: the owner sleeps, or is about to. Peers of other processes see it too
	called atomic.Bool            // Wake was called and no Wait has ended since
	signal chan struct{}          // holds one
	timer  *time.Timer            // the owner's, reused; nil until first needed
	poller atomic.Pointer[poller] // where the owner sleeps instead; nil: the queue has no descriptors to watch
	rests  uint64                 // times that the owner has slept; tests tell by it who spins
	nap    time.Duration          // how long it slept, on average of the last times; the owner's
}

// brief reports whether what the owner waits for mostly comes soon after it has fallen asleep. Then it pays to look a little
// longer; otherwise that is lost, on slow links at every packet.
func (s *sleeper) brief() bool { return s.nap < 10*awakening }

// slept takes in one sleep. However long it was, it counts as one that was not brief.
func (s *sleeper) slept(d time.Duration) { s.nap += (min(d, 20*awakening) - s.nap) / 8 }

// rouse wakes the sleeper, if it sleeps.
func (s *sleeper) rouse() {
	if s.armed.Load() != 0 && s.armed.CompareAndSwap(1, 0) {
		select {
		case s.signal <- struct{}{}:
		default:
		}
		if p := s.poller.Load(); p != nil {
			p.rouse()
		}
	}
}

// wake ends the Wait under way, or the next one.
func (s *sleeper) wake() {
	s.called.Store(true)
	s.rouse()
}

// rest sleeps until it is roused or until has come. The caller has armed.
func (s *sleeper) rest(until clock.Time) {
	s.rests++
	if until == clock.Never {
		<-s.signal
		return
	}
	left := until.Sub(clock.Real.Now())
	if s.timer == nil {
		s.timer = time.NewTimer(left)
	} else {
		s.timer.Reset(left)
	}
	select {
	case <-s.signal:
	case <-s.timer.C:
	}
	s.timer.Stop()
}

// rouse gets somebody to look at the queue after a bell was rung: the owner if it sleeps, or else the device's goroutine
// if there is work left that the owner may never come back for.
func (c *CompletionQueue) rouse() {
	if c.sleep.armed.Load() != 0 {
		c.sleep.rouse()
	} else if c.watched.Load() {
		c.device.nic.look(c)
	}
}

// Wake ends a Wait that is under way, or the next one. It may come late, when the queue is closed and the words that it would
// look at are not mapped any more.
func (c *CompletionQueue) Wake() {
	c.mu.Lock()
	if c.gone == nil || !errors.Is(c.gone, errQueueClosed) {
		c.sleep.wake()
	}
	c.mu.Unlock()
}

// WaitShared is Wait without the lock of those who share the queue: what it touches is guarded by the queue's own, or is
// the waiter's alone.
func (c *CompletionQueue) WaitShared(lock sync.Locker, until clock.Time, spin time.Duration) error {
	lock.Unlock()
	defer lock.Lock()
	return c.Wait(until, spin)
}

// Wait returns when a completion may be there, when until has come, or when Wake was called since the last Wait. It
// does the NIC's work meanwhile.
func (c *CompletionQueue) Wait(until clock.Time, spin time.Duration) error {
	began, offered := clock.Real.Now(), false
	spinUntil := began.Add(spin)
	for {
		next, found, sockets, err := c.attend()
		if found || err != nil {
			return err
		}
		now := clock.Real.Now()
		if sockets == lively && c.sleep.brief() {
			spinUntil = max(spinUntil, now.Add(awakening))
		}
		switch {
		case c.sleep.called.Swap(false), now >= until:
			c.waited()
			return nil
		case next == soon:
			runtime.Gosched()
		case now < spinUntil && sockets != none:
			runtime.Gosched() // a turn is the only way to look at a socket
			if now.Sub(began) > courtesy {
				yield.Core()
			}
		case now < spinUntil:
			c.spin(min(next, until, spinUntil))
		case !offered && sockets != none && c.sleep.brief():
			offered = true
			yield.Core() // and look once more: sleeping and waking costs ten times as much
		default:
			c.doze(min(next, until))
		}
	}
}

// awakening is about how long it takes to fall asleep and be woken. Who has just sent or received something looks at its
// sockets so long before it sleeps, whatever it was told: an answer is often on its way, and Go's own netpoller does so too.
const awakening = 10 * time.Microsecond

// courtesy is how long a spinner keeps its core for itself: longer than an answer takes from a peer that has one too.
const courtesy = 20 * time.Microsecond

// traffic is what goes on at the sockets of a completion queue.
type traffic uint8

const (
	none   traffic = iota // there are no sockets
	quiet                 // nothing since the owner last looked
	lively                // something
)

// attend takes a turn, and says when the next one is due, whether there are completions to poll, and what goes on at the
// sockets.
func (c *CompletionQueue) attend() (next clock.Time, found bool, sockets traffic, err error) {
	if err := c.enter(); err != nil {
		return 0, false, none, err
	}
	if c.looked != c.turns-1 { // else Poll has just looked, and who sleeps looks once more
		c.look()
	}
	c.work()
	next, found = c.next, c.done.count() > 0
	if c.known = next; found {
		c.known = soon // it does not wait
	}
	if p := c.sleep.poller.Load(); p != nil {
		sockets = p.awake()
	}
	c.exit()
	return next, found, sockets, nil
}

// waited is the end of a wait that has found nothing.
func (c *CompletionQueue) waited() {
	c.mu.Lock()
	c.known = soon
	c.mu.Unlock()
}

// wakeForDone tells the owner about completions that the device's goroutine has found for it, or that there is something
// to do earlier than it knows. The owner may spin or sleep in Wait, with its last look at them behind it.
func (c *CompletionQueue) wakeForDone() {
	if c.done.count() > 0 || c.next < c.known {
		c.known = c.next
		c.sleep.wake()
	}
}

// called reports whether there is a reason to look at the queue.
func (c *CompletionQueue) called() bool { return c.ready.summary.Load() != 0 || c.sleep.called.Load() }

// looks is how often spin looks between two looks at the clock, yields how many looks at the clock there are between
// two offers of the processor to other goroutines.
const (
	looks  = 32
	yields = 16
)

// spin watches for a call until the given moment. It offers its core like one who looks at sockets: an answer through shared
// memory comes within two microseconds, and an offer that early made it four.
func (c *CompletionQueue) spin(until clock.Time) {
	began := clock.Real.Now()
	for round, now := 1, began; now < until; round, now = round+1, clock.Real.Now() {
		for range looks {
			if c.called() {
				return
			}
		}
		if round%yields == 0 {
			runtime.Gosched()
			if now.Sub(began) > courtesy {
				yield.Core()
			}
		}
	}
}

// doze sleeps until a call or the given moment.
func (c *CompletionQueue) doze(until clock.Time) {
	p := c.sleep.poller.Load() // before armed: who rouses then sees it too
	c.bePatient(p)
	c.sleep.armed.Store(1)
	if c.called() {
	} else if p != nil {
		c.sleep.rests++
		began := clock.Real.Now()
		p.rest(until)
		c.sleep.slept(clock.Real.Now().Sub(began))
		c.device.network.attend.call()
	} else {
		c.sleep.rest(until)
	}
	c.sleep.armed.Store(0)
}

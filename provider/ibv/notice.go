package ibv

import (
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/ibv/presence"
)

// This file is how other goroutines tell a completion queue's owner something, and how the owner finds what is late.

// notice is something that happened elsewhere.
type notice struct {
	kind   noticeKind
	number uint32     // pairFailed: of the queue pair
	pair   *queuePair // the others
	name   uint64     // of the pair's incarnation
	err    error      // connected
	word   presence.Word
}

type noticeKind uint8

const (
	deviceLost noticeKind = iota
	pairFailed            // the device says so
	connected             // or not: err
	peerWord              // from its office
)

// tell hands a notice to the owner and wakes it. Any goroutine may call it.
func (c *completionQueue) tell(n notice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notices = append(c.notices, n)
	c.hasNotices.Store(true)
	c.ring()
}

// ring makes the bell ring, unless the queue is closed: the bell's number may be another file's then. The caller holds mu.
func (c *completionQueue) ring() {
	if !c.isClosed {
		ringBell(c.bell)
	}
}

// heed acts on the notices. What the device has reported by now comes first: a notice may say that no more will come.
func (c *completionQueue) heed() {
	c.mu.Lock()
	list := c.notices
	c.notices = nil
	c.hasNotices.Store(false)
	c.mu.Unlock()
	if !c.lost {
		c.gather()
	}
	for _, n := range list {
		c.act(n)
	}
}

func (c *completionQueue) act(n notice) {
	switch n.kind {
	case deviceLost:
		c.lost = true
		c.eachPair((*queuePair).lose)
	case pairFailed:
		c.eachPair(func(q *queuePair) {
			if q.native.Number == n.number {
				q.State() // asks the device: the number may be another's by now
			}
		})
	case connected:
		if n.pair.name == n.name {
			n.pair.finishConnect(n.err)
		}
	case peerWord:
		if n.pair.name == n.name {
			n.pair.hear(n.word)
		}
	}
}

func (c *completionQueue) eachPair(f func(*queuePair)) {
	for i := range c.pairs.list {
		if q := c.pairs.list[i].member; q != nil {
			f(q)
		}
	}
}

// lookEvery is how often the owner looks for what is late, as long as something could be.
const lookEvery = 10 * time.Millisecond

// lookNowAndThen is called with every poll. Reading the clock costs as much as polling, so it does not do that each time.
func (c *completionQueue) lookNowAndThen() {
	const often = 64
	if c.polls++; c.polls%often == 0 {
		c.lookIfDue(clock.Real.Now())
	}
}

func (c *completionQueue) lookIfDue(now clock.Time) {
	if !c.watchful || now < c.nextLook {
		return
	}
	c.nextLook = now.Add(lookEvery)
	if !c.lost {
		c.gather() // what has ended is not late, however long this process stood still
	}
	c.watchful = false
	c.eachPair(func(q *queuePair) {
		if q.look(now) {
			c.watchful = true
		}
	})
}

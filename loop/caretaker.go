package loop

import (
	"context"
	"time"
)

// caretaker runs a shared loop while nobody waits: peers want their answers, and timers come. It must not cost those who
// wait now and then, one request after the other, a single awakening: so nobody calls it when a wait ends, and it looks
// round every caretakerTick whether somebody has driven since. Only if one goroutine drives for longer than that does it
// rest until it is called.
type caretaker struct {
	event  Event // never set; that of its own stints as a driver
	parked bool  // it rests until it is called; guarded by Shared.mu
	calls  chan struct{}
}

// caretakerTick is how long a loop may be left alone, at least; at most it is twice that.
const caretakerTick = time.Millisecond

func (c *caretaker) init() { c.calls = make(chan struct{}, 1) }

// rouse ends its rest. The lock is held.
func (c *caretaker) rouse() {
	c.parked = false
	select {
	case c.calls <- struct{}{}:
	default:
	}
}

// runCaretaker is the goroutine made by NewShared. Close, or the loop's failure, ends it.
func (s *Shared) runCaretaker() {
	timer := time.NewTimer(caretakerTick)
	defer timer.Stop()
	due := timer.C
	for seen, goOn := uint64(0), true; goOn; {
		select {
		case <-due:
		case <-s.caretaker.calls:
		}
		var parked bool
		if seen, parked, goOn = s.lookRound(seen); parked {
			due = nil
			continue
		}
		timer.Reset(caretakerTick)
		due = timer.C
	}
}

// lookRound drives if nobody has since stints was seen. It reports how many there are now, and whether the caretaker rests
// until it is called, and goes on at all.
func (s *Shared) lookRound(seen uint64) (stints uint64, parked, goOn bool) {
	s.mu.Lock()
	own := &s.caretaker.event
	defer func() { s.retire(own) }()
	switch {
	case s.counts.stints != seen:
	case s.driver != nil:
		s.caretaker.parked = true
	default:
		s.counts.own++
		_ = s.drive(context.Background(), own) // what it fails with is kept
	}
	return s.counts.stints, s.caretaker.parked, !s.isOver()
}

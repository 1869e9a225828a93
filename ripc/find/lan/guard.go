package lan

import (
	"errors"
	"fmt"
	"time"
)

// maxSenders is how many senders a guard remembers at a time.
const maxSenders = 1 << 14

var (
	errTime     = errors.New("sent too long ago or in the future: do the hosts' clocks agree?")
	errRepeated = errors.New("heard before")
	errSenders  = fmt.Errorf("more than %d senders", maxSenders)
)

// guard lets every packet pass once. It remembers each sender for as long as the sender's packets would be taken by their time.
type guard struct {
	window  time.Duration
	senders map[[16]byte]*track
	swept   int64 // when old senders were last forgotten
}

// track is what passed of one sender: the highest number, and which of the 64 up to it (as RFC 4303, section 3.4.3, has it).
type track struct {
	highest uint64
	passed  uint64 // bit i: highest - i has passed
	last    int64  // when one passed, by the wall clock
}

func newGuard(window time.Duration) *guard {
	return &guard{window: window, senders: map[[16]byte]*track{}}
}

// pass says why a packet must not be taken, by this host's wall clock.
func (g *guard) pass(p *packet, wall int64) error {
	if age := wall - p.sent; age > int64(g.window) || age < -int64(g.window) {
		return errTime
	}
	t := g.senders[p.sender]
	if t == nil {
		if t = g.add(p.sender, wall); t == nil {
			return errSenders
		}
	}
	t.last = wall
	return t.pass(p.number)
}

func (t *track) pass(number uint64) error {
	if number > t.highest {
		t.passed = t.passed<<min(number-t.highest, 64) | 1
		t.highest = number
		return nil
	}
	bit := uint64(1) << min(t.highest-number, 64)
	if bit == 0 || t.passed&bit != 0 {
		return errRepeated
	}
	t.passed |= bit
	return nil
}

// add begins to remember a sender, if there is room. Those whose packets would all be too old are forgotten, now and then.
func (g *guard) add(sender [16]byte, wall int64) *track {
	if len(g.senders) >= maxSenders/2 && wall-g.swept > int64(g.window)/8 {
		g.swept = wall
		for s, t := range g.senders {
			if wall-t.last > 2*int64(g.window) {
				delete(g.senders, s)
			}
		}
	}
	if len(g.senders) >= maxSenders {
		return nil
	}
	t := &track{}
	g.senders[sender] = t
	return t
}

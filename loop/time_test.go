package loop

import (
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

// However long a turn takes, its time is one; and a turn in which nobody asks does not read the clock.
func TestNowIsTheTimeOfTheTurn(t *testing.T) {
	r := newRig(t, Config{})
	ticking := &tick{}
	r.clock = ticking
	var seen []clock.Time
	m := &recorder{}
	m.then = func() { seen = append(seen, r.Now(), r.Now()) }
	port, err := r.Add(m)
	check(t, err)
	for range 2 {
		r.complete(t, port.Tag(1))
		check(t, turnOnce(r))
	}
	if seen[0] != seen[1] || seen[2] != seen[3] || seen[0] == seen[2] {
		t.Errorf("two turns said %v", seen)
	}
	m.then = nil
	before := ticking.now
	r.complete(t, port.Tag(1))
	check(t, turnOnce(r))
	check(t, turnOnce(r))
	if ticking.now != before {
		t.Errorf("the clock was read %d times, and nobody had asked", ticking.now-before)
	}
}

// tick is a clock that moves when it is read.
type tick struct{ now clock.Time }

func (k *tick) Now() clock.Time {
	k.now++
	return k.now
}

func turnOnce(r *rig) error {
	_, err := r.Turn()
	return err
}

// A loop that is never idle, and in which nobody asks for the time, still finds its timers: those for at once in the next turn,
// others within lookEvery.
func TestTimersOfABusyLoop(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		turns int
	}{{0, 1}, {-time.Second, 1}, {1, lookEvery}} {
		r := newRig(t, Config{})
		r.clock, r.isVirtual = &tick{}, false
		fired := false
		m := &recorder{}
		port, err := r.Add(m)
		check(t, err)
		m.then = func() {
			if fired = fired || m.seen[len(m.seen)-1].Op == verbs.OpTimer; !fired {
				r.complete(t, port.Tag(1))
			}
		}
		r.complete(t, port.Tag(1))
		check(t, turnOnce(r))
		port.After(c.after, 2)
		turns := 0
		for ; !fired && turns < 100; turns++ {
			check(t, turnOnce(r))
		}
		if turns > c.turns {
			t.Errorf("a timer for %v came after %d turns, want %d at most", c.after, turns, c.turns)
		}
		check(t, turnOnce(r)) // the rest
	}
}

// On a clock that moves, a timer for at once comes in the next turn, not in that in which it is set.
func TestNoTimerInItsOwnTurn(t *testing.T) {
	r := newRig(t, Config{})
	r.clock, r.isVirtual = &tick{}, false
	m := &recorder{}
	port, err := r.Add(m)
	check(t, err)
	check(t, r.Do(func() { port.After(0, 1) }))
	for want := range 2 {
		check(t, turnOnce(r))
		if len(m.seen) != want {
			t.Errorf("%d timers after %d turns", len(m.seen), want+1)
		}
	}
}

// What a Step stages goes to the NIC before the loop looks for timers and scans; what those stage, in the same turn too.
func TestTheNICComesFirst(t *testing.T) {
	r := newRig(t, Config{})
	var order []string
	r.fake.device.pair.log = &order
	pair, err := r.domain.NewQueuePair(verbs.QueueConfig{Completions: r.queue, SendDepth: 1, MaxSpans: 1})
	check(t, err)
	defer func() { check(t, pair.Close()) }()
	m := &recorder{}
	m.then = func() {
		order = append(order, m.seen[len(m.seen)-1].Op.String())
		check(t, pair.Receive(0, verbs.Span{}))
	}
	port, err := r.Add(m)
	check(t, err)
	port.After(0, 1)
	r.complete(t, port.Tag(2))
	check(t, turnOnce(r))
	if got := strings.Join(order, " "); got != "MemoryAccess posted Timer posted" {
		t.Errorf("the turn went: %s", got)
	}
}

// fakePair takes receives, and notes it.
type fakePair struct {
	driver.QueuePair
	log *[]string
}

func (p *fakePair) Number() uint32 { return 1 }
func (p *fakePair) Close() error   { return nil }
func (p *fakePair) PostReceive(list []driver.Receive) (int, error) {
	*p.log = append(*p.log, "posted")
	return len(list), nil
}

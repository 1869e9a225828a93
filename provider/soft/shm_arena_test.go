package soft

import (
	"errors"
	"runtime"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// used returns how much of the arena was ever given out.
func (a *arena) used() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.next
}

// Blocks are powers of two, lie at multiples of their size, are zero, and come back.
func TestArenaBlocks(t *testing.T) {
	a, err := newArena()
	ok(t, err)
	defer a.close(false)
	for _, size := range []uint64{1, 64, 65, 100, 4096, 5000, 1 << 20} {
		r, err := a.take(size)
		ok(t, err)
		if class := uint64(1) << sizeBits(size); uint64(r)%class != 0 || class < size || class >= 2*size && class > 64 || r == 0 {
			t.Errorf("%d bytes lie at %#x", size, r)
		}
		a.bytes[r] = 1
		a.give(r, size)
		used := a.used()
		again, err := a.take(size)
		ok(t, err)
		if again != r || a.used() != used || a.bytes[r] != 0 {
			t.Errorf("%d bytes were at %#x and are now at %#x, beginning with %d", size, r, again, a.bytes[again])
		}
	}
}

// A full arena is an answer, at every call that needs some.
func TestArenaIsFull(t *testing.T) {
	h := newHostWith(t, Config{Lanes: SharedMemory})
	a := h.device.arena
	q := h.pair()
	if _, err := a.take(1<<maxBlockBits + 1); !errors.Is(err, driver.ErrLimit) {
		t.Errorf("a block that is too large: %v", err)
	}
	for bits := maxBlockBits; bits >= blockBits; bits-- {
		for {
			if _, err := a.take(1 << bits); err != nil {
				break
			}
		}
	}
	fails := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, driver.ErrLimit) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := h.device.NewCompletionQueue(1)
	fails("completion queue", err)
	_, err = h.domain.Alloc(4096, 0)
	fails("memory", err)
	_, err = h.domain.NewQueuePair(driver.QueueConfig{Completions: h.cq, SendDepth: 1, ReceiveDepth: 1, MaxSpans: 1})
	fails("queue pair", err)
	_, err = h.domain.NewSharedReceives(driver.SharedConfig{Completions: h.cq, Depth: 1, MaxSpans: 1})
	fails("shared receives", err)
	_, err = q.PostReceive(make([]driver.Receive, 1))
	fails("receive", err)
	ok(t, q.Reset(1))
	h.expect(1, driver.OpReset, driver.Flushed)
}

// Words are used again when both sides have let go of them: the arena does not grow with what comes and goes.
func TestArenaDoesNotGrow(t *testing.T) {
	l := newNeighbours(t)
	both := func() uint64 { return l.a.device.arena.used() + l.b.device.arena.used() }
	for name, round := range map[string]func(){
		"reset": func() { reconnect(l) },
		"new": func() {
			a, b := l.a.pair(), l.b.pair()
			join(l.a, a, l.b, b)
			ok(t, a.Close())
			ok(t, b.Close())
			l.a.shut, l.b.shut = l.a.shut[:len(l.a.shut)-1], l.b.shut[:len(l.b.shut)-1]
		},
		"unconnected": func() {
			q := l.a.pair()
			receive(t, q, driver.Receive{})
			ok(t, q.Close())
			l.a.shut = l.a.shut[:len(l.a.shut)-1]
		},
		"shared": func() {
			s, err := l.b.domain.NewSharedReceives(driver.SharedConfig{Completions: l.b.cq, Depth: 64, MaxSpans: 4})
			ok(t, err)
			a, b := l.a.pair(), l.b.pair(func(c *driver.QueueConfig) { c.Shared = s })
			join(l.a, a, l.b, b)
			ok(t, b.Close())
			ok(t, s.Close())
			ok(t, a.Close())
			l.a.shut, l.b.shut = l.a.shut[:len(l.a.shut)-1], l.b.shut[:len(l.b.shut)-1]
		},
		"memory": func() {
			m, err := l.a.domain.Alloc(4096, 0)
			ok(t, err)
			ok(t, m.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			const warm, rounds, most = 200, 2000, 256 << 10 // what was let go of lately is not known to be yet
			for range warm {
				round()
			}
			before := both()
			for i := range rounds {
				if round(); i%100 == 0 {
					runtime.GC() // lives that peers in this process may look at are the collector's
				}
			}
			if grown := both() - before; grown > most {
				t.Errorf("%d rounds take %d bytes more", rounds, grown)
			}
		})
	}
}

// Words are used again, and the numbers at their gates are not: who waits for a visitor of an old life, and looks late, does
// not take a visitor of a new one for him.
func TestGateNumbersAreNotUsedAgain(t *testing.T) {
	l := newNeighbours(t)
	places, marks := make(map[ref]bool), make(map[uint64]bool)
	for range 100 {
		end := l.qb.life.Load()
		places[end.endRef] = true
		for range 3 {
			l.works()
			mark := end.gate.look()
			if marks[mark] {
				t.Fatalf("the mark %#x was there before", mark)
			}
			marks[mark] = true
		}
		reconnect(l)
	}
	if len(places) > 50 {
		t.Errorf("100 lives had %d places", len(places))
	}
}

package leak

import (
	"runtime"
	"sync"
)

// maxDepth bounds the frames kept of a stack. The opening call is among the innermost ones.
const maxDepth = 24

// skipFrames leaves runtime.Callers, tracker.open and Opened out of a stack.
const skipFrames = 3

// tracker remembers open objects. The zero tracker is empty.
type tracker struct {
	mu    sync.Mutex
	slots []slot
	free  []uint32 // indices of slots that are not open
}

// slot is one object that is open, or the place of one that was.
type slot struct {
	origin
	open       bool
	generation uint32 // grows with each opening, so that a stale handle is noticed
}

// origin is what an object is and who opened it. Objects of equal origin are reported together.
type origin struct {
	kind  string
	stack [maxDepth]uintptr // program counters, innermost first; zero behind the last
}

func (t *tracker) open(kind string) Handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.take()
	s := &t.slots[i]
	s.open = true
	s.generation++
	s.origin = origin{kind: kind}
	runtime.Callers(skipFrames, s.stack[:])
	return Handle{slot: i + 1, generation: s.generation}
}

// take returns the index of a slot that is not open. There are as many slots as were ever open at once.
func (t *tracker) take() uint32 {
	if last := len(t.free) - 1; last >= 0 {
		i := t.free[last]
		t.free = t.free[:last]
		return i
	}
	t.slots = append(t.slots, slot{})
	return uint32(len(t.slots) - 1)
}

// close frees the handle's slot. It reports the slot's kind, and false if the handle's object was closed before.
func (t *tracker) close(h Handle) (kind string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.slots[h.slot-1]
	if !s.open || s.generation != h.generation {
		return s.kind, false
	}
	s.open = false
	t.free = append(t.free, h.slot-1)
	return s.kind, true
}

package soft

import (
	"runtime"
	"time"

	"github.com/weft-fabric/weft/clock"
)

// standstill is how long a peer of another process may stand still inside a gate that the owner waits for. It leaves
// within a quantum if it runs at all, so it is stopped, or starved of processors.
const standstill = 100 * time.Millisecond

// left reports whether who was seen inside the gate has left. One of another process that stands still for too long is
// put out.
func (l *life) left(seen uint64) bool {
	if l.gate.passed(seen) {
		return true
	}
	t := l.tie.Load()
	return t != nil && t.putOut(seen)
}

// awaitLeft waits until everybody who is inside now has left.
func (l *life) awaitLeft() { visitor{l, l.gate.look()}.awaitLeft() }

// putOut evicts whoever was seen inside, if he has been standing there for too long, and reports whether he can do no
// more harm.
func (t *tie) putOut(seen uint64) bool {
	t.standing.Lock()
	defer t.standing.Unlock()
	now := clock.Real.Now()
	if t.seen != seen {
		t.seen, t.since = seen, now
		return false
	}
	return now >= t.since.Add(standstill) && t.evict(seen)
}

// evict swaps the slot, so that leaving fails, and moves the pages that the slot names to where only the others find
// them. What the evicted one still writes goes to pages that are nobody's. Memory that is closed, or is being closed,
// need not be saved; memory that cannot be moved keeps everybody waiting until the writer leaves or dies.
func (t *tie) evict(seen uint64) bool {
	l := t.mine
	if m := l.memoryOf(l.gate.mark); m != nil && !m.canMove() {
		return false
	}
	if !l.gate.slot.CompareAndSwap(seen, evicted) {
		return true
	}
	named := l.gate.mark
	l.expel()
	if m := l.memoryOf(named); m != nil {
		m.move(named)
	}
	return true
}

// expel ends the connection of a peer that was evicted.
func (l *life) expel() {
	if l.pool.shared {
		l.pool.renew()
	}
	if l.breakTo(phaseFailed) {
		l.announceChained()
	}
	l.bell.ring()
}

// memoryOf returns the live memory that a stretch lies in, or nil.
func (l *life) memoryOf(s stretch) *Memory {
	if s.length == 0 {
		return nil
	}
	r := l.domain.keys.local(s.key)
	if r == nil || !r.isAlive() || s.offset > uint64(len(r.bytes)) || s.length > uint64(len(r.bytes))-s.offset {
		return nil
	}
	return r.memory
}

// canMove reports whether the memory's pages can be replaced while it is used.
func (m *Memory) canMove() bool {
	b := m.backing
	if b == nil || !b.owned || !canFreeze() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.extents) < maxExtents/2
}

// move replaces the pages of a stretch. No neighbour is inside meanwhile: who comes waits, and then finds that what it has
// mapped is stale.
func (m *Memory) move(s stretch) {
	r := m.region
	if !r.beginMoving() {
		return
	}
	stretches := append(m.clearOut(), s)
	m.backing.mu.Lock()
	for _, s := range stretches {
		if err := m.backing.replace(r.bytes, s); err != nil {
			m.domain.device.config.Log.Error("pages could not be moved away from a peer that stands still", "error", err)
		}
	}
	m.backing.mu.Unlock()
	r.endMoving()
}

// clearOut waits until no neighbour is inside the memory any more. Those who stand still are evicted too; it returns what
// they named.
func (m *Memory) clearOut() (named []stretch) {
	deadline := clock.Real.Now().Add(standstill)
	for _, v := range m.domain.visitors() {
		l := v.life
		if l.tie.Load() == nil {
			continue
		}
		for !v.gone() && l.gate.mark.key == m.region.localKey {
			if clock.Real.Now() >= deadline && l.gate.slot.CompareAndSwap(v.seen, evicted) {
				named = append(named, l.gate.mark)
				l.expel()
			}
			runtime.Gosched()
		}
	}
	return named
}

// beginMoving keeps neighbours out, unless the region is dead.
func (r *region) beginMoving() bool {
	for {
		seen := r.word.Load()
		if seen&alive == 0 {
			return false
		}
		if r.word.CompareAndSwap(seen, seen|moving) {
			return true
		}
	}
}

// endMoving lets them in again, with another generation: what they have mapped is stale.
func (r *region) endMoving() {
	for {
		seen := r.word.Load()
		next := seen&^(moving|generationMask) | (seen+1<<generationBits)&generationMask
		if r.word.CompareAndSwap(seen, next) {
			return
		}
	}
}
